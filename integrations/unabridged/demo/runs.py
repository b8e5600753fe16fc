"""What a framework room gives back of a run of the errand, and how a room is found."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, get_args

from unabridged.contract.errors import InvalidInput

if TYPE_CHECKING:
    from unabridged.answers import FinalAnswer

    from .errand import Errand

GROUP: Final = "unabridged.demo"
Framework = Literal["langchain", "llamaindex"]
FRAMEWORKS: Final[tuple[Framework, ...]] = get_args(Framework)


@dataclass(frozen=True, slots=True)
class Step:
    """One tool call of a run with the text that the model got back."""

    tool: str
    args: Mapping[str, Any]
    text: str

    def body(self) -> Any:
        """Returns the text decoded; nothing where it is no JSON."""
        try:
            return json.loads(self.text)
        except ValueError:
            return None


@dataclass(frozen=True, slots=True)
class Answer:
    """What the user is told in the end. Everything in it can be written as JSON."""

    text: str
    """As the user sees it: with the caveats that stand before it, where there are any."""
    caveats: Sequence[Any] = ()
    coverage: Any = None

    @classmethod
    def of(cls, final: FinalAnswer) -> Answer:
        """Returns a judged answer as the user sees it."""
        return cls(text=str(final), caveats=[c.to_wire() for c in final.caveats], coverage=dict(final.coverage))


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """One run of the errand."""

    answer: Answer
    steps: Sequence[Step] = field(default_factory=tuple)
    """Every tool call that the framework answered, in the order of the answers."""


class Runner(Protocol):
    """Runs the errand once in a framework. Rooms offer it as an entry point of the group `unabridged.demo`."""

    def __call__(self, errand: Errand, *, guarded: bool, model: str | None) -> RunOutcome:
        """Runs it.

        Args:
            errand: the tools, the prompt and the scripted model.
            guarded: with `errand.guarded`, protected; else with `errand.plain` as they are.
            model: `provider:name` of a real model; without it the script decides (`hasty.next_move`).
        """


def find_runner(framework: str) -> Runner:
    """Loads a room's runner.

    Raises:
        InvalidInput: no room offers that framework.
        MissingExtra: the framework is not installed.
    """
    found = entry_points(group=GROUP, name=framework)
    for each in found:
        runner: Runner = each.load()
        return runner
    raise InvalidInput(field="framework", rule=f"must be one of {', '.join(FRAMEWORKS)}, and its room installed")
