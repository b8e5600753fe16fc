"""What LangChain and LangGraph have that keeps or shows runs: tracers, handlers, event streams, checkpoints."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from canaries.watching import IDS, READS, beyond_scope, places
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tracers.base import BaseTracer
from langchain_core.tracers.schemas import Run

_EVENTS: Final = [n for n in dir(BaseCallbackHandler) if n.startswith("on_")]


class Found:
    """Where canaries stood, by what was looked at; looked at once, when it came."""

    def __init__(self) -> None:
        self.places: dict[str, str] = {}

    def look(self, what: str, value: Any) -> None:
        """Looks through a value now, before anybody changes it."""
        self.places.update({shortened(place): hit for place, hit in places(value, root=what).items()})


_ROUGH: Final = (
    (re.compile(r"\[\]|\.<key>"), ""),
    (re.compile(r"(tool_calls|invalid_tool_calls)\.args\b.*"), r"\1.args"),
    (re.compile(r"\.(content_blocks|tool_call_chunks)\b.*"), r".\1"),
    (re.compile(r"(on_tool_start\.inputs|tool\.inputs)\b.*"), r"\1"),
    (re.compile(r"^(.*\btool_call)\.args\b.*"), r"\1.args"),
)


def shortened(place: str) -> str:
    """Returns a place without indices, and without the names of the arguments below it."""
    for pattern, text in _ROUGH:
        place = pattern.sub(text, place)
    return place


class Recorder(BaseTracer):
    """A tracer as a vendor writes one: it keeps runs as they begin and as they end."""

    def __init__(self, found: Found) -> None:
        super().__init__()
        self.found = found
        self.kinds: list[str] = []

    def _persist_run(self, run: Run) -> None:
        self._look("end", run)

    def _on_run_create(self, run: Run) -> None:
        self._look("start", run)

    def _on_run_update(self, run: Run) -> None:
        self._look("error" if run.error else "end", run)

    def _look(self, when: str, run: Run) -> None:
        self.kinds.append(f"{run.run_type} {when}")
        kept = {n: getattr(run, n) for n in ("inputs", "outputs", "error", "extra", "events", "serialized", "tags")}
        self.found.look(f"{run.run_type}", kept)


class Hearing(BaseCallbackHandler):
    """A handler that hears every event, raw."""

    def __init__(self, found: Found) -> None:
        self.found = found
        self.heard: list[str] = []


def _heard(event: str) -> Any:
    def on(self: Hearing, *args: Any, **kwargs: Any) -> None:
        self.heard.append(event)
        named = {f"argument {n}": value for n, value in enumerate(args)}
        self.found.look(event, {**named, **kwargs})

    return on


for _event in _EVENTS:
    setattr(Hearing, _event, _heard(_event))


def told_to_model(seen: Iterable[Iterable[BaseMessage]]) -> dict[str, str]:
    """Returns the canaries in what a model was shown, but for its own messages and for the ids that a read told it."""
    told: dict[str, str] = {}
    for message in (m for messages in seen for m in messages if not isinstance(m, AIMessage)):
        name = f"{type(message).__name__}.{getattr(message, 'name', None)}"
        told |= places(beyond_scope(message.content), root=f"model.{name}")
    return {p: h for p, h in told.items() if not (p.rpartition(".")[2].startswith(READS) and h.startswith(IDS))}
