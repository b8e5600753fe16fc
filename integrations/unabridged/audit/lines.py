"""The form of a line, written and read.

    {"prev":"<64 hex>","ref":"<32 hex>","n":7,"kind":"intent","at":"2026-11-30T09:00:00.000000Z",
     "process":"<16 hex>","action":"archive_orders",...}

stands on one line of ASCII. `prev` is the SHA-256 of the lines of its segment before it, see `chain`. Keys come in one
order and are left out where there is nothing to say. No text needs an escape, so the form is a regular expression,
and a line that matches it is JSON, canonical, and free of values.

Three kinds of lines are the log's own and have no `ref`: `file` opens a file of the set, `turn` closes one, and `seal`
stands behind bytes that a crash left, and says how many they are and what their SHA-256 is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from .events import MAX_LISTED, AuditEvent

MAX_LINE: Final = 1 << 19
"""No line is longer, in bytes."""
NO_LINE: Final = "0" * 64
"""What the first line of all is linked to."""
START: Final = b'{"prev":"'

_TOKEN: Final = r'"[A-Za-z0-9_.:\-<>]{1,64}+"'
"""A token, or `<text>` in place of what is none."""
_NAME: Final = r'"[A-Za-z_][A-Za-z0-9_.\-]{0,63}+"'
_PHRASE: Final = r'"[A-Za-z0-9_.:,;/()<>=+\- ]{1,120}+"'
_NUMBER: Final = r"(?:0|[1-9][0-9]{0,17}+)"
_COUNT: Final = r"[1-9][0-9]{0,14}+"
_AT: Final = r'"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z"'
_PROCESS: Final = r'"[0-9a-f]{16}"'


def _list(key: str, form: str) -> str:
    return rf'(?:,"{key}":\[{form}(?:,{form})*+\])?+'


def _maybe(key: str, form: str) -> str:
    return rf'(?:,"{key}":{form})?+'


_DIGEST: Final = rf'{_NAME}:"[0-9a-f<>tx]{{6,128}}+"'  # or `<text>`, as above
_DIGESTS: Final = rf'(?:,"digests":\{{{_DIGEST}(?:,{_DIGEST})*+\}})?+'
_STAMP: Final = rf'"at":{_AT},"process":{_PROCESS}'
_SUBJECT: Final = rf'"kind":"(?:intent|outcome|decision|approval)",{_STAMP},"action":{_TOKEN}' + _maybe(
    "session", r'"[0-9a-f]{32}"'
)
_REST: Final = "".join(
    [
        _maybe("verdict", _TOKEN),
        _list("codes", _TOKEN),
        _list("reads", _TOKEN),
        _maybe("unlisted", _COUNT),
        _list("fields", _NAME),
        _maybe("unnamed", _COUNT),
        _maybe("outcome", _TOKEN),
        _maybe("done", _NUMBER),
        _maybe("not_done", _NUMBER),
        _maybe("approver", _TOKEN),
        _maybe("why", _PHRASE),
        _DIGESTS,
    ]
)
_USUAL: Final = (
    rf',"verdict":{_TOKEN}{_list("codes", _TOKEN)}{_list("reads", _TOKEN)}{_list("fields", _NAME)}{_DIGESTS}',
    rf',"outcome":{_TOKEN}{_maybe("done", _NUMBER)}{_maybe("not_done", _NUMBER)}',
)
"""What most events say, looked for first: each is a case of the rest, found in half the time."""
_OWN: Final = "|".join(
    [
        rf'"kind":"(?P<opens>file)",{_STAMP},"log":"(?P<log>[0-9a-f]{{32}})","file":(?P<file>{_NUMBER})',
        rf'"kind":"(?P<closes>turn)",{_STAMP},"next":(?P<next>{_NUMBER})',
        rf'"kind":"(?P<seals>seal)",{_STAMP},"torn":(?P<torn>{_NUMBER}),"hash":"(?P<hash>[0-9a-f]{{64}})"',
    ]
)
_PREV: Final = r'\{"prev":"(?P<prev>[0-9a-f]{64})",'
_N: Final = r'"n":(?P<n>[1-9][0-9]{0,17}+),'
_EVENT_LINE: Final = re.compile(rf'{_PREV}"ref":"[0-9a-f]{{32}}",{_N}{_SUBJECT}{_REST}\}}\Z'.encode())
_OWN_LINE: Final = re.compile(rf"{_PREV}{_N}(?:{_OWN})\}}\Z".encode())
_EVENT_NAMES: Final = re.compile(rb'.{82}(.{32})","n":[0-9]++,"kind":"([a-z]++)".*?"action":"([^"]*+)"')
EVENTS: Final = re.compile(
    r'(?s:(?:\{"prev":".{64}","ref":".{32}","n":[1-9][0-9]*+,'
    rf"{_SUBJECT}(?:{'|'.join(_USUAL)}|{_REST})\}}\n)*+)".encode()
)
"""Lines of events, but for links, references and the length of numbers: whoever follows them looks at those."""


def event_tail(event: AuditEvent, session: str | None) -> str:
    """Returns what follows the process in the line of an event."""
    parts = [f',"action":"{event.action}"']
    add = parts.append
    if session is not None:
        add(f',"session":"{session}"')
    if event.verdict is not None:
        add(f',"verdict":"{event.verdict}"')
    if event.codes:
        add(_listed("codes", event.codes))
    if event.reads:
        add(_listed("reads", event.reads[:MAX_LISTED]))
        if len(event.reads) > MAX_LISTED:
            add(f',"unlisted":{len(event.reads) - MAX_LISTED}')
    if event.fields:
        add(_listed("fields", event.fields))
    if event.unnamed:
        add(f',"unnamed":{event.unnamed}')
    if event.outcome is not None:
        add(f',"outcome":"{event.outcome}"')
    if event.done is not None:
        add(f',"done":{event.done}')
    if event.not_done is not None:
        add(f',"not_done":{event.not_done}')
    if event.approver is not None:
        add(f',"approver":"{event.approver}"')
    if event.why is not None:
        add(f',"why":"{event.why}"')
    if event.digests:
        add(',"digests":{' + ",".join([f'"{name}":"{event.digests[name]}"' for name in sorted(event.digests)]) + "}")
    add("}")
    return "".join(parts)


def _listed(key: str, texts: tuple[str, ...]) -> str:
    return f',"{key}":["' + '","'.join(texts) + '"]'


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the right form."""

    prev: str
    n: int
    kind: str
    ref: str = ""
    action: str = ""
    log: str = ""
    file: int = 0
    next: int = 0
    torn: int = 0
    hash: str = ""


def parse(raw: bytes) -> Line | None:
    """Returns the parts of a line without its newline, or nothing when it has not the form."""
    if len(raw) > MAX_LINE or not raw.startswith(START):
        return None
    found = _EVENT_LINE.match(raw)
    if found is not None:
        names = _EVENT_NAMES.match(raw)
        assert names is not None
        ref, kind, action = (name.decode() for name in names.groups())
        return Line(found["prev"].decode(), int(found["n"]), kind, ref, action)
    found = _OWN_LINE.match(raw)
    if found is None:
        return None
    link = found["prev"].decode(), int(found["n"])
    if found["opens"]:
        return Line(*link, "file", log=found["log"].decode(), file=int(found["file"]))
    if found["closes"]:
        return Line(*link, "turn", next=int(found["next"]))
    return Line(*link, "seal", torn=int(found["torn"]), hash=found["hash"].decode())
