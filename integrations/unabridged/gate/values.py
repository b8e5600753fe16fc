"""Turning what a tool returned into a result: the judge runs here, and nothing is ever repaired or defaulted."""

from __future__ import annotations

import dataclasses
import logging
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Iterator, KeysView, Mapping, Sequence, ValuesView
from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel

from unabridged._ambient import Boxed
from unabridged.contract import (
    InvalidInput,
    Proof,
    ProofLevel,
    ReadHeader,
    ReadResult,
    Reason,
    Result,
    Scope,
    Total,
    build_result,
    json_equal,
    new_read_id,
    printable_name,
    with_ids,
    with_resume,
)

from .arguments import jsonable
from .declare import ReadSpec

_log = logging.getLogger("unabridged.gate")
_LISTS = (list, tuple, set, frozenset, deque, range, KeysView, ValuesView)
"""What is a list of records. `exhaustive` speaks of these, and of single records; of nothing else."""


@dataclasses.dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool, as a judge sees it.

    `args` are the arguments as the model sent them; `session` is the session in scope, or nothing. `paging` are the
    pages and sizes that the tool takes by itself where the model sends none.
    """

    tool: str
    args: Mapping[str, Any]
    session: Any = None
    call_id: str | None = None
    spec: ReadSpec | None = None
    started_at: datetime | None = None
    paging: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def asked(self) -> Mapping[str, Any]:
        """The arguments, with the pages and sizes that the tool takes by itself."""
        return {**self.paging, **self.args} if self.paging else self.args

    def __repr__(self) -> str:
        return f"Call(tool={self.tool!r})"

    def result(self, items: Sequence[Any] | None, *codes: str, total: int | None = None) -> ReadResult:
        """Returns what a judge makes of a value: the result of this call, for the resource and the filters of it.

        Args:
            items: the records; `None` where the source gave no answer.
            *codes: why these are not all, such as `MORE_PAGES_AVAILABLE`. None at all says that they are the whole,
                and holds for a call that began at the first page: a later one is the end of something. A lookup whose
                key was not sent is no whole either.
            total: how many there are, where the source counted them.

        Raises:
            InvalidInput: it is called outside of a judge.
        """
        spec = self.spec
        if spec is None:
            raise InvalidInput(field="result", rule="is there for a judge, with the call that it is given")
        found = None if items is None else jsonable(list(items))
        if found is None and not codes:
            codes = ("SOURCE_UNAVAILABLE",)
        if found is not None and total is not None and total != len(found):
            codes = (*codes, *_why_not(total, len(found), codes))
        if found is not None and not codes and not spec.asks_for_all(self.asked):
            codes = ("COVERAGE_UNKNOWN",)
        proof = Proof(basis="declared")
        if found is not None and not codes:
            level: ProofLevel = "end_marker" if total is None else "counted"
            proof = Proof(level=level, end="declared", count=total, basis="declared")
        result = build_result(
            items=found,
            reasons=[Reason(code=c, layer="source") for c in codes],
            scope=_scope(spec, self),
            read=_header(self.started_at),
            total=Total() if total is None else Total(value=total, kind="exact"),
            proof=proof,
        )
        return _by_its_ids(result, spec)


def _why_not(total: int, returned: int, codes: Sequence[str]) -> Sequence[str]:
    """Returns why the records are not as many as the source counted, where nothing else says so."""
    if total < returned:
        return ("CONSISTENCY_LOST",)
    return () if codes else ("RESULT_LIMIT_REACHED",)


def unavailable(
    spec: ReadSpec, call: Call, *, detail: str, code: str = "SOURCE_UNAVAILABLE", started_at: datetime | None = None
) -> ReadResult:
    """Returns the result of a tool that gave nothing that can be validated."""
    reason = Reason(code=code, detail=detail, layer="adapter")
    return build_result(items=None, reasons=[reason], scope=_scope(spec, call), read=_header(started_at))


def result_of(value: Any, spec: ReadSpec, call: Call, *, started_at: datetime) -> ReadResult:
    """Returns what a tool's value says about itself under its declaration.

    A `ReadResult` is taken as it is, but for the resource, which the declaration names. A judge that raises, or
    returns anything else than a result, makes the read unavailable.
    """
    if isinstance(value, Result):
        return _named(value, spec)  # type: ignore[arg-type]
    held = Boxed(value)
    del value
    if spec.judge is not None:
        return _judged(held, spec, call, started_at)
    return _bare(held.take(), spec, call, started_at)


def _judged(held: Boxed[Any], spec: ReadSpec, call: Call, started_at: datetime) -> ReadResult:
    judged, fault = None, None
    try:
        if callable(spec.judge):
            judged = spec.judge(held.take(), dataclasses.replace(call, spec=spec, started_at=started_at))
        else:
            from unabridged.reading import judge_value

            judged = judge_value(
                spec.judge,
                held.take(),
                resource=spec.resource,
                filters=spec.filters_of(call.args),
                page_size=spec.size_of(call.asked),
                from_the_start=spec.asks_for_all(call.asked),
            )
    except Exception as error:  # noqa: BLE001 - the judge is the user's code: whatever it raises, the read proves nothing
        fault = kind_of(error)
    if fault is not None:
        _log.warning("the judge of %s failed with %s", printable_name(call.tool), fault)
        return unavailable(spec, call, detail="judge_failed", started_at=started_at)
    if not isinstance(judged, Result):
        kind = printable_name(type(judged).__name__)
        del judged
        _log.warning(
            "the judge of %s returned %s, no ReadResult; call.result(items, *codes) makes one",
            printable_name(call.tool), kind,
        )  # fmt: skip
        return unavailable(spec, call, detail="judge_failed", started_at=started_at)
    return _named(judged, spec)  # type: ignore[arg-type]


def _named(result: ReadResult, spec: ReadSpec) -> ReadResult:
    result = _by_its_ids(result, spec)
    changes: dict[str, Any] = {}
    if result.scope.resource != spec.resource:
        changes["resource"] = spec.resource
    if spec.intent != "inventory" and result.scope.intent == "inventory":
        changes["intent"] = spec.intent
    if not changes:
        return result
    scope = result.scope.model_copy(update=changes)
    if scope.intent == "sample" and result.status == "complete":
        reasons = [Reason(code="SAMPLE_REQUESTED", layer="client")]
        fields = {name: getattr(result, name) for name in ("total", "sources", "item_cuts", "warnings", "consistency")}
        sample = build_result(items=result.items, reasons=reasons, scope=scope, read=result.read, **fields)
        return with_ids(with_resume(sample, result._resume), result._ids)
    return result.model_copy(update={"scope": scope})


def _bare(value: Any, spec: ReadSpec, call: Call, started_at: datetime) -> ReadResult:
    items = _items(value, spec)
    if items is None:
        return unavailable(spec, call, detail="malformed_page", code="PROTOCOL_ANOMALY", started_at=started_at)
    exhaustive = (
        spec.exhaustive and (isinstance(value, _LISTS) or _is_record(value)) and _was_unbounded(items, spec, call)
    )
    level, end = ("end_marker", "declared") if exhaustive else ("none", None)
    reasons: list[Reason] = []
    if spec.intent == "sample":
        reasons = [Reason(code="SAMPLE_REQUESTED", layer="client")]
    elif not exhaustive:
        if _answers_its_key(items, spec, call):
            level, end = "end_marker", "key"
        else:
            reasons = [Reason(code="COVERAGE_UNKNOWN", layer="adapter")]
    result = build_result(
        items=items,
        reasons=reasons,
        scope=_scope(spec, call),
        read=_header(started_at),
        proof=Proof(level=level, end=end, basis="declared"),
    )
    return with_ids(result, _ids_in(items, spec))


def _ids_in(items: Sequence[Any], spec: ReadSpec) -> list[Any]:
    """Returns the ids of records by the field that the declaration names; none where a record has none."""
    ids = [i[spec.id] for i in items if (type(i) is dict or isinstance(i, Mapping)) and spec.id in i]
    return ids if len(ids) == len(items) else []


def _by_its_ids(result: ReadResult, spec: ReadSpec) -> ReadResult:
    """Returns a result with the ids of its records as they are now, by the declared field.

    Its records are kept by reference, and the list may be one that a tool goes on to change: what comes to stand in it
    later was not read. A reader that took the ids itself knows them better.
    """
    if result._ids is not None or not result.items:
        return result
    ids = result.ids if spec.id == "id" else _ids_in(result.items, spec)
    return with_ids(result.model_copy(), ids or result.ids)


def _was_unbounded(items: list[Any], spec: ReadSpec, call: Call) -> bool:
    """Tells whether the call asked for everything: no later page, its key, and no more records than came back."""
    size = spec.size_of(call.asked)
    return spec.asks_for_all(call.asked) and (size is None or len(items) < size)


def _items(value: Any, spec: ReadSpec) -> list[Any] | None:
    """Returns the records in a bare value; nothing when it holds none that could be counted on.

    What is made on the way, such as a generator, is not run here: its reads would not be in the scope of the call.
    """
    if value is None:
        return None if spec.intent != "lookup" else []
    if isinstance(value, _LISTS):
        items: list[Any] = jsonable(list(value))
        return items
    if isinstance(value, Iterator | AsyncIterator | Awaitable):
        return None
    return [jsonable(value)]


def _is_record(value: Any) -> bool:
    plain = isinstance(value, Mapping | str | bytes | int | float | BaseModel)
    return plain or (dataclasses.is_dataclass(value) and not isinstance(value, type))


def _answers_its_key(items: list[Any], spec: ReadSpec, call: Call) -> bool:
    """A lookup's returned record is complete for its key: exactly one record, and it bears the key that was asked."""
    if spec.intent != "lookup" or spec.key is None or call.args.get(spec.key) is None or len(items) != 1:
        return False
    record, field = items[0], (spec.filters or {}).get(spec.key, spec.key)
    if not isinstance(record, Mapping):
        return False
    held = [record[name] for name in (field, spec.key, spec.id) if name in record]
    return any(json_equal(v, call.args[spec.key]) for v in held)


def kind_of(error: BaseException) -> str:
    """Returns the kind of an error as it may stand in a log: its class, and nothing that it says."""
    return printable_name(type(error).__name__)


def _scope(spec: ReadSpec, call: Call) -> Scope:
    return Scope(resource=spec.resource, filters=spec.filters_of(call.args), intent=spec.intent)


def _header(started_at: datetime | None) -> ReadHeader:
    now = datetime.now(UTC)
    return ReadHeader(id=new_read_id(), adapter="tool", started_at=started_at or now, finished_at=now)
