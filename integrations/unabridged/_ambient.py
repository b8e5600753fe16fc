"""The one place where a read finds the session that is in scope.

It stands at the bottom of the tree so that the reader can record itself without knowing what a session is.
"""

from __future__ import annotations

import threading
from contextvars import ContextVar, Token
from typing import Any, Generic, Protocol, TypeVar
from weakref import WeakKeyDictionary

_T = TypeVar("_T")


class Held(Generic[_T]):
    """Sets a context variable for a block.

    A class: what every call of a tool goes through should not cost the generator that `contextmanager` drives.
    """

    __slots__ = ("_token", "_value", "_variable")

    def __init__(self, variable: ContextVar[_T], value: _T) -> None:
        self._variable = variable
        self._value = value

    def __enter__(self) -> None:
        self._token: Token[_T] = self._variable.set(self._value)

    def __exit__(self, *_: object) -> None:
        self._variable.reset(self._token)


class Boxed(Generic[_T]):
    """A value on its way through code that may fail: an error tracker that sends the locals of frames sees no more.

    Attributes:
        value: the value; it is gone when it was taken.
    """

    __slots__ = ("value",)

    def __init__(self, value: _T) -> None:
        self.value = value

    def __repr__(self) -> str:
        return "<Boxed>"

    def take(self) -> _T:
        """Returns the value and keeps it no longer."""
        value = self.value
        del self.value
        return value


class Recorder(Protocol):
    """Whatever keeps reads as evidence; in practice `unabridged.evidence.Session`."""

    closed: bool
    """Whether it was taken out of scope for good, also where a copied context still holds it."""

    def record(self, result: Any, /) -> Any:
        """Keeps the header of a read. Idempotent by read id."""


ambient: ContextVar[Recorder | None] = ContextVar("unabridged_session", default=None)
"""Holds a mutable object, so that threads and nested agents that copy the context share one session."""

_opened: WeakKeyDictionary[threading.Thread, list[Recorder]] = WeakKeyDictionary()
"""For each thread what was opened there without a block: the cells of a notebook need not share a context."""


def enter(recorder: Recorder) -> None:
    """Puts a recorder in scope for this thread, until `leave`."""
    _opened.setdefault(threading.current_thread(), []).append(recorder)
    ambient.set(recorder)


def leave(recorder: Recorder) -> None:
    """Takes a recorder out of scope, wherever it was entered."""
    for stack in list(_opened.values()):
        stack[:] = [r for r in stack if r is not recorder]
    if ambient.get() is recorder:
        stack = _opened.get(threading.current_thread(), [])
        ambient.set(stack[-1] if stack else None)


def current() -> Recorder | None:
    """Returns the recorder in scope, or nothing.

    One that was opened in this thread is put into the context on the way, so that what copies the context has it.
    """
    found = ambient.get()
    if found is not None and not found.closed:
        return found
    stack = _opened.get(threading.current_thread())
    if not stack:
        return None
    ambient.set(stack[-1])
    return stack[-1]


def record(result: Any) -> None:
    """Records a result in the session in scope; without one nothing happens."""
    recorder = current()
    if recorder is not None:
        recorder.record(result)
