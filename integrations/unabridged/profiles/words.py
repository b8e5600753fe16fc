"""A profile in words: how it goes on, when its end is proven, what makes it partial. Generated, so it cannot drift.

The words follow the document of a profile (`PROFILES.md` 1), not its classes: what is not said there is not said here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

Document = Mapping[str, Any]

_CAPS: Final = {
    "items": "a read brings {limit} records",
    "window": "the offset and the page together reach {limit}",
    "page": "a page of {limit} records names no further page",
}
_COUNTS: Final = {
    "exact": "exact: it must equal the ids that were read",
    "lower_bound": "a lower bound",
    "estimate": "an estimate",
    "capped": "capped",
    "page": "the number of records on the page, and proves nothing",
    "before_permissions": "taken before permissions: more counted than shown means hidden records",
}
_VISIBLE: Final = {
    "all": "the service shows every record of the scope",
    "caller": "what the caller may not see is missing without a word",
    "unknown": "whose records these are is not known",
}


def family(profile: Document) -> str:
    """Returns the walk family; of a combinator also what it combines, as `fanout of token`."""
    walk = profile["walk"]
    by = str(walk["by"])
    inner = walk.get("inner")
    match by:
        case "fanout" | "partition" if isinstance(inner, Mapping):
            return f"{by} of {family(inner)}"
        case "job" if isinstance(inner, Mapping):
            return f"job, then {inner.get('by', 'single')}"
        case _:
            return by


def evidence(profile: Document) -> str:
    """Returns what the profile rests on: `server`, `recording` or `document`."""
    found = profile.get("evidence", "document")
    return str(found["kind"]) if isinstance(found, Mapping) else str(found)


def evidence_source(profile: Document) -> str:
    """Returns the address and the day of the evidence, or nothing."""
    found = profile.get("evidence")
    if not isinstance(found, Mapping):
        return ""
    return ", ".join([str(found["url"])] * ("url" in found) + [f"read {found['read']}"] * ("read" in found))


def goes_on(profile: Document) -> str:
    """Returns how the next page is asked for."""
    return _goes_on(profile["walk"])


def end_rule(profile: Document) -> tuple[str, ...]:
    """Returns when the end is proven, and what is no end although it may look like one."""
    return tuple(_end(profile["walk"], profile))


def incomplete_when(profile: Document) -> tuple[str, ...]:
    """Returns what in a response makes a read incomplete: signals, errors, dead cursors, cuts in records."""
    return tuple(_incomplete(profile))


def caps(profile: Document) -> tuple[str, ...]:
    """Returns the silent caps of the service, and those of the walk."""
    found = [
        f"RESULT_LIMIT_REACHED where {_CAPS[cap['on']].format(limit=cap['limit'])}, "
        "unless an exact count equals the ids that were read"
        for cap in profile.get("caps", ())
    ]
    walk = profile["walk"]
    if walk["by"] == "partition":
        found.append(f"a part that counts {walk['cap']} is split; at its smallest it is RESULT_LIMIT_REACHED")
    return (*found, *(_inside(caps, walk)))


def remarks(profile: Document) -> tuple[str, ...]:
    """Returns what else governs trust: the count, the order, the snapshot, the scope, the cursors."""
    return tuple(_remarks(profile))


def condition(when: Any) -> str:
    """Returns a condition as the end of a sentence: `is not empty`."""
    if when == "nonempty":
        return "is not empty"
    if when == "absent":
        return "is missing"
    (name, value), *_ = when.items()
    match name:
        case "equals":
            return f"is {_value(value)}"
        case "in":
            return f"is one of {', '.join(_value(one) for one in value)}"
        case "gt":
            return f"is above {value}"
        case _:
            return "holds"


def _code_span(path: Any) -> str:
    """Returns a path between backticks, more of them where it holds some itself."""
    text = str(path)
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def _value(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _place(send: Any) -> str:
    if not isinstance(send, Mapping) or not send:
        return "the request"
    (kind, name), *_ = send.items()
    return {"query": f"the parameter `{name}`", "body": f"`{name}` of the body"}.get(kind, f"the header `{name}`")


def _inside(rule: Any, walk: Document) -> tuple[str, ...]:
    """Returns what a rule says of the profile inside a combinator."""
    inner = walk.get("inner")
    return tuple(rule(inner)) if isinstance(inner, Mapping) and "walk" in inner else ()


def _goes_on(walk: Document) -> str:
    match walk["by"]:
        case "token":
            return f"{_code_span(walk['read'])} of a page is sent as {_place(walk['send'])}{_carried(walk)}"
        case "link" if walk["where"] == "header":
            return f"the Link header names the next page, with the relation `{walk.get('rel', 'next')}`"
        case "link":
            return f"{_code_span(walk['path'])} of the body is the address of the next page"
        case "key":
            return f"`{walk['from_item']}` of the last record is sent as {_place(walk['send'])}{_carried(walk)}"
        case "offset":
            unit = "records" if walk["unit"] == "item" else "pages"
            return f"{unit} are counted from {walk['origin']}, and the number is sent as {_place(walk['send'])}"
        case "single":
            return "there is one answer, and no way on from it"
        case "job":
            return f"the request is repeated while `{walk['state']}` is one of {_list(walk['running'])}; {_then(walk)}"
        case "stream":
            return "one body holds a record a line"
        case "range":
            return f"ranges of {walk['size']} {walk['unit']} are asked for, one after the other"
        case "fanout":
            return f"{len(walk['over'])} sources are read ({', '.join(walk['over'])}): {_first(walk)}"
        case "partition":
            return (
                f"`{walk['axis']}` is split until each part is below {walk['cap']}, each part is read: {_first(walk)}"
            )
        case _:
            return f"a walk by {walk['by']}"


def _carried(walk: Document) -> str:
    return "".join(f", {_code_span(one['read'])} as {_place(one['send'])}" for one in walk.get("carry", ()))


def _list(values: Any) -> str:
    return ", ".join(_value(one) for one in values)


def _first(walk: Document) -> str:
    return goes_on(walk["inner"])


def _then(walk: Document) -> str:
    inner = walk.get("inner", {"by": "single"})
    return f"then {_goes_on(inner)}"


def _end(walk: Document, profile: Document) -> Iterator[str]:
    match walk["by"]:
        case "token":
            yield from _token_end(walk)
        case "link":
            yield "the end is proven when a page names no live link to a next one"
            if walk.get("live_flag"):
                yield f"a link counts as live only where its attribute `{walk['live_flag']}` says so"
        case "key" | "offset":
            yield from _counted_end(walk, profile)
        case "single":
            yield from _single_end(walk, profile)
        case "job":
            yield from _job_end(walk)
        case "stream":
            last = walk.get("terminator")
            yield (
                f"the end is proven by a last line for which {_code_span(last)} is true" if last else "no end is stated"
            )
        case "range":
            where = f"`{walk['total']}`" if walk.get("total") else "the total of `Content-Range`"
            yield f"the end is proven when the ranges cover {where} without a gap"
        case "fanout":
            yield "the whole is complete when every source is"
            yield from _inside(end_rule, walk)
        case "partition":
            yield "the whole is complete when every part is, and no part stands at the cap"
            yield from _inside(end_rule, walk)
        case _:
            yield f"a walk by {walk['by']} ends as its family says"


def _token_end(walk: Document) -> Iterator[str]:
    read, flag = _code_span(walk["read"]), _code_span(walk.get("more_flag"))
    ends = dict.fromkeys(walk["ends_on"])
    if walk.get("empty_token") == "end":
        ends["empty"] = None
    if walk.get("repeated_token") == "end":
        ends["same_token"] = None
    words = {
        "absent": f"{read} is missing",
        "null": f"{read} is null",
        "zero": f"{read} is 0",
        "empty": f"{read} is an empty text",
        "same_token": "the token that was sent comes back",
        "empty_page": "a page holds no record",
        "flag": f"{flag} is false",
    }
    yield _proven([words[end] for end in ends])
    if walk.get("more_flag"):
        yield f"{flag} true without a token is PROTOCOL_ANOMALY:continuation_missing"
    if "empty_page" not in ends:
        yield "an empty page with a token is not the end"
    if walk.get("empty_token") == "cursor":
        yield "an empty text is a token like any other"
    elif walk.get("empty_token") == "illegal":
        yield "an empty text as token is PROTOCOL_ANOMALY:illegal_token"
    if walk.get("repeated_token") == "anomaly":
        yield "a token that comes back is PROTOCOL_ANOMALY:cursor_repeated"
    elif walk.get("repeated_token") == "progress":
        yield "a token may stay the same while pages bring new ids"


def _counted_end(walk: Document, profile: Document) -> Iterator[str]:
    total = walk.get("total") or profile.get("count", {}).get("path")
    words = {
        "empty_page": "a page holds no record",
        "short_page": "a page holds fewer records than were asked for",
        "flag": f"`{walk['more_flag']}` is false" if "more_flag" in walk else f"`{walk.get('last_flag')}` is true",
        "total": f"the records reach `{total}`",
    }
    yield _proven([words[end] for end in walk["ends_on"]])
    if "short_page" not in walk["ends_on"]:
        yield "a short page is not the end"
    if "empty_page" not in walk["ends_on"]:
        yield "an empty page is not the end by itself"
    is_unique = walk.get("unique") if walk["by"] == "key" else (profile.get("order") or {}).get("unique")
    if not is_unique:
        yield "the order is not unique: more than one page proves nothing unless an exact count equals the ids"


def _single_end(walk: Document, profile: Document) -> Iterator[str]:
    ways = []
    if walk.get("cap"):
        ways.append(f"it holds fewer than {walk['cap']} records")
    if (profile.get("count") or {}).get("kind") == "exact":
        ways.append(f"`{profile['count']['path']}` equals the ids that were read")
    if walk.get("exact_flag"):
        ways.append(f"`{walk['exact_flag']}` is true")
    if walk.get("overfetch"):
        ways.append(f"{walk['overfetch']} more were asked for and did not come")
    yield _proven(ways)
    if walk.get("exact_flag"):
        yield f"`{walk['exact_flag']}` not true is APPROXIMATE_METHOD:top_k, also below the cap"


def _job_end(walk: Document) -> Iterator[str]:
    yield f"the rows count once `{walk['state']}` is one of {_list(walk['ok'])}; those of a running job are ignored"
    if walk.get("partial"):
        yield f"{_list(walk['partial'])} keeps the rows, with JOB_NOT_FINISHED"
    if walk.get("failed"):
        yield f"{_list(walk['failed'])} is unavailable, with JOB_NOT_FINISHED"
    if "inner" in walk:
        yield from _end(walk["inner"], {"walk": walk["inner"]})
    else:
        yield "the finished job proves the end"


def _proven(ways: list[str]) -> str:
    if not ways:
        return "the service states no end: what was read proves nothing about the rest"
    return f"the end is proven when {' or '.join(ways)}"


def _incomplete(profile: Document) -> Iterator[str]:
    for signal in profile.get("signals", ()):
        if "code" in signal:
            yield f"{_code(signal)} where {_code_span(signal['path'])} {condition(signal['when'])}"
    for error in profile.get("errors", ()):
        yield f"{_code(error)} where {_code_span(error['path'])} {condition(error['when'])}; the page is discarded"
    for dead in profile.get("expired", ()):
        marks = [f"the status is {dead['status']}"] if "status" in dead else []
        marks += [f"{_code_span(dead['path'])} {condition(dead['when'])}"] if "path" in dead else []
        then = "; the walk begins anew once" if dead.get("then") == "restart_once" else ""
        yield f"CONTINUATION_EXPIRED where a cursor was sent and {' and '.join(marks)}{then}"
    for cut in profile.get("item_cuts", ()):
        mark = condition(cut["when"]) if "when" in cut else f"holds {cut['list_len']} entries or more"
        yield f"ITEM_TRUNCATED where {_code_span(cut['path'])} of a record {mark} ({cut['why']})"
    for scope in profile.get("scope", ()):
        if "warning" not in scope:
            yield f"{scope.get('code', 'SCOPE_NARROWED')}: {_scope(scope)}"
    yield from _inside(incomplete_when, profile["walk"])


def _code(rule: Document) -> str:
    return f"{rule['code']}:{rule['detail']}" if rule.get("detail") else str(rule["code"])


def _scope(scope: Document) -> str:
    limit = ", ".join(f"{key} {_value(scope[key])}" for key in ("window", "excludes") if key in scope)
    lifted = scope.get("unless")
    return (
        f"{limit}, unless {_code_span(lifted['path'])} of the request {condition(lifted['when'])}" if lifted else limit
    )


def _remarks(profile: Document) -> Iterator[str]:
    count = profile.get("count")
    if count:
        kind = _COUNTS.get(count.get("kind", ""), "of the kind that the body says")
        yield f"{_code_span(count['path'])} is a count of records, {kind}"
    if profile.get("snapshot"):
        yield f"{_code_span(profile['snapshot']['path'])} must be the same on every page: one snapshot"
    for signal in profile.get("signals", ()):
        if "warning" in signal:
            yield f"warning {signal['warning']} where {_code_span(signal['path'])} {condition(signal['when'])}"
    for scope in profile.get("scope", ()):
        if "warning" in scope:
            yield f"warning {scope['warning']}: {_scope(scope)}"
    if profile.get("duplicates") == "expected":
        yield "records may come more than once"
    if "id" in profile and profile["id"] is None:
        yield "records have no identity: no duplicate and no count can be checked"
    if profile["walk"]["by"] not in ("fanout", "partition") or "visibility" in profile:
        yield _VISIBLE[profile.get("visibility", "caller")]
    cursor = profile.get("cursor")
    if cursor:
        lives = f"lives {cursor['ttl_s']} s" if cursor.get("ttl_s") else "has no stated life"
        kept = "may outlive its session" if cursor.get("resumable") else "never outlives its session"
        yield f"a cursor {lives}, {kept}" + (", and freezes what it walks" if cursor.get("freezes") else "")
    yield from _inside(remarks, profile["walk"])
