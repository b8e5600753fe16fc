"""Which tools are known, and by what: a secret of the process, never metadata that a caller can set."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final
from weakref import WeakKeyDictionary, WeakSet

from .declare import UNDECLARED, FollowUpSpec, ReadSpec, Spec, UndeclaredSpec
from .runtime import Gate

_lock: Final = threading.Lock()
_GATES: Final[WeakKeyDictionary[Any, Gate]] = WeakKeyDictionary()
_BY_NAME: Final[dict[str, WeakSet[Any]]] = {}


def bear(carrier: Any, gate: Gate) -> None:
    """Records that an object (a wrapped function, a tool) carries a gate. Only this process can say so."""
    with _lock:
        _GATES[carrier] = gate
        _BY_NAME.setdefault(gate.name, WeakSet()).add(carrier)


def gate_of(carrier: Any) -> Gate | None:
    """Returns the gate that an object carries, or nothing."""
    try:
        return _GATES.get(carrier)
    except TypeError:
        return None


def spec_named(name: str) -> Spec:
    """Returns the declaration of a tool by its name alone, the strictest where tools of one name differ."""
    with _lock:
        specs = [_GATES[c].spec for c in _BY_NAME.get(name, ()) if c in _GATES]
    if not specs:
        return UNDECLARED
    reads = [s for s in specs if isinstance(s, ReadSpec)]
    if any(isinstance(s, UndeclaredSpec) for s in specs) or any(r.resource != reads[0].resource for r in reads):
        return UNDECLARED
    follow_ups = [s for s in specs if isinstance(s, FollowUpSpec)]
    return (reads or follow_ups or specs)[0]


def known_names() -> tuple[str, ...]:
    """Returns the names of all tools that carry a gate: a turn that cannot be seen may have asked any of them."""
    with _lock:
        return tuple(name for name, carriers in _BY_NAME.items() if carriers)


def siblings_of(
    calls: Sequence[Mapping[str, Any]], *, call_id: str | None, name: str, args: Mapping[str, Any] | None = None
) -> list[tuple[str, Mapping[str, Any]]]:
    """Returns the other calls of a turn, given all of them as `{"name", "args", "id"}`.

    Just one call is left out: that with the id, and of several with one id that of the name. Without an id it is the
    first of the name (and arguments).
    """
    if call_id is not None:
        own = [n for n, call in enumerate(calls) if call.get("id") == call_id]
        named = [n for n in own if calls[n].get("name") == name]
    else:
        own = []
        named = [n for n, call in enumerate(calls) if call.get("name") == name and args in (None, call.get("args"))]
    left_out = next(iter(named or own), None)
    return [(str(c.get("name")), c.get("args") or {}) for n, c in enumerate(calls) if n != left_out]


Lookup = Callable[[str], Spec]
