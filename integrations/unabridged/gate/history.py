"""Tool results that stand in a message history: those that the ledger does not know can block, never allow or clear."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, assert_never

from unabridged.evidence import Asked, Session

from .declare import FollowUpSpec, NeutralSpec, ReadSpec, Spec, UndeclaredSpec, WriteSpec

_log = logging.getLogger("unabridged.gate")
_SAID: Final[set[int]] = set()
"""Whether the developer was told, once a process, why a history blocks."""


@dataclass(frozen=True, slots=True)
class PastCall:
    """A tool call of the history that has a result there.

    Attributes:
        tool: the tool's name; nothing where the history does not tell.
        args: what the model sent.
        call_id: the id of the call.
    """

    tool: str | None
    args: Mapping[str, Any] = field(default_factory=dict, repr=False)
    call_id: str | None = None


def import_results(
    session: Session, calls: Iterable[PastCall], *, spec_of: Callable[[str], Spec], resources: Iterable[str]
) -> int:
    """Records the results of the history that the session does not know; returns how many it did not know.

    Args:
        session: the session that the history belongs to.
        calls: the calls that have results in the history.
        spec_of: the declaration of a tool by its name.
        resources: what the agent's tools read. A result that cannot be told apart may have been any of it.
    """
    calls, everything = tuple(calls), tuple(resources)
    with_reads = any(c.tool is not None and isinstance(spec_of(c.tool), ReadSpec) for c in calls)
    foreign, is_new = 0, not session.reads
    for call in calls:
        if call.call_id is not None and session.knows_call(call.call_id):
            continue
        entries = _asked(call, spec_of, everything, with_reads=with_reads)
        if entries:
            foreign += 1
            session.import_history(entries)
        if call.call_id is not None:
            session.note_call(call.call_id)
    if foreign and is_new and not _SAID:
        _SAID.add(foreign)
        _log.warning(
            "the history of a conversation holds tool results that its session does not know; they hold writes back "
            "until they are read again. A conversation keeps its evidence in one session: unabridged.session(...), or "
            "what its framework has for it, a thread_id or a Context"
        )
    return foreign


def import_unknown_past(session: Session, resources: Iterable[str]) -> None:
    """Records that anything may have been read before: the history has a past whose ledger is not here."""
    session.import_history(Asked(resource) for resource in resources)


def _asked(
    call: PastCall, spec_of: Callable[[str], Spec], resources: tuple[str, ...], *, with_reads: bool
) -> list[Asked]:
    if call.tool is None:
        return [Asked(resource) for resource in resources]
    spec = spec_of(call.tool)
    match spec:
        case ReadSpec():
            return [Asked(spec.resource, spec.filters_of(call.args), spec.intent, spec.key_filter)]
        case UndeclaredSpec():
            return [Asked(f"tool:{call.tool}"[:200])]
        case FollowUpSpec():  # what it went on from stands in the history too, unless that was cut
            return [] if with_reads else [Asked(resource) for resource in resources]
        case WriteSpec() | NeutralSpec():
            return []
        case _:
            assert_never(spec)
