"""Wrong readings of annotations, and the tests that kill them."""

from __future__ import annotations

from typing import Any, Final

from mutants.mutating import Mutant
from unabridged.gate.annotations import Hints

_GUARDS: Final = "tests/reports/test_guards.py::"
_READ: Final = _GUARDS + "test_r53_annotations_make_a_read_in_both_spellings_and_only_without_a_doubt"
_TRUST: Final = _GUARDS + "test_r53_annotations_loosen_nothing_unless_they_are_trusted"
_TIGHTENS: Final = _GUARDS + "test_r53_a_tool_that_nobody_declared_is_judged_as_destructive_where_it_says_so"


def _one_spelling(right: Any) -> Any:
    return lambda annotations, names: right(annotations, names[:1])


def _truth_is_enough(right: Any) -> Any:
    return lambda annotations, names: [bool(value) for value in right(annotations, names)]


def _a_contradiction_is_a_read(right: Any) -> Any:
    def told(annotations: Any) -> Hints:
        found: Hints = right(annotations)
        read_only = annotations.get("readOnlyHint") if isinstance(annotations, dict) else None
        return Hints("read" if read_only is True else found.effect, found.destructive)

    return told


def _all_are_trusted(right: Any) -> Any:
    return lambda name, spec, annotations, *, trusted=False: right(name, spec, annotations, trusted=trusted or True)


def _nothing_tightens(right: Any) -> Any:
    def hinted(name: str, spec: Any, annotations: Any, *, trusted: bool = False) -> Any:
        found = right(name, spec, annotations, trusted=trusted)
        return spec if getattr(found, "destructive", False) else found

    return hinted


ANNOTATIONS: Final = (
    Mutant("annotations have one spelling", "unabridged.gate.annotations:_told", _one_spelling, [_READ],
           errors=("AssertionError",)),
    Mutant("a hint need be no boolean", "unabridged.gate.annotations:_told", _truth_is_enough, [_READ],
           errors=("AssertionError",)),
    Mutant("annotations that contradict each other make a read", "unabridged.gate.annotations:hints",
           _a_contradiction_is_a_read, [_READ], errors=("AssertionError",)),
    Mutant("the annotations of anyone are trusted", "unabridged.gate.annotations:hinted", _all_are_trusted, [_TRUST],
           errors=("AssertionError",)),
    Mutant("annotations tighten nothing", "unabridged.gate.annotations:hinted", _nothing_tightens, [_TIGHTENS],
           errors=("AssertionError",)),
)  # fmt: skip
