"""Comparing what was asked and what came out with what was expected. Differences name places, as short texts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from unabridged.contract import id_key, json_equal
from unabridged.reading import Request

from .exchanges import ExpectedRequest

_DEFAULT_PORTS = {"http": 80, "https": 443}


def request_differences(expected: ExpectedRequest, request: Request) -> list[str]:
    """Returns how a request differs from the one that a script expects: the names, never the values that were sent."""
    found: list[str] = []
    sent = _grouped(request.pairs)
    for name, value in (expected.query or {}).items():
        if not _same_texts(value, sent.get(name, [])):
            found.append(f"query {name!r} {_absent_or_other(value, name in sent)}")
    fields = _grouped((name.lower(), value) for name, value in request.headers)
    for name, value in (expected.headers or {}).items():
        if not _same_texts(value, fields.get(name.lower(), [])):
            found.append(f"header {name!r} {_absent_or_other(value, name.lower() in fields)}")
    if expected.body is not None and not subset(expected.body, _decoded(request.body)):
        found.append("body does not hold what is expected")
    if expected.url is not None and not _same_address(expected.url, request.full_url):
        found.append("url is another one")
    return found


def subset(expected: Any, actual: Any) -> bool:
    """Tells whether `actual` holds `expected`: objects may hold more, lists are as long, null means absent or null."""
    if isinstance(expected, Mapping):
        return isinstance(actual, Mapping) and all(
            (actual.get(k) is None) if v is None else (k in actual and subset(v, actual[k]))
            for k, v in expected.items()
        )
    if isinstance(expected, list):
        return (
            isinstance(actual, list)
            and len(actual) == len(expected)
            and all(subset(e, a) for e, a in zip(expected, actual, strict=True))
        )
    return json_equal(expected, actual)


def as_text(value: Any) -> str:
    """Returns a value as it stands in a query: texts as they are, everything else as compact JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def same_set(expected: Iterable[Any], actual: Iterable[Any]) -> bool:
    """Tells whether two lists hold the same JSON values, whatever their order and however often."""
    return {id_key(v) for v in expected} == {id_key(v) for v in actual}


def missing_codes(expected: Sequence[str], actual: Sequence[str]) -> list[str]:
    """Returns the expected codes that no actual `CODE` or `CODE:detail` meets."""
    return [e for e in expected if not any(_meets(e, a) for a in actual)]


def extra_codes(expected: Sequence[str], actual: Sequence[str]) -> list[str]:
    """Returns the actual codes that nothing expects."""
    return [a for a in actual if not any(_meets(e, a) for e in expected)]


def holds_text(document: Any, text: str) -> bool:
    """Tells whether a text stands in a document: in a key, in a value, or in its serialised form."""
    if isinstance(document, str):
        return text in document
    if isinstance(document, Mapping):
        return any(holds_text(k, text) or holds_text(v, text) for k, v in document.items()) or _serialised(
            document, text
        )
    if isinstance(document, list | tuple):
        return any(holds_text(v, text) for v in document)
    return text in as_text(document) if isinstance(document, int | float) else False


def _serialised(document: Mapping[Any, Any], text: str) -> bool:
    return text in json.dumps(document, ensure_ascii=False, default=str)


def _meets(expected: str, actual: str) -> bool:
    return expected in (actual, actual.partition(":")[0])


def _grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in pairs:
        found.setdefault(name, []).append(value)
    return found


def _same_texts(expected: Any, sent: list[str]) -> bool:
    if expected is None:
        return not sent
    if isinstance(expected, list) and [as_text(v) for v in expected] == sent:
        return True
    return sent == [as_text(expected)]


def _absent_or_other(expected: Any, is_there: bool) -> str:
    if not is_there:
        return "is absent"
    return "is there and must not be" if expected is None else "has another value"


def _decoded(body: bytes | None) -> Any:
    if body is None:
        return None
    try:
        return json.loads(body)
    except ValueError:
        return body.decode(errors="replace")


def _same_address(expected: str, actual: str) -> bool:
    left, right = urlsplit(expected), urlsplit(actual)
    if _place(left) != _place(right):
        return False
    sent = parse_qsl(right.query, keep_blank_values=True)
    return all(pair in sent for pair in parse_qsl(left.query, keep_blank_values=True))


def _place(parts: Any) -> tuple[Any, ...]:
    port = parts.port or _DEFAULT_PORTS.get(parts.scheme)
    return parts.scheme, (parts.hostname or "").lower(), port, parts.path or "/"
