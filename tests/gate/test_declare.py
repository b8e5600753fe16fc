"""Declarations: what an author says of a tool, and what is refused at once."""

from __future__ import annotations

from typing import Any

import pytest
from unabridged.contract import InvalidInput
from unabridged.gate import NEUTRAL, UNDECLARED, ReadSpec, UndeclaredSpec, WriteSpec, declarations


@pytest.mark.parametrize(
    ("keywords", "field"),
    [
        ({"resource": ""}, "resource"),
        ({"resource": None}, "resource"),
        ({"resource": "x" * 201}, "resource"),
        ({"resource": "orders", "intent": "all"}, "intent"),
        ({"resource": "orders", "judge": "orders_profile"}, "judge"),
        ({"resource": "orders", "key": "id"}, "key"),
        ({"resource": "orders", "fields": "name"}, "fields"),
        ({"resource": "orders", "not_filters": "limit"}, "not_filters"),
        ({"resource": "orders", "filters": {"a": "owner", "b": "owner"}}, "filters"),
    ],
)
def test_a_read_that_cannot_work_is_refused_when_it_is_declared(keywords: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        ReadSpec(**keywords)
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("keywords", "field"),
    [
        ({"independent": " "}, "independent"),
        ({"independent": "free text", "relies_on": ["orders"]}, "independent"),
        ({"relies_on": []}, "relies_on"),
        ({"relies_on": {"resource": "orders"}}, "relies_on"),
        ({"targets": ["o-1", "o-2"]}, "targets"),
        ({"targets": ""}, "targets"),
        ({"require": "certain"}, "require"),
        ({"max_age_s": -1}, "max_age_s"),
    ],
)
def test_a_write_that_cannot_work_is_refused_when_it_is_declared(keywords: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        WriteSpec(**keywords)
    assert caught.value.field == field


def test_one_name_to_rely_on_is_not_taken_for_its_letters() -> None:
    spec = WriteSpec(relies_on="orders")
    assert spec.resources() == ("orders",)
    relies = spec.intent("archive", None).relies_on
    assert relies is not None
    assert [r.resource for r in relies] == ["orders"]


def test_what_the_model_sent_are_the_filters_but_for_nulls_and_sizes() -> None:
    spec = ReadSpec(resource="orders", filters={"who": "owner", "page": "leaf"}, not_filters=["verbose"])
    sent = {"who": "ops", "open": False, "note": None, "limit": 5, "cursor": "c", "page": 2, "verbose": True, "k": 3}
    assert spec.filters_of(sent) == {"owner": "ops", "open": False, "leaf": 2}


@pytest.mark.parametrize("name", ["page", "k", "cursor", "size"])
def test_the_key_of_a_lookup_is_a_filter_whatever_it_is_called(name: str) -> None:
    spec = ReadSpec(resource="pages", intent="lookup", key=name)
    assert spec.filters_of({name: "Home"}) == {name: "Home"}


def test_the_key_filter_follows_the_renaming() -> None:
    spec = ReadSpec(resource="orders", intent="lookup", key="number", filters={"number": "id"})
    assert spec.key_filter == "id"
    assert ReadSpec(resource="orders").key_filter is None


def test_a_declaration_is_a_name_or_names_or_the_keywords_of_the_decorator() -> None:
    told = declarations(
        reads={"list": "orders", "get": {"resource": "orders", "intent": "lookup", "key": "id"}},
        writes={"archive": ["orders", "owners"], "close": "orders", "purge": {"destructive": True}},
        neutral=["clock"],
        independent={"mail": "free text, names no record"},
    )
    assert told.of("list") == ReadSpec(resource="orders")
    assert told.of("get") == ReadSpec(resource="orders", intent="lookup", key="id")
    assert told.of("archive") == WriteSpec(relies_on=["orders", "owners"])
    assert told.of("close") == WriteSpec(relies_on=["orders"])
    assert told.of("purge") == WriteSpec(destructive=True)
    assert told.of("clock") == NEUTRAL
    assert told.of("mail") == WriteSpec(independent="free text, names no record")
    assert told.of("anything else") == UNDECLARED == UndeclaredSpec()


def test_a_tool_that_is_declared_twice_is_refused() -> None:
    with pytest.raises(InvalidInput, match="declared more than once"):
        declarations(reads={"archive": "orders"}, writes={"archive": "orders"})


def test_a_keyword_that_the_decorator_does_not_take_is_named_by_its_tool_and_not_by_its_value() -> None:
    with pytest.raises(InvalidInput) as caught:
        declarations(reads={"list": {"resource": "orders", "ressource": "sk-sentinel-7f3a"}})
    assert caught.value.field == "reads.list.ressource"
    assert "sk-sentinel" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "field"),
    [({"reads": {"list": {"resource": "orders", "judge": 5}}}, "reads.list.judge"),
     ({"reads": {"list": {"judge": None}}}, "reads.list"), ({"reads": ["list"]}, "reads"),
     ({"writes": {"archive": []}}, "writes.archive.relies_on"), ({"independent": ["mail"]}, "independent"),
     ({"independent": {"mail": ""}}, "independent.mail.independent"), ({"neutral": "clock"}, "neutral"),
     ({"independent": {"mail": {"relies_on": ["orders"]}}}, "independent.mail.independent")],
)  # fmt: skip
def test_what_is_wrong_in_a_declaration_is_named_by_its_tool_and_keyword(given: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        declarations(**given)
    assert caught.value.field == field


def test_a_bare_read_is_not_declared_exhaustive() -> None:
    assert ReadSpec(resource="orders").exhaustive is False
    assert ReadSpec(resource="orders").may_be_complete() is False
    assert ReadSpec(resource="orders", exhaustive=True).may_be_complete() is True


def test_a_page_and_a_size_are_known_under_each_name_of_their_argument() -> None:
    spec = ReadSpec(resource="orders", exhaustive=True).under({"von": "page", "zahl": "limit"})
    assert (spec.asks_for_all({"von": 2}), spec.asks_for_all({"von": 1})) == (False, True)
    assert spec.size_of({"zahl": 3}) == 3
    declared = ReadSpec(resource="orders", exhaustive=True, filters={"page": "leaf"}).under({"von": "page"})
    assert declared.asks_for_all({"von": 2})
    assert declared.filters_of({"von": 2}) == {"leaf": 2}
