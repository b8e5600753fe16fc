"""One call to AWS: the page that came, or what went wrong, without a word that the service wrote."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import jmespath
from botocore import exceptions as boto
from botocore.parsers import ResponseParserError

from unabridged.contract import InvalidInput
from unabridged.reading import Fault, Request, Response
from unabridged.sources.walking import cursor_of, page, plain, refused, size_of

from .paging import AwsWalk, parameters_of

_FAILED: Final = re.compile(r"(unprocessed|unsuccessful|failed|failures?|errors?)[A-Za-z]*\Z", re.IGNORECASE)
"""Members beside the results that list what was not done."""
_LEFT_OUT: Final = re.compile(
    r"(missing|skipped|invalid)[A-Za-z]*|[A-Za-z]*(notfound|errors|errordetails|failures)|notfound[A-Za-z]*",
    re.IGNORECASE,
)
"""Lists beside the results of what was asked for and did not come."""
_SLOW: Final = frozenset(
    {
        "Throttling", "ThrottlingException", "ThrottledException", "RequestThrottled", "RequestThrottledException",
        "TooManyRequestsException", "ProvisionedThroughputExceededException", "TransactionInProgressException",
        "RequestLimitExceeded", "BandwidthLimitExceeded", "LimitExceededException", "SlowDown",
        "PriorRequestNotComplete", "EC2ThrottledException",
    }
)  # fmt: skip
_CLOSED: Final = frozenset(
    {
        "AccessDenied", "AccessDeniedException", "AuthFailure", "UnauthorizedOperation", "UnauthorizedException",
        "NotAuthorized", "AuthorizationError", "AllAccessDisabled", "InvalidAccessKeyId", "InvalidClientTokenId",
        "UnrecognizedClientException", "MissingAuthenticationToken", "MissingAuthenticationTokenException",
        "SignatureDoesNotMatch", "InvalidSignatureException", "IncompleteSignature", "OptInRequired",
        "ExpiredToken", "ExpiredTokenException", "RequestExpired", "TokenRefreshRequired",
    }
)  # fmt: skip
"""Codes that say no to this caller, also because the credentials have run out."""
_DEAD: Final = frozenset(
    {
        "InvalidNextToken", "InvalidNextTokenException", "InvalidPaginationToken", "InvalidPaginationTokenException",
        "InvalidContinuationToken", "InvalidContinuationTokenException", "InvalidMarker", "ExpiredNextToken",
        "ExpiredNextTokenException", "ExpiredPaginationToken", "PaginationTokenExpiredException",
        "RequestChangedException", "ExpiredIteratorException", "InvalidPageToken",
    }
)  # fmt: skip
_INVALID: Final = frozenset(
    {"ValidationException", "ValidationError", "InvalidArgument", "InvalidParameter", "InvalidParameterException",
     "InvalidParameterValue", "InvalidRequestException", "InvalidInput", "InvalidInputException"}
)  # fmt: skip
"""On a call that differs from the accepted one before it by its token alone, the token is what is invalid."""
_NO_CREDENTIALS: Final = (
    boto.NoCredentialsError, boto.PartialCredentialsError, boto.CredentialRetrievalError, boto.TokenRetrievalError,
    boto.UnauthorizedSSOTokenError,
)  # fmt: skip


@dataclass(frozen=True)
class Service:
    """Answers the reader's requests with one call each."""

    call: Callable[..., Mapping[str, Any]] = field(repr=False)
    params: Mapping[str, Any] = field(repr=False)
    items: str
    walk: AwsWalk

    def send(self, request: Request, *, timeout_s: float | None) -> Response | Fault:
        """Makes one call. boto3 bounds its time by the client's own configuration."""
        token, size = cursor_of(request), size_of(request)
        sized = {self.walk.size: size} if self.walk.size is not None and size is not None else {}
        parameters = {**self.params, **sized, **parameters_of(token)}
        try:
            answer = self.call(**parameters)
        except boto.ClientError as error:
            return _refusal(error, continued=token is not None)
        except _NO_CREDENTIALS:
            return refused(401)
        except (boto.ConnectTimeoutError, boto.ReadTimeoutError):
            return Fault("timeout")
        except (boto.IncompleteReadError, boto.ResponseStreamingError):
            return Fault("short_body")
        except ResponseParserError:
            return Response(200)
        except boto.ParamValidationError:
            broken = "params"
        except (boto.NoRegionError, boto.EndpointProviderError):
            broken = "client"
        except boto.BotoCoreError:
            return Fault("disconnect")
        else:
            return self._page(answer)
        raise InvalidInput(field=broken, rule="must be what the operation takes, in a region that has it")

    def _page(self, answer: Mapping[str, Any]) -> Response:
        root = self.items.partition(".")[0].removesuffix("[]")
        records = jmespath.search(_expression(self.items), answer)
        rest = {k: v for k, v in answer.items() if k not in (root, "ResponseMetadata")}
        body: dict[str, Any] = {
            "items": [] if records is None else plain(records),
            "answer": plain(rest),
            "failed": any(_says_failed(name, value) for name, value in rest.items()),
            "below": bool(rest.get("CommonPrefixes")),
            "unshown": "ScannedCount" in rest and rest.get("Count") != len(records or ()),
        }
        token, more = self.walk.token(answer), self.walk.says_more(answer)
        if token is not None:
            body["next"] = token
        if more is not None:
            body["more"] = more
        return page(body)


def _says_failed(name: str, value: Any) -> bool:
    pattern = _FAILED.match(name) or (isinstance(value, list) and _LEFT_OUT.fullmatch(name))
    return bool(pattern) and bool(value)


def _expression(items: str) -> str:
    """Returns the path of the records as an expression; lists in lists become one."""
    quoted = ".".join(f'"{p[:-2]}"[]' if p.endswith("[]") else f'"{p}"' for p in items.split("."))
    return f"{quoted}[]" if "[]." in quoted and not quoted.endswith("[]") else quoted


def _refusal(error: Any, *, continued: bool) -> Response:
    code = str(error.response.get("Error", {}).get("Code", ""))
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode")
    if code in _SLOW or status == 429:
        return refused(429)
    if code in _CLOSED or status in (401, 403):
        return refused(403)
    if continued and (code in _DEAD or code in _INVALID):
        return refused(410)
    return refused(status if isinstance(status, int) and status >= 400 else 500)
