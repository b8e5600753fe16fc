"""Wrong readers, sources and profiles that take a part for the whole, and the tests that kill them."""

from __future__ import annotations

from typing import Any, Final

from mutants.mutating import Mutant


def _proof_is_not_looked_at(right: Any) -> Any:
    def check(self: Any, count: int) -> None:
        if self.proof.level != "none":
            right(self, count)

    return check


READING: Final = (
    Mutant(
        name="a complete document needs no proof",
        target="unabridged.contract.results:Result._check_complete", wrong=_proof_is_not_looked_at,
        killers=["tests/contract/test_wire.py::test_a_contradictory_document_is_refused_by_the_name_of_the_rule"],
    ),
)  # fmt: skip
