"""The result of a read that was broken off: unavailable, whatever had arrived."""

from __future__ import annotations

from unabridged.contract.ids import new_read_id
from unabridged.contract.parts import Proof, ReadHeader, Reason, Scope, SourceOutcome
from unabridged.contract.results import ReadResult, build_result

from .resume import Resume


def cancelled_read(resume: Resume, *, last_id: str | None = None) -> ReadResult:
    """Returns what is recorded of a read that was cancelled or interrupted.

    Args:
        resume: where the read had started.
        last_id: the id of the last link that was handed out.
    """
    ask = resume.ask
    now = ask.clock.now()
    name = ask.source or ask.profile.name
    return build_result(
        items=None,
        reasons=[Reason(code="SOURCE_UNAVAILABLE", detail="cancelled", layer="client", source=name)],
        scope=Scope(resource=ask.query.resource, filters=dict(ask.query.filters), intent=ask.query.intent),
        read=ReadHeader(
            id=new_read_id(),
            query_id=ask.query_id,
            adapter=f"{name}/{ask.profile.version}",
            started_at=now,
            finished_at=now,
            continues=last_id,
        ),
        proof=Proof(basis=ask.profile.basis),
        sources=(SourceOutcome(name=name, status="unavailable", reasons=("SOURCE_UNAVAILABLE",)),),
    )
