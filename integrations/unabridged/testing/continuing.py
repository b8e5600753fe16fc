"""Going on with a read of the same case: at its source, or with records that were read and not yet shown."""

from __future__ import annotations

from dataclasses import dataclass, replace

from unabridged.contract import CaseError, ReadResult, new_read_id, resume_of, with_ids
from unabridged.reading import Resume


@dataclass(frozen=True, slots=True)
class Finished:
    """A read that was made."""

    base: ReadResult
    """As it was read."""
    view: ReadResult
    """As it was shown."""
    requests: int
    """How many requests reached the transport."""
    stored_in: str = ""
    """The id of the recorded read whose records these are; an envelope of a stored rest is no read of its own."""
    start: int = 0
    """How many records of that read were shown before."""

    @property
    def is_cut(self) -> bool:
        """Whether records of it were not shown."""
        return self.view.returned < self.base.returned

    @property
    def rest(self) -> list[object]:
        """The records that were not shown."""
        return list((self.base.items or [])[self.view.returned :])


def way_on(earlier: Finished | None, *, field: str) -> Resume | Finished:
    """Returns the resume at the source, or the envelope of the stored rest, which needs no request.

    Raises:
        CaseError: the earlier read cannot be continued.
    """
    resume = None if earlier is None else resume_of(earlier.base)
    if earlier is not None and earlier.is_cut:
        if not isinstance(resume, Resume) or resume.kind != "chain":
            return _stored_rest(earlier)
        return replace(resume, chain=replace(resume.chain, rest=(*earlier.rest, *resume.chain.rest)))
    if not isinstance(resume, Resume):
        raise CaseError(field=field, rule="must be a read that can be continued")
    return resume


def _stored_rest(earlier: Finished) -> Finished:
    base, shown = earlier.base, earlier.view.returned
    header = base.read.model_copy(
        update={"id": new_read_id(), "continues": base.read.id, "requests": 0, "pages": 0, "duplicates": 0}
    )
    rest = earlier.rest
    stored = base.model_copy(
        update={
            "items": rest,
            "returned": len(rest),
            "finding_count": len(rest) if base.complete else None,
            "read": header,
        }
    )
    with_ids(stored, list(base.ids)[shown:])
    return Finished(stored, stored, 0, stored_in=earlier.stored_in, start=earlier.start + shown)
