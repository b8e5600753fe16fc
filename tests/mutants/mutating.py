"""Swapping one function or value of the program for a wrong one, in a process that does nothing else."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from inspect import iscoroutinefunction
from typing import Any, Final, Literal

Room = Literal["core", "langchain", "llamaindex"]
PACKAGES: Final[dict[Room, tuple[str, ...]]] = {
    "core": ("unabridged",),
    "langchain": ("unabridged", "unabridged_langchain"),
    "llamaindex": ("unabridged", "unabridged_llamaindex"),
}
_LEFT_OUT: Final = ("unabridged.demo", "unabridged.cli", "unabridged_langchain.demo", "unabridged_llamaindex.demo")


@dataclass(frozen=True)
class Mutant:
    """A wrong program: what it does wrong, where, and the tests that must notice."""

    name: str
    target: str
    """`module:attribute`, the attribute dotted where it belongs to a class."""
    wrong: Callable[[Any], Any]
    """Takes what stands at the target and returns what is put in its place."""
    killers: Sequence[str]
    """Ids of tests; at least one call of theirs must fail."""
    room: Room = "core"
    only_here: bool = False
    """Whether only the target's own module sees the change; else every module that took the name from there does."""
    errors: Sequence[str] = ("AssertionError", "Failed")
    """How the tests may fail: by what they assert, unless the mutant makes a form that cannot even be parsed."""


class Missing(Exception):
    """A mutant's target is gone: the suite must be told where it went."""


def load(room: Room) -> None:
    """Imports every module of the packages of a room, so that a change reaches each name that was taken."""
    for package in PACKAGES[room]:
        found = importlib.import_module(package)
        for module in pkgutil.walk_packages(found.__path__, f"{package}."):
            if not module.name.startswith(_LEFT_OUT):
                importlib.import_module(module.name)


def apply(mutant: Mutant) -> list[str]:
    """Puts the wrong program in place; returns a list that grows with each time that it runs."""
    module_name, _, path = mutant.target.partition(":")
    owner: Any = importlib.import_module(module_name)
    *parents, last = path.split(".")
    for parent in parents:
        owner = getattr(owner, parent, None)
    if owner is None or not hasattr(owner, last):
        raise Missing(f"{mutant.name}: {mutant.target} is gone")
    original = owner.__dict__.get(last, getattr(owner, last))
    runs: list[str] = []
    changed = _watched(mutant.wrong(_plain(original)), original, runs, mutant.name)
    setattr(owner, last, changed)
    if not parents and not mutant.only_here:
        _spread(original, changed)
    return runs


def _plain(original: Any) -> Any:
    return original.__func__ if isinstance(original, staticmethod | classmethod) else original


def _watched(wrong: Any, original: Any, runs: list[str], name: str) -> Any:
    """Notes each run of a wrong function; a wrong value cannot be watched and counts as used."""
    if isinstance(original, property):
        return property(_noting(wrong, runs, name))
    if not callable(wrong) or isinstance(original, type):
        runs.append(name)
        return wrong
    noting = _noting(wrong, runs, name)
    return staticmethod(noting) if isinstance(original, staticmethod) else noting


def _noting(wrong: Any, runs: list[str], name: str) -> Any:
    @wraps(wrong)
    def noting(*args: Any, **kwargs: Any) -> Any:
        runs.append(name)
        return wrong(*args, **kwargs)

    @wraps(wrong)
    async def anoting(*args: Any, **kwargs: Any) -> Any:
        runs.append(name)
        return await wrong(*args, **kwargs)

    return anoting if iscoroutinefunction(wrong) else noting


def _spread(original: Any, changed: Any) -> None:
    for name, module in list(sys.modules.items()):
        if name.startswith("unabridged"):
            for key, value in list(vars(module).items()):
                if value is original:
                    setattr(module, key, changed)
