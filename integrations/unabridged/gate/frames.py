"""What passes through the tool boundary takes no value along in a frame of this toolkit.

A cancellation, an exit or an interruption passes through the readers and the sources as well, whose variables hold what
was asked and what came. An error tracker that sends the variables of frames would send these.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from types import FrameType
from typing import Final

_PACKAGES: Final = "unabridged"
"""What the names of the packages of this toolkit begin with."""


def emptied(error: BaseException) -> BaseException:
    """Returns an error that passes, the variables of our frames below gone; those that still run keep theirs.

    The frames of the author's code and of the framework are theirs, and stay as they are.
    """
    for each in _chain(error):
        trace = each.__traceback__
        while trace is not None:
            if _is_ours(trace.tb_frame):
                with suppress(RuntimeError):  # it still runs
                    trace.tb_frame.clear()
            trace = trace.tb_next
    return error


def _is_ours(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).startswith(_PACKAGES)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yields an error with all that it came from, and those of a group."""
    left, seen = [error], set[int]()
    while left:
        each = left.pop()
        if id(each) not in seen:
            seen.add(id(each))
            yield each
            left += [e for e in (each.__cause__, each.__context__, *getattr(each, "exceptions", ())) if e is not None]
