"""`mcp_result` and `read_mcp_tool`: what a tool's result says about its coverage, which is mostly nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from unabridged._ambient import record
from unabridged.contract import (
    ContractViolation,
    ReadHeader,
    ReadResult,
    Reason,
    Result,
    Scope,
    SourceOutcome,
    build_result,
    json_equal,
    new_read_id,
    with_ids,
)
from unabridged.contract.asked import may_be_all, size_in
from unabridged.profiles import Profile, load_profile
from unabridged.reading import Clock, SystemClock, judge_value
from unabridged.reading.query import Query

from .exchange import Broken, exchanged
from .foreign import is_wire, taken_over

if TYPE_CHECKING:
    from mcp import ClientSession

Judge = Profile | str | Callable[[Any, Any], ReadResult]
_CODES: Final[dict[str, tuple[str, str]]] = {
    "timeout": ("SOURCE_UNAVAILABLE", "timeout"),
    "deadline": ("TIME_BUDGET_EXCEEDED", "max_seconds"),
    "disconnect": ("SOURCE_UNAVAILABLE", "disconnect"),
    "refused": ("SOURCE_UNAVAILABLE", "error_in_body"),
    "malformed": ("PROTOCOL_ANOMALY", "malformed_page"),
}


def mcp_result(
    result: Any,
    *,
    resource: str,
    judge: Judge | None = None,
    filters: Mapping[str, Any] | None = None,
    call: Any = None,
    arguments: Mapping[str, Any] | None = None,
    clock: Clock | None = None,
) -> ReadResult:
    """Returns what the result of a tool call says about its coverage. Records nothing.

    The protocol's own fields say nothing about it: `isError` true is unavailable, `isError` false and `resultType`
    `complete` prove nothing. `structuredContent` that is a wire document `unabridged/1` speaks for itself; any other
    value goes to the judge, and without one the read is unknown. Where a text beside it is JSON that says otherwise (a
    wire document of another status or other items, or one that the same profile finds less complete), the read is
    partial (`PROTOCOL_ANOMALY:contradictory_signals`): a client that shows the text alone would be told otherwise.

    Args:
        result: a `CallToolResult` of the SDK, version 1 or 2.
        resource: the name of what was read.
        judge: a profile, the name of a shipped one, or a function `(value, call) -> ReadResult`. It gets the
            structured content, else the text where that is all there is.
        filters: what was asked for, as field and value.
        call: handed to a judge that is a function.
        arguments: what the tool was called with. Of names such as `limit`, `page` and `cursor`, unless they are
            filters, a profile hears how many records were asked for and from where on; the last page is not the list.
        clock: the machine's clock when not given.
    """
    time = clock or SystemClock()
    asked = Query(resource, filters=dict(filters or {}))
    return _Reading(asked, time.now(), time, arguments or {}).judged(result, judge, call)


async def read_mcp_tool(
    session: ClientSession,
    name: str,
    arguments: Mapping[str, Any] | None = None,
    *,
    resource: str,
    judge: Judge | None = None,
    filters: Mapping[str, Any] | None = None,
    timeout_s: float | None = None,
    clock: Clock | None = None,
) -> ReadResult:
    """Calls a tool once and returns what its result says about its coverage, as `mcp_result` does.

    What went wrong is a result, not an error: a server that is gone, slow or refuses the call makes the read
    unavailable. The result records itself in the session in scope. Nothing is ever sent twice: whether the tool only
    reads is not known here.

    Raises:
        InvalidInput: an argument breaks a rule.
    """
    time = clock or SystemClock()
    reading = _Reading(Query(resource, filters=dict(filters or {})), time.now(), time, arguments or {})
    try:
        answer = await exchanged(lambda: session.call_tool(name, dict(arguments or {})), timeout_s=timeout_s)
    except BaseException:
        record(reading.unavailable("SOURCE_UNAVAILABLE", "cancelled", layer="client"))
        raise
    if isinstance(answer, Broken):
        native = None if answer.code is None else {"code": answer.code}
        result = reading.unavailable(*_CODES[answer.kind], native=native)
    else:
        result = reading.judged(answer, judge, None)
    record(result)
    return result


class _Reading:
    """One call of a tool, being judged."""

    def __init__(self, query: Query, started_at: datetime, clock: Clock, arguments: Mapping[str, Any]) -> None:
        self._query = query
        self._paging = {name: value for name, value in arguments.items() if name not in query.filters}
        self._started_at = started_at
        self._clock = clock

    def judged(self, answer: Any, judge: Judge | None, call: Any) -> ReadResult:
        if _said(answer, "is_error", "isError") is not False:
            return self._error(answer)
        if _said(answer, "result_type", "resultType") not in (None, "complete"):
            return self.unavailable("JOB_NOT_FINISHED", None)
        value = _said(answer, "structured_content", "structuredContent")
        if is_wire(value):
            return self._unless_denied(self._stated(value), answer, judge)
        if judge is None:
            return self._unknown(_records(value) if value is not None else _blocks(answer))
        if value is None:
            return self._by_judge(_only_text(answer), judge, call)
        return self._unless_denied(self._by_judge(value, judge, call), answer, judge)

    def _unless_denied(self, found: ReadResult, answer: Any, judge: Judge | None) -> ReadResult:
        """Returns what the structured content says, unless a text beside it says otherwise."""
        if not found.complete or not any(self._denies(text, found, judge) for text in _texts(answer)):
            return found
        reason = Reason(code="PROTOCOL_ANOMALY", detail="contradictory_signals")
        made = build_result(
            items=found.items, reasons=[reason], scope=found.scope, read=found.read, total=found.total,
            consistency=found.consistency, item_cuts=found.item_cuts, warnings=found.warnings,
            sources=tuple(_doubted(source) for source in found.sources),
        )  # fmt: skip
        return with_ids(made, found.ids)

    def _denies(self, text: str, found: ReadResult, judge: Judge | None) -> bool:
        """Tells whether a text is JSON that says less, or something else, than a complete read."""
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return False
        if is_wire(value):
            said = self._stated(value)
        elif isinstance(value, Mapping) and judge is not None and (isinstance(judge, Profile) or not callable(judge)):
            said = self._by_judge(value, judge, None)
            if said.items is None:
                return False  # a summary in words of its own
        else:
            return False
        return not said.complete or not json_equal(said.items, found.items)

    def _error(self, answer: Any) -> ReadResult:
        """A tool that failed may say why in a wire document of its own; it has no items either way."""
        value = _said(answer, "structured_content", "structuredContent")
        if is_wire(value) and value.get("status") == "unavailable":
            return self._stated(value)
        return self.unavailable("SOURCE_UNAVAILABLE", "tool_failed")

    def _stated(self, document: Any) -> ReadResult:
        try:
            return taken_over(document, resource=self._query.resource, filters=self._query.filters)
        except ContractViolation:
            return self.unavailable("PROTOCOL_ANOMALY", "malformed_page")

    def _by_judge(self, value: Any, judge: Judge, call: Any) -> ReadResult:
        if callable(judge) and not isinstance(judge, Profile):
            try:
                judged = judge(value, call)
            except Exception:  # noqa: BLE001 - the judge is the user's code: whatever it raises, the read proves nothing
                return self.unavailable("SOURCE_UNAVAILABLE", "judge_failed")
            if not isinstance(judged, Result):
                return self.unavailable("SOURCE_UNAVAILABLE", "judge_failed")
            return judged
        if value is None:
            return self.unavailable("PROTOCOL_ANOMALY", "malformed_page")
        profile = load_profile(judge)
        return judge_value(
            profile,
            value,
            resource=self._query.resource,
            filters=self._query.filters,
            page_size=size_in(self._paging),
            from_the_start=may_be_all(self._paging, origin=getattr(profile.walk, "origin", None)),
        )

    def _unknown(self, items: list[Any]) -> ReadResult:
        reason = Reason(code="COVERAGE_UNKNOWN", layer="adapter")
        result = build_result(items=items, reasons=[reason], scope=self._scope, read=self._header)
        ids = [i["id"] for i in items if isinstance(i, Mapping) and "id" in i]
        return with_ids(result, ids if len(ids) == len(items) else [])

    def unavailable(
        self, code: str, detail: str | None, *, layer: str = "source", native: Mapping[str, Any] | None = None
    ) -> ReadResult:
        stated = {"code": code, "detail": detail, "layer": layer, "native": native}
        reason = Reason.model_validate(stated)
        return build_result(items=None, reasons=[reason], scope=self._scope, read=self._header)

    @property
    def _scope(self) -> Scope:
        return Scope(resource=self._query.resource, filters=dict(self._query.filters))

    @property
    def _header(self) -> ReadHeader:
        now = self._clock.now()
        return ReadHeader(id=new_read_id(), adapter="mcp/1", started_at=self._started_at, finished_at=now, requests=1)


def _said(answer: Any, *spellings: str) -> Any:
    """Returns an attribute in the spelling of either version of the SDK; a value that is missing is nothing."""
    for name in spellings:
        if hasattr(answer, name):
            return getattr(answer, name)
    return None


def _records(value: Any) -> list[Any]:
    """A list is its records, also where a server wrapped it because structured content has to be an object."""
    if isinstance(value, Mapping) and list(value) == ["result"] and isinstance(value["result"], list):
        return value["result"]
    return value if isinstance(value, list) else [value]


def _blocks(answer: Any) -> list[Any]:
    return [block.model_dump(mode="json", by_alias=True, exclude_none=True) for block in answer.content or ()]


def _texts(answer: Any) -> list[str]:
    found = (getattr(block, "text", None) for block in answer.content or ())
    return [text for text in found if isinstance(text, str)]


def _doubted(source: SourceOutcome) -> SourceOutcome:
    return source.model_copy(update={"status": "partial", "reasons": (*source.reasons, "PROTOCOL_ANOMALY")})


def _only_text(answer: Any) -> str | None:
    """Returns the text of a result that is one text; several pieces are not one answer."""
    blocks = list(answer.content or ())
    text = getattr(blocks[0], "text", None) if len(blocks) == 1 else None
    return text if isinstance(text, str) else None
