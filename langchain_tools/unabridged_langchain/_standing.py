"""Functions that stand in the place of a tool's own: they are guarded, and look like what they stand for."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from functools import wraps
from typing import Any, get_type_hints

from unabridged.gate.turn import bear

from ._body import Body, Given


def guarded_func(body: Body, code: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function under its gate, with the signature of its code."""

    @wraps(code)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        given = Given(args, kwargs)
        del args, kwargs
        return body.run(code, given)

    return _standing_for(guarded, code, body)


def guarded_coroutine(body: Body, code: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """As `guarded_func`, for a coroutine function."""

    @wraps(code)
    async def guarded(*args: Any, **kwargs: Any) -> Any:
        given = Given(args, kwargs)
        del args, kwargs
        return await body.arun(code, given)

    return _standing_for(guarded, code, body)


def _standing_for(guarded: Callable[..., Any], code: Any, body: Body) -> Callable[..., Any]:
    """Gives a guarded function the signature of its code, and no way around the gate."""
    resolve_hints(guarded, code)
    if "__signature__" in vars(guarded):
        del guarded.__wrapped__  # type: ignore[attr-defined]
    bear(guarded, body.gate)
    return guarded


def resolve_hints(function: Any, source: Any = None) -> None:
    """Puts the annotations of a function in the place of their texts, which LangChain would read in each call.

    Args:
        function: the function.
        source: the function that it stands for, whose signature it shows.
    """
    try:
        function.__annotations__ = get_type_hints(function if source is None else source, include_extras=True)
        if source is not None:
            function.__signature__ = inspect.signature(source)
    except (NameError, TypeError, ValueError, AttributeError):  # a name that is not there: LangChain deals with it
        return


def parameters_of(code: Callable[..., Any] | None) -> Sequence[str]:
    """Returns the names of the parameters of a function, as far as it tells."""
    if code is None:
        return ()
    try:
        return tuple(inspect.signature(code).parameters)
    except (TypeError, ValueError):
        return ()


def rest_of(code: Callable[..., Any]) -> str | None:
    """Returns the parameter of a function that takes all further positional arguments, where it has one."""
    try:
        parameters = inspect.signature(code).parameters.values()
    except (TypeError, ValueError):
        return None
    return next((p.name for p in parameters if p.kind is inspect.Parameter.VAR_POSITIONAL), None)
