"""The whole errand on the real database, without a framework: what the plain run breaks and the guarded does not."""

from __future__ import annotations

import pytest
from demo import bare
from unabridged.contract.errors import InvalidInput
from unabridged.demo.report import DemoReport, RunReport
from unabridged.demo.run import compare, run_demo
from unabridged.demo.runs import find_runner

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def report() -> DemoReport:
    return compare({"bare": bare.run})


@pytest.fixture(scope="module")
def plain(report: DemoReport) -> RunReport:
    return report.frameworks["bare"].plain


@pytest.fixture(scope="module")
def guarded(report: DemoReport) -> RunReport:
    return report.frameworks["bare"].guarded


def test_the_plain_run_archives_owned_accounts_and_claims_that_nothing_is_left(plain: RunReport) -> None:
    assert plain.wrong_writes > 20
    assert plain.left > 20
    assert plain.answer["text"].endswith("Nothing is left.")
    assert plain.refusals == ()


def test_the_guarded_run_archives_only_what_nobody_owns(guarded: RunReport) -> None:
    assert guarded.wrong_writes == 0
    assert guarded.right_writes > 100


def test_the_guarded_run_finishes_every_tenant_that_can_be_proven(guarded: RunReport) -> None:
    assert sorted(guarded.left_by_tenant) == ["ember", "fjord"]


def test_every_tenant_is_refused_at_the_first_hasty_write(guarded: RunReport) -> None:
    tenants = [refusal.tenant for refusal in guarded.refusals]
    assert sorted(set(tenants) - {None}, key=str) == ["acme", "birch", "cobalt", "dune", "ember", "fjord"]
    assert all("EVIDENCE_INCOMPLETE" in refusal.codes for refusal in guarded.refusals)


def test_the_refusals_name_what_the_reads_lack(guarded: RunReport) -> None:
    reasons = {reason for refusal in guarded.refusals for reason in refusal.reasons}
    assert {
        "accounts: MORE_PAGES_AVAILABLE",
        "accounts: VISIBILITY_RESTRICTED",
        "assignments: SOURCE_UNAVAILABLE",
    } <= reasons


def test_the_guarded_answer_admits_what_could_not_be_established(guarded: RunReport) -> None:
    admitted = str(guarded.answer["caveats"])
    for code in ("VISIBILITY_RESTRICTED", "SOURCE_UNAVAILABLE", "RESULT_LIMIT_REACHED"):
        assert code in admitted
    assert len(guarded.answer["text"]) > len("Nothing is left.")


def test_an_unknown_framework_is_refused_by_name() -> None:
    with pytest.raises(InvalidInput, match="langchain, llamaindex"):
        find_runner("crewai")


def test_a_model_without_langchain_is_refused() -> None:
    with pytest.raises(InvalidInput, match="LangChain"):
        run_demo(["llamaindex"], model="openai:gpt")
