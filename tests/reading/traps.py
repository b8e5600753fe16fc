"""How whole sessions of the shipped profiles are turned into traps: their own replay cases, bent in one place.

A session is what a replay case of a profile serves. Nothing here knows a service: lists, counts, flags and marks are
found through the profile's own paths.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from unabridged.contract import ReadResult
from unabridged.profiles import Profile, load_profile, shipped_profiles
from unabridged.profiles.paths import MISSING, PathFailed, compile_path
from unabridged.reading import Budget, Query, run_read
from unabridged.testing import ScriptedTransport, VirtualClock

CASES: Final = Path(__file__).parents[1] / "replay" / "shipped"
Exchange = Mapping[str, Any]
Place = tuple[str | int, ...]


@dataclass(frozen=True)
class Session:
    """What a case of a shipped profile serves, and what it asks."""

    case: str
    profile: Profile
    query: Mapping[str, Any]
    url: str
    budget: Mapping[str, Any]
    exchanges: tuple[Exchange, ...]

    def read(self, exchanges: Sequence[Exchange] | None = None, **script: Any) -> tuple[ReadResult, int]:
        """Returns the result of the session, or of other exchanges in it, and how many requests were sent."""
        served = [dict(one) for one in (self.exchanges if exchanges is None else exchanges)]
        for one in served:
            one.pop("expect_request", None)
        clock = VirtualClock()
        transport = ScriptedTransport(served, clock=clock, **script)
        asked = {name: value for name, value in self.query.items() if name != "resource"}
        query = Query(self.query["resource"], **asked)
        budget = Budget.unlimited(**{"max_requests": 30, **self.budget})
        result = run_read(self.profile, query, url=self.url, transport=transport, clock=clock, budget=budget)
        return result, len(transport.requests)

    def bent(self, position: int, exchange: Exchange) -> list[Exchange]:
        """Returns the exchanges with another one at a position, and nothing after it: a walk that goes on is caught."""
        others: list[Exchange] = list(self.exchanges)
        others[position] = exchange
        return others


@cache
def sessions(name: str) -> tuple[Session, ...]:
    """Returns the sessions of a profile that its cases serve from a first page."""
    found = []
    for file in sorted(CASES.glob(f"{name}-*.json")):
        for step in json.loads(file.read_text(encoding="utf-8"))["reads"]:
            if step["profile"] != name or not step.get("exchanges") or "continues" in step:
                continue
            query = {key: value for key, value in step["query"].items() if key != "limit"}
            url = step.get("url", f"https://replay.invalid/{query['resource']}")
            profile, budget = load_profile(name), step.get("budget", {})
            found.append(Session(file.stem, profile, query, url, budget, tuple(step["exchanges"])))
    return tuple(found)


@cache
def whole(name: str) -> tuple[Session, ...]:
    """Returns the sessions of a profile that end as complete."""
    return tuple(one for one in sessions(name) if one.read()[0].complete)


def names() -> tuple[str, ...]:
    """Returns the names of all shipped profiles."""
    return shipped_profiles()


def value_at(profile_path: str, exchange: Exchange) -> Any:
    """Returns what stands at a page path of a profile in an exchange; `MISSING` where it cannot be read."""
    headers = {str(name).lower(): str(value) for name, value in (exchange.get("headers") or {}).items()}
    try:
        return compile_path(profile_path).read_page(exchange.get("json"), headers)
    except PathFailed:
        return MISSING


def places(value: Any, at: Place = ()) -> Iterator[Place]:
    """Yields every place in a JSON value."""
    yield at
    if isinstance(value, dict):
        for key, part in value.items():
            yield from places(part, (*at, key))
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from places(part, (*at, index))


def looked_up(value: Any, at: Place) -> Any:
    """Returns what stands at a place."""
    for key in at:
        value = value[key]
    return value


def put(exchange: Exchange, at: Place, new: Any) -> dict[str, Any]:
    """Returns an exchange with another value at a place of its body; `MISSING` takes it away."""
    body: Any = copy.deepcopy(exchange.get("json"))
    if not at:
        return {**exchange, "json": new}
    holder: Any = body
    for key in at[:-1]:
        if isinstance(holder, dict) and not isinstance(holder.get(key), dict | list):
            holder[key] = {}
        holder = holder[key]
    if new is MISSING:
        del holder[at[-1]]
    else:
        holder[at[-1]] = new
    return {**exchange, "json": body}


def list_places(session: Session, exchange: Exchange) -> list[Place]:
    """Returns the places of the lists whose change changes the records of a page, the outermost ones."""
    path, body = session.profile.items or "@", exchange.get("json")
    records = value_at(path, exchange)
    if not isinstance(records, list) or not records:
        return []
    if path == "@":
        return [()]
    found: list[Place] = []
    for at in places(body):
        if any(at[: len(outer)] == outer for outer in found) or not isinstance(looked_up(body, at), list):
            continue
        if value_at(path, put(exchange, at, [])) != records:
            found.append(at)
    return found


def emptied(session: Session, exchange: Exchange) -> dict[str, Any] | None:
    """Returns a page without its records; nothing where it has none."""
    found = list_places(session, exchange)
    other: dict[str, Any] | None = None
    for at in found:
        other = put(other or exchange, at, [])
    return other


def counted_more(session: Session, exchange: Exchange, more: int = 7) -> dict[str, Any] | None:
    """Returns a page whose declared count is higher; nothing where it declares none that can be found."""
    count = session.profile.count
    stated = None if count is None else value_at(count.path, exchange)
    if count is None or not isinstance(stated, int | float) or isinstance(stated, bool):
        return None
    for name, value in (exchange.get("headers") or {}).items():
        other = {**exchange, "headers": {**exchange["headers"], name: _raised(value, more)}}
        if value_at(count.path, other) == stated + more:
            return other
    for at in places(exchange.get("json")):
        raised = _raised(looked_up(exchange["json"], at), more)
        if raised is not None:
            other = put(exchange, at, raised)
            if value_at(count.path, other) == stated + more:
                return other
    return None


def _raised(value: Any, more: int) -> Any:
    if isinstance(value, int) and not isinstance(value, bool):
        return value + more
    return str(int(value) + more) if isinstance(value, str) and value.isdigit() else None


def many(session: Session, exchange: Exchange, number: int) -> dict[str, Any] | None:
    """Returns a page with so many records, each with an id of its own; nothing where that cannot be made."""
    found = list_places(session, exchange)
    if len(found) != 1:
        return None
    records = looked_up(exchange["json"], found[0])
    pattern = next((record for record in records if isinstance(record, dict)), None)
    at = None if pattern is None else _place_of_id(session.profile, pattern)
    if pattern not in value_at(session.profile.items or "@", exchange) or (
        at is None and session.profile.id is not None
    ):
        return None
    made = [pattern if at is None else _with_id(pattern, at, index) for index in range(number)]
    return put(put(exchange, found[0], []), found[0], made)


def _with_id(pattern: Any, at: Place, index: int) -> Any:
    """Returns a record with an id of its own, which shares with the pattern what does not lead to the id."""
    key, *rest = at
    copied = pattern.copy()
    copied[key] = _with_id(pattern[key], tuple(rest), index) if rest else _other(pattern[key], index)
    return copied


def _place_of_id(profile: Profile, record: Any) -> Place | None:
    if profile.id is None:
        return None
    path = compile_path(profile.id, page=False)
    for at in places(record):
        value = looked_up(record, at)
        if at and isinstance(value, str | int) and not isinstance(value, bool):
            try:
                if path.read(put({"json": record}, at, _other(value, 1))["json"]) != path.read(record):
                    return at
            except PathFailed:
                continue
    return None


def _other(value: Any, index: int) -> Any:
    return f"{value}-{index}" if isinstance(value, str) else 1_000_000 + index


def plain(path: str) -> Place | None:
    """Returns the keys of a plain path; nothing for expressions and headers."""
    compiled = compile_path(path)
    return tuple(compiled.parts) if compiled.kind == "plain" and compiled.parts else None


def marked(exchange: Exchange, path: str, when: Any) -> dict[str, Any] | None:
    """Returns a page in which a condition holds at a plain path or a header; nothing where that cannot be made."""
    compiled = compile_path(path)
    if when.absent:
        kept = {n: v for n, v in (exchange.get("headers") or {}).items() if n.lower() != compiled.text}
        return {**exchange, "headers": kept} if compiled.kind == "header" else None
    if when.nonempty:
        value: Any = {"one": "x"}
    elif when.in_ is not None:
        value = when.in_[0]
    elif when.gt is not None:
        value = int(when.gt) + 1
    elif when.expr:
        return None
    else:
        value = when.equals
    if compiled.kind == "header":
        text = value if isinstance(value, str) else "1"
        return {**exchange, "headers": {**(exchange.get("headers") or {}), compiled.text: text}}
    at = plain(path)
    return put(exchange, at, value) if at and isinstance(exchange.get("json"), dict) else None
