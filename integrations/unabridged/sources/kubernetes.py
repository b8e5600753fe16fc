"""Kubernetes through its official client: one list in chunks of one state. Install `unabridged[kubernetes]`.

The client has no pager: with a limit its list functions return one chunk. Here the chunks are walked and judged by
the shipped profile `kubernetes_list`.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from unabridged.contract import InvalidInput, ReadResult
from unabridged.contract.errors import MissingExtra, value_free
from unabridged.profiles import load_profile
from unabridged.reading import Budget, Clock, Fault, Query, Request, Response

from .walking import refused, walked

if importlib.util.find_spec("kubernetes") is None:
    raise MissingExtra(extra="kubernetes", module="kubernetes")

from kubernetes.client.exceptions import ApiException, OpenApiException
from urllib3 import exceptions

__all__ = ["read_kubernetes"]

_LIMIT: Final = 500
_OURS: Final = ("limit", "_continue", "watch", "async_req", "_preload_content", "_return_http_data_only")


@value_free
def read_kubernetes(
    function: Callable[..., Any],
    *arguments: Any,
    resource: str | Query,
    options: Mapping[str, Any] | None = None,
    budget: Budget | None = None,
    clock: Clock | None = None,
) -> ReadResult:
    """Reads all chunks of one list, which are one state of the cluster.

    A chunk may be empty before the end. A token that has died (410) is `CONTINUATION_EXPIRED`: the token inside that
    error would go on in another state, and is not followed. A caller without the right to list is refused the whole
    list (`VISIBILITY_RESTRICTED`), so a complete read hides no record of its kind and scope. The result records itself
    in the session in scope.

    Args:
        function: a list function of the official client, such as `CoreV1Api().list_namespaced_pod`.
        arguments: its arguments, such as the namespace.
        resource: the name of what is read, or a `Query`: its filters are the scope that `arguments` and `options`
            stand for, its page size is the limit of a chunk (500 when not given).
        options: further keywords of the function, such as `label_selector`. A `resource_version` of "0" may bring an
            old state.
        budget: what may be spent; `Budget()` when not given.
        clock: the machine's clock when not given.

    Raises:
        InvalidInput: an argument breaks a rule. The error holds no value.
    """
    if not callable(function) or not _name_of(function).startswith("list_"):
        raise InvalidInput(field="function", rule="must be a list function of the client")
    given = dict(options or {})
    if any(name in given for name in _OURS):
        raise InvalidInput(field="options", rule=f"must hold none of {', '.join(_OURS)}")
    query = Query.of(resource)
    if any(value is None for value in query.filters.values()):
        raise InvalidInput(field="resource", rule="must have no filter that is null: no selector asks for that")
    if query.page_size is None:
        query = replace(query, page_size=_LIMIT)
    transport = _Cluster(function, arguments, given)
    return walked(load_profile("kubernetes_list"), query, transport=transport, budget=budget, clock=clock)


def _name_of(function: Any) -> str:
    """Returns the name of a function, also of one whose arguments were given before."""
    while isinstance(function, partial):
        function = function.func
    return str(getattr(function, "__name__", ""))


@dataclass(frozen=True)
class _Cluster:
    """Answers the reader's requests with one call of the list function each."""

    function: Callable[..., Any] = field(repr=False)
    arguments: tuple[Any, ...] = field(repr=False)
    options: Mapping[str, Any] = field(repr=False)

    def send(self, request: Request, *, timeout_s: float | None) -> Response | Fault:
        """Asks for one chunk, and returns it as it came over the wire."""
        asked = dict(request.query)
        chunk = {"limit": int(asked["limit"])}
        token = {"_continue": asked["continue"]} if "continue" in asked else {}
        ends_ours = timeout_s is not None and "_request_timeout" not in self.options
        timeout = {"_request_timeout": timeout_s} if ends_ours else {}
        try:
            answer = self.function(*self.arguments, **chunk, **token, **timeout, **self.options, _preload_content=False)
            return _response(answer)
        except ApiException as error:
            return _refusal(error)
        except (exceptions.TimeoutError, exceptions.MaxRetryError) as error:
            if not _is_timeout(error):
                return Fault("disconnect")
            return Fault("deadline" if ends_ours else "timeout")
        except exceptions.HTTPError:
            return Fault("disconnect")
        except (TypeError, ValueError, OpenApiException):  # the client's own words for arguments that it does not take
            pass
        raise InvalidInput(field="options", rule="must be what the list function takes")


def _response(answer: Any) -> Response:
    data = getattr(answer, "data", None)
    body = data if isinstance(data, bytes) else answer.read()
    return Response(answer.status, headers=_headers(answer.headers), body=body)


def _refusal(error: ApiException) -> Response | Fault:
    if not error.status:  # no answer at all
        return Fault("disconnect")
    answer = refused(error.status)
    return replace(answer, headers=_headers(error.headers))


def _headers(found: Any) -> tuple[tuple[str, str], ...]:
    """Returns what matters of the header; the length was of the coded body, and is checked by the client."""
    pairs = found.items() if found is not None else ()
    return tuple((str(k), str(v)) for k, v in pairs if str(k).lower() == "retry-after")


def _is_timeout(error: Exception) -> bool:
    reason = getattr(error, "reason", None) or error
    return isinstance(reason, exceptions.TimeoutError) and not isinstance(reason, exceptions.NewConnectionError)
