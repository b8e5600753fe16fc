"""Canaries, and what looks for them: in logs, warnings, tracebacks with their locals, and anything that can be walked.

A canary is a value that stands nowhere else: found outside of where it was sent, it tells of a leak. Four kinds, by
where they come from: what a model sent, what an upstream answered, what an exception said, what a credential is.
"""

from __future__ import annotations

import io
import json
import logging
import re
import sys
import traceback
import types
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, Self

from pydantic import BaseModel

SENT: Final = "qzsent"
"""What the model sent."""
UP: Final = "qzup"
"""What an upstream answered."""
SAID: Final = "qzsaid"
"""What an exception said."""
KEY: Final = "qzkey"
"""What a credential is."""
IDS: Final = "qzid"
"""What the ids of records are: a model reads them, and sends them."""
READS: Final = ("list_orders", "look_up", "continue_read")
"""What the names of the tools begin with that tell a model ids."""
NUMBER: Final = 902110011800
"""Numbers from here on are canaries that a model sent."""
_NUMBERS: Final = r"(?<![0-9a-f])9021100118\d\d(?![0-9a-f])"
ANY: Final = re.compile(rf"qz(?:sent|up|said|key|id)[a-z0-9]*|{_NUMBERS}", re.IGNORECASE)
OF_MODEL: Final = re.compile(rf"{SENT}|{IDS}|{_NUMBERS}")
"""What a model sent, or may read."""
OURS: Final = tuple(
    str(Path(__file__).parents[2] / folder)
    for folder in (
        "integrations/unabridged", "langchain_tools/unabridged_langchain", "llamaindex_tools/unabridged_llamaindex",
    )
)  # fmt: skip
_DEEP: Final = 12


def customer(mark: str) -> dict[str, Any]:
    """Returns a nested record of a customer, every value of it a canary of the kind."""
    return {
        "name": f"{mark}name Erika",
        "contact": {"mail": f"{mark}mail@example.org", "phones": [f"+49 {mark}phone", 4711]},
        "notes": [f"Called twice. {mark}note Wants it back.", {"by": f"{mark}by", f"{mark}key of a note": 4712}],
        "blob": f"{mark}blob ".encode().hex() + f"{mark}tail",
    }


def found_in(text: str) -> set[str]:
    """Returns the canaries that stand in a text."""
    return {hit.lower() for hit in ANY.findall(text)}


def places(value: Any, *, root: str = "", of: re.Pattern[str] = ANY) -> dict[str, str]:
    """Returns every place in a value, however deep, where a canary stands, with the canary.

    A place is a dotted path; an index is `[]`.
    """
    hits: dict[str, str] = {}
    for path, text in _texts(value, root, set(), 0):
        hit = of.search(text)
        if hit:
            hits.setdefault(path, hit.group())
    return hits


def not_of_model(found: dict[str, str]) -> dict[str, str]:
    """Returns the canaries that no model sent."""
    return {place: hit for place, hit in found.items() if not OF_MODEL.match(hit)}


def beyond_scope(told: Any) -> Any:
    """Returns what a read told a model without its scope, which repeats the arguments that the model sent."""
    try:
        document = json.loads(told)
    except (TypeError, ValueError):
        return told
    if isinstance(document, dict) and isinstance(document.get("scope"), dict):
        document["scope"].pop("filters", None)
    return json.dumps(document)


def _texts(value: Any, path: str, seen: set[int], depth: int) -> Iterator[tuple[str, str]]:
    """Yields every text in a value with its path: containers, models, attributes, exceptions and their chains."""
    if value is None or isinstance(value, bool) or depth > 40:
        return
    if isinstance(value, str | int | float):
        yield path, str(value)
        return
    if isinstance(value, bytes | bytearray):
        yield path, bytes(value).decode("utf-8", "replace")
        return
    if isinstance(value, type | types.ModuleType | types.FunctionType | types.MethodType | types.BuiltinFunctionType):
        return
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, Mapping):
        for key, each in list(value.items()):
            yield f"{path}.<key>", str(key)
            yield from _texts(each, f"{path}.{key}", seen, depth + 1)
        return
    if isinstance(value, list | tuple | set | frozenset):
        for each in list(value):
            yield from _texts(each, f"{path}[]", seen, depth + 1)
        return
    if not _tells_fields(type(value)):
        yield path, _shown(value)
    for name, each in _parts(value):
        yield from _texts(each, f"{path}.{name}", seen, depth + 1)


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, BaseException):
        yield "args", value.args
        yield "cause", value.__cause__
        yield "context", value.__context__
        yield "notes", getattr(value, "__notes__", None)
    if isinstance(value, BaseModel):
        kind = type(value)
        yield from ((n, getattr(value, n, None)) for n in (*kind.model_fields, *kind.model_computed_fields))
        yield "extra", value.__pydantic_extra__
        yield "private", value.__pydantic_private__
    elif is_dataclass(value):
        yield from ((f.name, getattr(value, f.name, None)) for f in fields(value))
    elif isinstance(value, BaseException):
        yield from list(vars(value).items())


@cache
def _tells_fields(kind: type) -> bool:
    """Tells whether the repr of a model shows its fields and no more: they are looked at anyway, and it is slow."""
    if not issubclass(kind, BaseModel) or kind.__repr__ is not BaseModel.__repr__:
        return False
    return kind.__repr_args__.__module__ in (
        "pydantic.main",
        "pydantic._internal._repr",
        "langchain_core.load.serializable",
    )


def _shown(value: Any) -> str:
    try:
        return repr(value)
    except Exception as error:  # noqa: BLE001 - what has no repr shows none
        return f"<no repr: {type(error).__name__}>"


def as_tracked(value: Any, depth: int = 0) -> Any:
    """Returns a value as an error tracker sends it: containers whole, of anything else the repr."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if depth < _DEEP and isinstance(value, Mapping):
        return {str(k): as_tracked(v, depth + 1) for k, v in list(value.items())}
    if depth < _DEEP and isinstance(value, Sequence | set | frozenset) and not isinstance(value, bytes | bytearray):
        return [as_tracked(v, depth + 1) for v in list(value)]
    return _shown(value)


def _is_ours(frame: types.FrameType) -> bool:
    return frame.f_code.co_filename.startswith(OURS)


def chain(error: BaseException) -> Iterator[BaseException]:
    """Yields an exception with all that it came from, and those of a group."""
    left, seen = [error], set()
    while left:
        each = left.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        left += [e for e in (each.__cause__, each.__context__) if e is not None]
        left += list(getattr(each, "exceptions", ()))


def tracked(error: BaseException) -> dict[str, Any]:
    """Returns what an error tracker with locals sends of the frames of the toolkit."""
    told: dict[str, Any] = {}
    for n, each in enumerate(chain(error)):
        trace = each.__traceback__
        while trace is not None:
            if _is_ours(trace.tb_frame):
                code = trace.tb_frame.f_code
                where = f"{n}:{Path(code.co_filename).name}:{code.co_qualname}"
                told[where] = as_tracked(dict(trace.tb_frame.f_locals))
            trace = trace.tb_next
    return told


def rendered(error: BaseException) -> list[str]:
    """Returns an error in every form that is printed, without the lines of the frames, which are source code."""
    texts = [str(error), repr(error), "".join(traceback.format_exception(error)), repr(getattr(error, "fields", None))]
    for name in ("errors", "json"):
        method = getattr(error, name, None)
        if callable(method):
            texts.append(repr(method()))
    return texts


class _Listener(logging.Handler):
    def __init__(self, watch: Watch) -> None:
        super().__init__(logging.DEBUG)
        self._watch = watch

    def emit(self, record: logging.LogRecord) -> None:
        self._watch.logged.append((record.name, self.format(record)))
        self._watch.logged.append((record.name, repr(record.args)))
        if record.exc_info and record.exc_info[1] is not None:
            self._watch.errors.append((record.name, record.exc_info[1]))
        if record.name.startswith("unabridged") and record.levelno >= logging.WARNING:
            self._watch.stacks.append(_stack())


def _stack() -> dict[str, Any]:
    """Returns the locals of our frames on the stack, which a tracker sends with a message that has no exception."""
    told: dict[str, Any] = {}
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        if _is_ours(frame):
            told[f"{Path(frame.f_code.co_filename).name}:{frame.f_code.co_qualname}"] = as_tracked(dict(frame.f_locals))
        frame = frame.f_back
    return told


@dataclass
class Watch:
    """Hears all loggers at DEBUG, all warnings and both streams; keeps what is raised.

    Attributes:
        logged: the name of the logger and the text of every record.
        warned: the warnings.
        errors: the exceptions that came through, and those that were logged with the name of the logger.
        passed: the exceptions of the author's own code that passed.
        stacks: the locals of our frames at each warning and error of ours.
        printed: what was printed.
    """

    logged: list[tuple[str, str]] = field(default_factory=list)
    warned: list[Any] = field(default_factory=list)
    errors: list[tuple[str, BaseException]] = field(default_factory=list)
    passed: list[BaseException] = field(default_factory=list)
    stacks: list[dict[str, Any]] = field(default_factory=list)
    printed: io.StringIO = field(default_factory=io.StringIO)

    def __enter__(self) -> Self:
        root = logging.getLogger()
        self._before = {None: root.level}
        known = [g for g in root.manager.loggerDict.values() if isinstance(g, logging.Logger)]
        self._levels = {g.name: g.level for g in known if g.level != logging.NOTSET}
        for name in self._levels:
            logging.getLogger(name).setLevel(logging.NOTSET)
        self._handler = _Listener(self)
        root.setLevel(logging.DEBUG)
        root.addHandler(self._handler)
        self._caught = warnings.catch_warnings(record=True)
        self.warned = self._caught.__enter__()  # type: ignore[assignment]
        warnings.simplefilter("always")
        self._streams = sys.stdout, sys.stderr
        sys.stdout = sys.stderr = self.printed
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        sys.stdout, sys.stderr = self._streams
        self._caught.__exit__(kind, error, trace)
        root = logging.getLogger()
        root.removeHandler(self._handler)
        root.setLevel(self._before[None])
        for name, level in self._levels.items():
            logging.getLogger(name).setLevel(level)

    def raised(self, error: BaseException, *, is_theirs: bool = False) -> None:
        """Keeps an exception that came out of what is watched.

        Args:
            error: the exception.
            is_theirs: whether the author's own code raised it and nobody may swallow it: then its text is theirs, and
                the frames of the toolkit are ours all the same.
        """
        if is_theirs or isinstance(error, TheirOwn):
            self.passed.append(error)
        else:
            self.errors.append(("", error))

    def leaks(self, *, but: Sequence[str] = ()) -> dict[str, str]:
        """Returns where canaries stand in all of it.

        Args:
            but: loggers of others, by the beginning of their names, that are known to say what passes through them.
        """
        theirs = tuple(but)
        errors = [error for name, error in self.errors if not name.startswith(theirs)]
        texts = {f"log {name}": text for name, text in self.logged if not name.startswith(theirs) and found_in(text)}
        texts |= {f"warning {n}": str(w.message) for n, w in enumerate(self.warned)}
        texts["printed"] = self.printed.getvalue()
        for error in errors:
            texts |= {f"error {n}": t for n, t in enumerate(rendered(error))}
        for error in (*errors, *self.passed):
            texts |= {f"locals {where}": repr(local) for where, local in tracked(error).items()}
        for stack in self.stacks:
            texts |= {f"stack {where}": repr(local) for where, local in stack.items()}
        return {where: ", ".join(sorted(found_in(text))) for where, text in texts.items() if found_in(text)}


class TheirOwn(BaseException):
    """What the author's own code raised and nobody may swallow: its text is theirs, our frames are ours."""
