"""What `protect` works out before it wraps anything: which tool has which declaration, and what can never work."""

from __future__ import annotations

import inspect
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, get_args

from unabridged.contract import Complete, InvalidInput, Partial, Result, Unavailable, Unknown

from .annotations import hinted
from .declarations import Declarations, declarations
from .declare import ReadSpec, Spec, WriteSpec

AGENT_RULES: Final = """\
Tool results state their coverage. "complete": true means that all records of the scope are there.
If a result is not complete, say so, and never conclude from it that something does not exist.
Go on with continue_read and the handle from the result's "continuation" before you give up.
Count with count_read instead of counting what is shown.
A refused call names the reads that are missing: finish them, or act only on what is proven.
Do not repeat a refused call unchanged.
In the final answer name what could not be read."""
"""At most eight lines for a system prompt. The guard does not need it."""

_RESULT_CLASSES: Final = (Complete, Partial, Unknown, Unavailable)
_MAKERS: Final = frozenset(
    {"read", "aread", "build_result", "merge", "from_wire", *(c.__name__ for c in _RESULT_CLASSES)}
)


class CoverageWarning(UserWarning):
    """A declaration that cannot work as it stands."""


def plan(
    names: Sequence[str],
    *,
    reads: Mapping[str, Any] | None = None,
    writes: Mapping[str, Any] | None = None,
    neutral: Iterable[str] = (),
    independent: Mapping[str, str] | None = None,
    known: Mapping[str, Spec] | None = None,
    annotations: Mapping[str, Any] | None = None,
    trust_annotations: bool = False,
) -> Declarations:
    """Returns the declaration of every tool that was named.

    Args:
        names: the names of the tools, in order.
        reads: as given to `protect`.
        writes: as given to `protect`.
        neutral: as given to `protect`.
        independent: as given to `protect`.
        known: declarations that tools bear already, from a decorator.
        annotations: for each tool that has some, what its MCP server says of it; see `hinted`.
        trust_annotations: whether they may also make a read of a tool that is not declared.

    Raises:
        InvalidInput: a name that no tool has, or that two tools have, or that is declared twice; or a keyword of
            another type.
    """
    if annotations is not None and not isinstance(annotations, Mapping):
        raise InvalidInput(field="annotations", rule="must map the names of tools to their annotations")
    if not isinstance(trust_annotations, bool):
        raise InvalidInput(field="trust_annotations", rule="must be true or false")
    told = declarations(reads=reads, writes=writes, neutral=neutral, independent=independent)
    counts = Counter(names)
    for name in told.specs:
        if name not in counts:
            raise InvalidInput(field=name, rule="is declared, but no tool has this name")
        if known and name in known:
            raise InvalidInput(field=name, rule="is declared by its decorator already")
    for name, count in counts.items():
        if count > 1:
            raise InvalidInput(field=name, rule="is the name of more than one tool")
    said = {
        name: hinted(name, told.of(name), (annotations or {})[name], trusted=trust_annotations)
        for name in counts
        if name in (annotations or {})
    }
    return Declarations({**told.specs, **said, **(known or {})})


def warn_of_hopeless_writes(specs: Mapping[str, Spec], bodies: Mapping[str, Callable[..., Any] | None]) -> list[str]:
    """Warns once for each write that could never be allowed, and returns their names.

    A write is hopeless when it relies on a resource whose every read tool has no judge, is not exhaustive, and does
    not return results of its own: such reads can never be complete.
    """
    hopeless = []
    for name, spec in specs.items():
        if not isinstance(spec, WriteSpec) or spec.independent is not None or spec.allow_returned_targets:
            continue
        dead = [r for r in spec.resources() if _never_complete(r, specs, bodies)]
        if dead:
            hopeless.append(name)
            text = ", ".join(dead)
            warnings.warn(
                f"the write {name} can never be allowed: no read of {text} has a judge that can say complete; give it "
                "judge=..., exhaustive=True, or let the tool return a ReadResult and say so: -> ReadResult",
                CoverageWarning,
                stacklevel=3,
            )
    return hopeless


def _never_complete(resource: str, specs: Mapping[str, Spec], bodies: Mapping[str, Callable[..., Any] | None]) -> bool:
    readers = [(n, s) for n, s in specs.items() if isinstance(s, ReadSpec) and s.resource == resource]
    if not readers:
        return False
    return not any(s.may_be_complete() or s.intent == "lookup" or may_return_results(bodies.get(n)) for n, s in readers)


def may_return_results(body: Callable[..., Any] | None, *, deep: bool = True) -> bool:
    """Tells whether a function may return a `ReadResult`: by its annotation, else by the names that its code uses.

    Args:
        body: the function.
        deep: whether the functions that it calls are looked at, too.
    """
    if body is None:
        return False
    body = inspect.unwrap(body)
    try:
        returned = inspect.signature(body, eval_str=True).return_annotation
    except (NameError, TypeError, ValueError, AttributeError):
        return True
    if returned is not inspect.Signature.empty:
        return any(isinstance(t, type) and issubclass(t, Result) for t in (returned, *get_args(returned))) or (
            returned is Any
        )
    code = getattr(body, "__code__", None)
    if code is None:
        return True
    names = {*code.co_names, *code.co_freevars}
    return bool(_MAKERS & names) or (deep and any(map(_makes_results, _called(body, names))))


def _makes_results(helper: Any) -> bool:
    if not inspect.isfunction(helper) or helper.__annotations__.get("return") in (Any, "Any"):
        return False
    return may_return_results(helper, deep=False)


def _called(body: Callable[..., Any], names: Iterable[str]) -> Iterable[Any]:
    """Returns what the names in the code of a function stand for, as far as they are its own module's or its own."""
    cells = getattr(body, "__closure__", None) or ()
    own = dict(zip(body.__code__.co_freevars, cells, strict=False))
    for name in names:
        try:
            yield own[name].cell_contents if name in own else getattr(body, "__globals__", {}).get(name)
        except ValueError:  # not there yet
            continue
