"""A write whose evidence depends on what its call sends."""

from __future__ import annotations

import pytest
from unabridged import session
from unabridged.contract import InvalidInput
from unabridged.evidence import Session
from unabridged.gate import Entered, FromArgument, Gate, ReadSpec, Reply, WriteSpec

READ = Gate("list_accounts", ReadSpec(resource="accounts", exhaustive=True))
WRITE = Gate(
    "archive",
    WriteSpec(
        relies_on=[{"resource": "accounts", "filters": {"tenant": FromArgument("tenant")}}], targets="account_ids"
    ),
)


def read(case: Session, **args: str) -> None:
    entered = READ.enter(args, session=case)
    assert isinstance(entered, Entered)
    READ.leave(entered, [{"id": f"{args.get('tenant', 'any')}-1"}])


@pytest.mark.parametrize(
    ("reads", "sends", "allowed"),
    [
        ([{"tenant": "a"}], {"tenant": "a", "account_ids": ["a-1"]}, True),
        ([{"tenant": "a"}], {"tenant": "b", "account_ids": ["a-1"]}, False),
        ([{"tenant": "a"}], {"account_ids": ["a-1"]}, False),
        ([{"tenant": "a"}, {"tenant": "b"}], {"tenant": "a", "account_ids": ["b-1"]}, False),
        ([{}], {"tenant": "b", "account_ids": ["any-1"]}, True),
        ([{}], {"account_ids": ["any-1"]}, True),
        ([{"tenant": "a"}], {"tenant": ["a"], "account_ids": ["a-1"]}, False),
    ],
)
def test_a_write_relies_on_the_reads_of_the_scope_that_its_call_names(
    reads: list[dict[str, str]], sends: dict[str, object], allowed: bool
) -> None:
    with session(f"open-{reads}-{sends}") as case:
        for args in reads:
            read(case, **args)
        entered = WRITE.enter(sends, session=case)
    assert isinstance(entered, Entered if allowed else Reply)


def test_a_partial_read_of_another_scope_does_not_block_but_one_of_its_own_does() -> None:
    partial = Gate("list_accounts", ReadSpec(resource="accounts"))
    with session("open-partial") as case:
        read(case, tenant="a")
        entered = partial.enter({"tenant": "b"}, session=case)
        assert isinstance(entered, Entered)
        partial.leave(entered, [{"id": "b-1"}])
        assert isinstance(WRITE.enter({"tenant": "a", "account_ids": ["a-1"]}, session=case), Entered)
        assert isinstance(WRITE.enter({"tenant": "b", "account_ids": ["b-1"]}, session=case), Reply)


def test_an_argument_without_a_name_is_refused() -> None:
    with pytest.raises(InvalidInput, match="relies_on"):
        FromArgument("")
