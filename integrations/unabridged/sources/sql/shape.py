"""What the text of a statement says about itself: whether it is one, whether it only reads, and where it cuts.

The text is looked at and never changed. It is no parser: a database refuses by its own rights and its own read-only
transaction what slips through here. Where two readings of a text are possible, the worse one counts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Literal

from unabridged.contract.errors import InvalidInput

Family = Literal["postgresql", "mysql", "sqlite"]
FIRST_WORDS: Final[dict[Family, frozenset[str]]] = {
    "postgresql": frozenset({"SELECT", "WITH", "VALUES", "TABLE"}),
    "mysql": frozenset({"SELECT", "WITH", "VALUES", "TABLE", "EXPLAIN"}),
    "sqlite": frozenset({"SELECT", "WITH", "VALUES", "EXPLAIN"}),
}
"""What a statement that reads begins with. What may still write (`WITH x AS (DELETE ...)`) the database refuses."""
_ACTS: Final[dict[Family, re.Pattern[str]]] = {
    "postgresql": re.compile(
        r"LO_(?!GET)\w+|LOWRITE|DBLINK\w*|SET_CONFIG|PG_NOTIFY|PG_PROMOTE|PG_RELOAD_CONF|PG_ROTATE_LOGFILE\w*"
        r"|PG_(?:START|STOP)_BACKUP|PG_BACKUP_\w+|PG_WAL_REPLAY_(?:PAUSE|RESUME)|PG_STAT_STATEMENTS_RESET|PG_LOG_\w+"
        r"|PG_(?:TERMINATE|CANCEL)_BACKEND|PG_(?:TRY_)?ADVISORY_\w+|PG_SWITCH_WAL|PG_CREATE_\w+|PG_DROP_\w+"
        r"|PG_FILE_\w+|PG_LOGICAL_\w+|PG_REPLICATION_\w+|PG_STAT_RESET\w*|PG_EXPORT_SNAPSHOT|QUERY_TO_XML\w*",
        re.IGNORECASE,
    ),
    "mysql": re.compile(r"GET_LOCK|RELEASE_\w*LOCKS?|SETVAL|NEXTVAL", re.IGNORECASE),
    "sqlite": re.compile(r"LOAD_EXTENSION|WRITEFILE|EDIT|FTS3_TOKENIZER", re.IGNORECASE),
}
"""Functions that act, and that a read-only transaction does not stop on every server."""
_LOCKS: Final = frozenset(
    {("FOR", "UPDATE"), ("FOR", "SHARE"), ("FOR", "NO"), ("FOR", "KEY"), ("LOCK", "IN"), ("SKIP", "LOCKED")}
)
"""A read that locks sees no snapshot on InnoDB, and one that skips what is locked leaves rows out in silence."""
_LIVE: Final[dict[Family, frozenset[str]]] = {
    "postgresql": frozenset(),
    "mysql": frozenset({"INFORMATION_SCHEMA", "PERFORMANCE_SCHEMA"}),
    "sqlite": frozenset(),
}
_JOIN_WORDS: Final = frozenset({"JOIN", "CROSS", "INNER", "LEFT", "RIGHT", "FULL", "NATURAL", "STRAIGHT_JOIN"})
_WRITES: Final = frozenset({"INSERT", "UPDATE", "DELETE", "MERGE", "REPLACE"})

_BLANKS: Final = r"(?P<blank>[ \t\n\r\f\v]+)"
# As the databases have it, any character outside of ASCII is one of a name, a blank of Unicode too.
_WORD: Final = r"(?P<word>[A-Za-z_\x80-\U0010ffff][A-Za-z0-9_$\x80-\U0010ffff]*)"
_NUMBER: Final = r"(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)"
_BIND: Final = r"(?P<bind>%\(\w+\)s|%s|\?|(?<![:\w]):[^\W\d]\w*)"
_MARK: Final = r"(?P<mark>%%|.)"
_PLAIN: Final = r"'(?:[^']|'')*(?:'|\Z)"
_BACKSLASHED: Final = r"'(?:[^'\\]|\\.|'')*(?:'|\Z)"
_DOUBLE: Final = r'"(?:[^"]|"")*(?:"|\Z)'
_ESCAPED: Final = r'[uU]&"(?:[^"]|"")*(?:"|\Z)'
_DOUBLE_BACKSLASHED: Final = r'"(?:[^"\\]|\\.|"")*(?:"|\Z)'
_TICKS: Final = r"`(?:[^`]|``)*(?:`|\Z)"
_BRACKETS: Final = r"\[[^\]]*(?:\]|\Z)"
_DOLLARS: Final = r"\$(?P<tag>(?:[A-Za-z_\x80-\U0010ffff][A-Za-z0-9_\x80-\U0010ffff]*)?)\$.*?(?:\$(?P=tag)\$|\Z)"
_LINE: Final = r"--[^\n]*"
_POSTGRESQL_LINE: Final = r"--[^\n\r]*"
_MYSQL_LINE: Final = r"--(?=[ \t\n\r\f\v]|\Z)[^\n]*|\#[^\n]*"
_BLOCK: Final = r"/\*.*?(?:\*/|\Z)"
_LIMIT_ENDS: Final = frozenset({")", ";", "OFFSET", "FOR", "FETCH", ","})
_NUMBER_ENDS: Final = _LIMIT_ENDS | {"LIMIT", "ROW", "ROWS"}
_NAME_QUOTES: Final = frozenset('"`[')


def _reader(comments: str, *quoted: str) -> re.Pattern[str]:
    parts = (f"(?P<comment>{comments})", f"(?P<quoted>{'|'.join(quoted)})", _BLANKS, _WORD, _NUMBER, _BIND, _MARK)
    return re.compile("|".join(parts), re.DOTALL)


_READINGS: Final[dict[Family, tuple[re.Pattern[str], ...]]] = {
    "postgresql": (
        _reader(f"{_POSTGRESQL_LINE}|{_BLOCK}", f"[eE]{_BACKSLASHED}", _PLAIN, _ESCAPED, _DOUBLE, _DOLLARS),
        _reader(f"{_POSTGRESQL_LINE}|{_BLOCK}", _BACKSLASHED, _ESCAPED, _DOUBLE, _DOLLARS),
    ),
    "mysql": (
        _reader(f"{_MYSQL_LINE}|{_BLOCK}", _BACKSLASHED, _DOUBLE_BACKSLASHED, _TICKS),
        _reader(f"{_MYSQL_LINE}|{_BLOCK}", _PLAIN, _DOUBLE, _TICKS),
    ),
    "sqlite": (_reader(f"{_LINE}|{_BLOCK}", _PLAIN, _DOUBLE, _TICKS, _BRACKETS),),
}
"""How each family may read a text: its usual settings first, then the other setting of backslashes."""


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of a statement outside of quotes and comments. Words are in capitals."""

    kind: str
    text: str
    depth: int
    place: int = 0
    """Of a placeholder: how many stand before it."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What a statement says about how much of its result it lets through."""

    limit: int | None = None
    """The number of its own outermost `LIMIT` or `FETCH FIRST`, where it can be read."""
    limited: bool = False
    """Whether it has an outermost limit at all."""
    offset: bool = False
    """Whether it passes over rows."""
    inner_limit: bool = False
    """Whether a part that its rows come from is limited: its own number of rows then says nothing. One row that is
    looked up, or joined to others, is no such part."""
    sampled: bool = False
    live: bool = False
    """Whether it names tables that the server makes up as they are read: they lie in no snapshot."""
    writes: bool = False
    """Whether a word that changes rows stands outside of quotes; where the database refuses it, this is why."""

    @property
    def cuts(self) -> bool:
        """Whether a number that it counts may be smaller than there are."""
        return self.inner_limit or self.offset or self.sampled


def shape_of(text: str, family: Family, *, bound: Callable[[str, int], object] | None = None) -> Shape:
    """Returns the shape of a statement.

    Args:
        text: the statement, as it is sent.
        family: whose SQL it is.
        bound: returns the value of a placeholder, from its text and its place among the placeholders.

    Raises:
        InvalidInput: it is empty, more than one statement, or does not begin like one that reads.
    """
    readings = [list(_tokens(text, reader, family)) for reader in _READINGS[family]]
    for tokens in readings:
        _check(tokens, text, family)
    return _shape(readings[0], bound or (lambda _text, _place: None), family)


def _tokens(text: str, reader: re.Pattern[str], family: Family) -> Iterator[Token]:
    depth = at = binds = 0
    while at < len(text):
        found = reader.match(text, at)
        if found is None:  # cannot be: a mark matches any character
            return
        kind, at = found.lastgroup or "", found.end()
        piece = found.group()
        if kind == "comment" and piece.startswith("/*") and family == "postgresql":
            at = _end_of_comment(text, found.start())
        elif kind == "mark":
            depth += (piece == "(") - (piece == ")")
            yield Token("mark", piece, depth)
        elif kind in ("word", "number", "bind", "quoted", "tag"):
            yield Token(kind, _text(kind, piece), depth, binds)
            binds += kind == "bind"


def _text(kind: str, piece: str) -> str:
    """Words in capitals; of what is quoted only names, which may be those of functions."""
    if kind == "word":
        return piece.upper()
    if kind != "quoted":
        return piece
    if piece[0] in _NAME_QUOTES:
        return piece[1:-1]
    return piece[:2].upper() if piece[1:2] == "&" else ""


def _end_of_comment(text: str, start: int) -> int:
    """Comments of PostgreSQL nest."""
    depth = 0
    for found in re.finditer(r"/\*|\*/", text[start:]):
        depth += 1 if found.group() == "/*" else -1
        if depth == 0:
            return start + found.end()
    return len(text)


def _check(tokens: Sequence[Token], text: str, family: Family) -> None:
    if family == "mysql" and re.search(r"/\*M?!", text):
        raise InvalidInput(field="statement", rule="must not hold comments that are executed")
    ends = [n for n, t in enumerate(tokens) if t.text == ";" and t.kind == "mark"]
    if ends and any(t.text != ";" or t.kind != "mark" for t in tokens[ends[0] :]):
        raise InvalidInput(field="statement", rule="must be one statement")
    first = next((t for t in tokens if t.text != "(" or t.kind != "mark"), None)
    allowed = FIRST_WORDS[family]
    if first is None or first.kind != "word" or first.text not in allowed:
        words = ", ".join(sorted(allowed))
        raise InvalidInput(field="statement", rule=f"must only read: it must begin with one of {words}")
    if first.text != "EXPLAIN" and any(t.kind == "word" and t.text == "INTO" for t in tokens):
        raise InvalidInput(field="statement", rule="must only read: it must not put its result INTO anything")
    if any(token.kind == "quoted" and token.text == "U&" for token in tokens):
        raise InvalidInput(field="statement", rule="must spell its names without escapes")
    for token, following in pairwise(tokens):
        if family == "mysql" and (token.text, following.text) == (":", "="):
            raise InvalidInput(field="statement", rule="must only read: it must set no variable")
        if token.kind == following.kind == "word" and (token.text, following.text) in _LOCKS:
            raise InvalidInput(field="statement", rule="must only read: it must neither lock rows nor skip locked ones")
        named = token.kind in ("word", "quoted") and following.kind == "mark" and following.text == "("
        if named and _ACTS[family].fullmatch(token.text):
            raise InvalidInput(field="statement", rule="must only read: it calls a function that acts")


def _shape(tokens: Sequence[Token], bound: Callable[[str, int], object], family: Family) -> Shape:
    limit: int | None = None
    limited = offset = inner = sampled = writes = False
    live = any(t.kind in ("word", "quoted") and t.text.upper() in _LIVE[family] for t in tokens)
    wrapped = _wraps_all(tokens)
    for n, token in enumerate(tokens):
        if token.kind != "word" or _is_named(tokens, n):
            continue
        writes |= token.text in _WRITES
        sampled |= token.text == "TABLESAMPLE"
        if token.text == "OFFSET" and _says_how_much(tokens, n, family):
            offset |= _value(tokens, n + 1, bound) != 0
        if token.text in ("LIMIT", "FETCH") and not (token.text == "FETCH" and not _is_fetch(tokens, n)):
            number, skips = _limit(tokens, n, bound)
            if number == "none":
                continue
            offset |= skips
            if token.depth == 0 or (wrapped and token.depth == 1):
                limited, limit = True, number if isinstance(number, int) else None
            elif number != 1 or _brings_the_rows(tokens, n, outermost=1 if wrapped else 0):
                inner = True
    return Shape(
        limit=limit, limited=limited, offset=offset, inner_limit=inner, sampled=sampled, live=live, writes=writes
    )


def _brings_the_rows(tokens: Sequence[Token], n: int, *, outermost: int) -> bool:
    """Whether the part that is limited at `n` is all that the outermost rows come from, however many parts are around.

    So it is where each part between them takes all its rows from the one inside: out of a list of tables that holds
    nothing else, a set, another pair of parentheses, or a name that `WITH` gave.
    """
    return _rises(tokens, n, tokens[n].depth, outermost, frozenset())


def _rises(tokens: Sequence[Token], at: int, depth: int, outermost: int, seen: frozenset[str]) -> bool:
    """As `_brings_the_rows`, for the part of a depth that is open before `at`; `seen` are the names passed through."""
    if depth <= outermost:
        return True
    start = max((m for m in range(at) if tokens[m].text == "(" and tokens[m].depth == depth), default=0)
    before = _passed_over(tokens, start - 1, ("ALL", "DISTINCT", "LATERAL"))
    if before < 0:
        return _rises(tokens, 0, depth - 1, outermost, seen)
    match tokens[before].text:
        case "(" | "UNION" | "EXCEPT" | "INTERSECT" | "MINUS":
            return _rises(tokens, before + 1, depth - 1, outermost, seen)
        case "FROM":
            ends = (m for m in range(start, len(tokens)) if tokens[m].text == ")" and tokens[m].depth == depth - 1)
            alone = _is_alone(tokens, next(ends, start) + 1)
            return alone and _rises(tokens, before + 1, depth - 1, outermost, seen)
        case "AS" | "MATERIALIZED":
            name = _name_given(tokens, before)
            uses = [m for m in range(1, len(tokens)) if _takes_from(tokens, m, name)] if name not in seen else []
            return any(_rises(tokens, m, tokens[m].depth, outermost, seen | {name}) for m in uses)
        case _:
            return False


def _passed_over(tokens: Sequence[Token], at: int, words: Sequence[str]) -> int:
    """Returns where, from `at` backwards, something else than these words stands."""
    while at >= 0 and tokens[at].text in words:
        at -= 1
    return at


def _name_given(tokens: Sequence[Token], at: int) -> str:
    """Returns the name that `WITH name (columns) AS` gives, in capitals; `at` is the last word before its part."""
    at = _passed_over(tokens, at, ("AS", "MATERIALIZED", "NOT"))
    if at > 0 and tokens[at].text == ")":
        depth = tokens[at].depth + 1
        at = max((m for m in range(at) if tokens[m].text == "(" and tokens[m].depth == depth), default=0) - 1
    return tokens[at].text.upper() if at >= 0 else ""


def _takes_from(tokens: Sequence[Token], m: int, name: str) -> bool:
    """Whether all rows of a part come from the name at `m`."""
    before = _passed_over(tokens, m - 1, ("ONLY",))
    is_named = tokens[m].kind in ("word", "quoted") and tokens[m].text.upper() == name
    return is_named and before >= 0 and tokens[before].text in ("FROM", "TABLE") and _is_alone(tokens, m + 1)


def _is_alone(tokens: Sequence[Token], at: int) -> bool:
    """Whether what stands before `at` in a list of tables is joined to nothing."""
    following = [t.text for t in tokens[at : at + 3] if t.text != "AS"]
    return not any(text == "," or text in _JOIN_WORDS for text in following[:2])


def _wraps_all(tokens: Sequence[Token]) -> bool:
    """Whether one pair of parentheses is around the whole statement."""
    body = [t for t in tokens if t.text != ";"]
    return (
        len(body) > 1
        and body[0].text == "("
        and next((n for n, t in enumerate(body) if t.depth == 0), -1) == len(body) - 1
    )


def _is_fetch(tokens: Sequence[Token], n: int) -> bool:
    return n + 1 < len(tokens) and tokens[n + 1].text in ("FIRST", "NEXT")


def _is_named(tokens: Sequence[Token], n: int) -> bool:
    """Whether a word names a column: `q.limit`, `AS limit`; but not after a number, `5. LIMIT 3`."""
    before = tokens[n - 1] if n else None
    if before is None or before.text != ".":
        return before is not None and before.kind == "word" and before.text == "AS"
    return n > 1 and tokens[n - 2].kind in ("word", "quoted")


def _says_how_much(tokens: Sequence[Token], n: int, family: Family) -> bool:
    """Whether `OFFSET` passes over rows, and is no name. PostgreSQL has it for no name outside of quotes."""
    if n + 1 >= len(tokens):
        return False
    following = tokens[n + 1]
    if following.kind in ("number", "bind") or following.text == "(" or family == "postgresql":
        return True
    depth = tokens[n].depth
    for token in reversed(tokens[:n]):
        if token.depth < depth:
            return False
        if token.depth == depth and token.kind == "word" and token.text == "LIMIT":
            return True
    return False


def _limit(
    tokens: Sequence[Token], n: int, bound: Callable[[str, int], object]
) -> tuple[int | Literal["none"] | None, bool]:
    """Returns the number of a limit (`none`: it limits nothing, `None`: it cannot be told), and whether it skips."""
    at = n + 1
    if tokens[n].text == "FETCH":
        at += 1
        if at < len(tokens) and tokens[at].text in ("ROW", "ROWS"):
            return 1, False
    following = [t.text for t in tokens[at : at + 3]]
    if not following:
        return None, False
    if following[0] in ("ALL", "NULL") or following[:2] == ["ROWS", "EXAMINED"]:
        return "none", False
    if following[0] == "-":
        is_number = following[1:2] and following[1].isdigit()
        return ("none" if is_number and (following[2:] or [";"])[0] in _LIMIT_ENDS else None), False
    value = _value(tokens, at, bound)
    if at + 1 < len(tokens) and tokens[at + 1].text == ",":  # LIMIT skip, number
        return _value(tokens, at + 2, bound), value != 0
    return value, False


def _value(tokens: Sequence[Token], at: int, bound: Callable[[str, int], object]) -> int | None:
    """Returns the number that stands at `at`, where it is one by itself: `2 + 3` and `9 AND 1` are none."""
    if at >= len(tokens) or not _is_by_itself(tokens, at):
        return None
    token = tokens[at]
    if token.kind == "number":
        return int(token.text) if token.text.isdigit() else None
    if token.kind == "bind":
        value = bound(token.text, token.place)
        return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
    return None


def _is_by_itself(tokens: Sequence[Token], at: int) -> bool:
    """Whether an expression is one token, or one that is cast: `5`, `5::int`."""
    following = [token.text for token in tokens[at + 1 : at + 5]]
    if following[:2] == [":", ":"]:
        following = following[3:]
    return not following or following[0] in _NUMBER_ENDS
