"""One exchange with an MCP server: what came, or what went wrong, without a word that the server wrote."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, Literal

import anyio
from mcp.shared import exceptions
from pydantic import ValidationError

EXCHANGE_S: Final = 30.0
"""How long one exchange may take where nothing shorter is stated."""
# The class is McpError in version 1 and MCPError in version 2.
ServerError: Final[type[Exception]] = getattr(exceptions, "MCPError", getattr(exceptions, "McpError", OSError))
INVALID_PARAMS: Final = -32602
_CLOSED: Final = -32000
_TIMED_OUT: Final = frozenset({-32001, 408})
"""Version 2 of the SDK and the TypeScript SDK say -32001, version 1 says 408."""
_GONE: Final = (anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream, OSError)


@dataclass(frozen=True, slots=True)
class Broken:
    """An exchange that brought no result.

    `refused` is an error that the server answered with, whose number is `code`; `malformed` an answer that is not
    what the protocol, or the tool's own schema, says; `deadline` our own limit of time for the whole read.
    """

    kind: Literal["timeout", "deadline", "disconnect", "refused", "malformed"]
    code: int | None = None


async def exchanged(call: Callable[[], Awaitable[Any]], *, timeout_s: float | None, left_s: float | None = None) -> Any:
    """Returns what a call to the SDK brings, or a `Broken`. Cancellation passes through.

    Args:
        call: makes the call.
        timeout_s: how long the exchange may take; `None` for the usual.
        left_s: what is left of the time of the whole read.
    """
    usual_s = EXCHANGE_S if timeout_s is None else timeout_s
    is_last = left_s is not None and left_s <= usual_s
    try:
        async with asyncio.timeout(max(0.001, left_s) if is_last and left_s is not None else usual_s):
            return await call()
    except TimeoutError:
        return Broken("deadline" if is_last else "timeout")
    except ServerError as error:
        return _refused(error)
    except _GONE:
        return Broken("disconnect")
    except (ValidationError, RuntimeError):  # the SDK's own words for an answer that breaks a schema
        return Broken("malformed")


def _refused(error: Exception) -> Broken:
    code = getattr(getattr(error, "error", None), "code", None)
    if code in _TIMED_OUT:
        return Broken("timeout")
    if code == _CLOSED:
        return Broken("disconnect")
    return Broken("refused", code if isinstance(code, int) else None)
