# ruff: noqa: ARG001
"""Wrapping a tool loses nothing of it, and `protect` says what it was told wrong."""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import Annotated, Any

import pytest
from chat_scripts import calls, scripted
from langchain.agents import create_agent
from langchain.tools import InjectedState, InjectedStore, ToolRuntime
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, InjectedToolCallId, StructuredTool, tool
from langchain_kit import SECRET, Shop, call, codes, document, result, results
from langgraph.store.memory import InMemoryStore
from pydantic import BaseModel, ConfigDict, Field, field_validator
from unabridged.contract import InvalidInput
from unabridged.evidence import session
from unabridged_langchain import (
    CoverageMiddleware,
    CoverageWarning,
    FromArgument,
    as_read_tool,
    as_write_tool,
    neutral_tool,
    protect,
    read_tool,
    write_tool,
)


class Lookup(BaseModel):
    """The arguments of a lookup."""

    model_config = ConfigDict(extra="forbid")
    number: int = Field(description="the number", alias="no")


def rich_tool() -> StructuredTool:
    return StructuredTool.from_function(
        lambda number: [{"id": number}],
        name="rich",
        description="Looks up.",
        args_schema=Lookup,
        return_direct=True,
        tags=["a"],
        metadata={"m": 1},
        extras={"defer_loading": True},
        verbose=False,
    )


def test_nothing_of_a_tool_is_lost() -> None:
    plain = rich_tool()
    for guarded in (as_read_tool(plain, "orders"), as_write_tool(plain), protect([plain])[0]):
        assert guarded is not plain
        assert isinstance(guarded, StructuredTool)
        for field in type(plain).model_fields:
            if field not in ("func", "coroutine"):
                assert getattr(guarded, field) == getattr(plain, field), field
        assert guarded.tool_call_schema.model_json_schema() == plain.tool_call_schema.model_json_schema()
    assert plain.func is not None
    assert plain.func(number=3) == [{"id": 3}]


def test_an_own_artifact_is_kept_and_ours_is_left_out() -> None:
    @tool(response_format="content_and_artifact")
    def search(q: str) -> Any:
        """Searches."""
        return "two hits", {"hits": [1, 2]}

    guarded = as_read_tool(search, "hits")
    with session("artifact") as s:
        message = guarded.invoke(call("search", q="x"))
        assert message.artifact == {"hits": [1, 2]}
        assert document(message)["items"] == ["two hits"]
        assert [r.resource for r in s.reads] == ["hits"]
        assert document(guarded.invoke({"q": "x"}))["status"] == "unknown"


def test_a_judge_gets_content_and_artifact_where_the_tool_has_both() -> None:
    @tool(response_format="content_and_artifact")
    def search(q: str) -> Any:
        """Searches."""
        return "two hits", {"hits": [1, 2], "total": 2}

    seen: list[Any] = []

    def judge(value: Any, context: Any) -> Any:
        seen.append((value, context.tool, dict(context.args), context.session))
        return result(value[1]["hits"], resource="other")

    guarded = as_read_tool(search, "hits", judge=judge)
    with session("judge") as s:
        message = guarded.invoke(call("search", q="x"))
    assert seen == [(("two hits", {"hits": [1, 2], "total": 2}), "search", {"q": "x"}, s)]
    assert (document(message)["items"], document(message)["scope"]["resource"]) == ([1, 2], "hits")


def test_a_judge_does_not_run_on_a_result_and_one_that_raises_makes_the_read_unavailable() -> None:
    def broken(value: Any, context: Any) -> Any:
        raise KeyError(SECRET)

    @read_tool("orders", judge=broken)
    def own() -> Any:
        """Reads."""
        return result([{"id": 1}], resource="else")

    @read_tool("orders", judge=broken)
    def bare() -> Any:
        """Reads."""
        return [1]

    with session("judge-raises"):
        said = document(own.invoke({}))
        assert (said["status"], said["scope"]["resource"]) == ("complete", "orders")
        message = bare.invoke(call("bare"))
        assert (message.status, document(message)["status"]) == ("error", "unavailable")
        assert SECRET not in message.content


@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
async def test_injected_arguments_still_work_and_are_not_the_models_to_give(how: str) -> None:
    seen: list[Any] = []

    @tool
    def nosy(
        q: str,
        state: Annotated[Any, InjectedState],
        call_id: Annotated[str, InjectedToolCallId],
        store: Annotated[Any, InjectedStore()],
        runtime: ToolRuntime,
        config: RunnableConfig,
    ) -> Any:
        """Looks at everything."""
        seen.append((len(state["messages"]), call_id, type(store).__name__, runtime.tool_call_id, bool(config)))
        return [1]

    guarded = as_read_tool(nosy, "things", exhaustive=True)
    assert set(guarded.args) == {"q"} == set(nosy.args)
    forged = {"q": "x", "state": SECRET, "call_id": SECRET, "store": SECRET}
    agent = create_agent(
        scripted(calls(("nosy", forged, "n1"))), [guarded], middleware=[CoverageMiddleware()], store=InMemoryStore()
    )
    with session(f"injected-{how}") as s:
        given = {"messages": [HumanMessage("x")]}
        state = agent.invoke(given) if how == "invoke" else await agent.ainvoke(given)
        assert [dict(r.filters) for r in s.reads] == [{"q": "x"}]
    assert seen == [(2, "n1", "InMemoryStore", "n1", True)]
    assert document(results(state["messages"])[0])["status"] == "complete"


def test_undeclared_arguments_are_refused_before_the_body() -> None:
    shop = Shop()
    with session("undeclared-args"):
        message = shop.by_name()["list_orders"].invoke(call("list_orders", owner="x", status=SECRET))
    assert document(message) == {
        "error": "invalid_request",
        "tool": "list_orders",
        "problems": [{"field": "status", "rule": "is not an argument of this tool"}],
    }
    assert (message.status, shop.calls) == ("error", [])


CRASHES: dict[str, type[Exception]] = {
    "crash": RuntimeError,
    "crash too": TypeError,
    "crash as well": NotImplementedError,
}


class Strict(BaseModel):
    """Arguments with a validator."""

    name: str

    @field_validator("name")
    @classmethod
    def _check(cls, value: str) -> str:
        if value in CRASHES:
            raise CRASHES[value](value)
        raise ValueError(f"no: {value}")


@pytest.mark.parametrize("declare", [neutral_tool, write_tool, read_tool("x")])
@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
async def test_validation_errors_never_echo_values(declare: Any, how: str) -> None:
    @tool(args_schema=Strict)
    def strict(name: str) -> str:
        """Is strict."""
        return name

    guarded = declare(strict)
    sent = [{"name": SECRET}, {}, *({"name": name} for name in CRASHES)]
    agent = create_agent(
        scripted(*(calls(("strict", args)) for args in sent)), [guarded], middleware=[CoverageMiddleware()]
    )
    given = {"messages": [HumanMessage("x")]}
    state = agent.invoke(given) if how == "invoke" else await agent.ainvoke(given)
    said = results(state["messages"])
    assert [document(m)["error"] for m in said] == ["invalid_request"] * len(sent)
    assert all(m.status == "error" and SECRET not in m.content and "crash" not in m.content for m in said)
    for args in sent:
        direct = guarded.invoke(args) if how == "invoke" else await guarded.ainvoke(args)
        assert SECRET not in direct
        assert "crash" not in direct


SCHEMA = {
    "type": "object",
    "properties": {"q": {"type": "string"}, "n": {"type": "integer"}, "kind": {"enum": ["a", "b"]}},
    "required": ["q"],
}


async def test_a_tool_with_a_json_schema_is_async_only_and_checked() -> None:
    async def remote(**arguments: Any) -> Any:
        return [arguments]

    mcp_like = StructuredTool(
        name="remote",
        description="Calls a server.",
        args_schema=SCHEMA,
        coroutine=remote,
        metadata={"readOnlyHint": True},
    )
    guarded = as_read_tool(mcp_like, "things", exhaustive=True, deadline=True)
    assert guarded.args_schema["properties"]["q"] == {"type": "string"}
    assert "deadline_s" in guarded.args_schema["properties"]
    assert "deadline_s" not in SCHEMA["properties"]
    with session("json-schema"):
        assert document(await guarded.ainvoke({"q": "x", "n": 1}))["items"] == [{"q": "x", "n": 1}]
        for wrong in ({}, {"q": 5}, {"q": "x", "zzz": SECRET}, {"q": "x", "n": SECRET}, {"q": "x", "kind": SECRET}):
            said = await guarded.ainvoke(call("remote", **wrong))
            assert (said.status, document(said)["error"]) == ("error", "invalid_request")
            assert SECRET not in said.content
        with pytest.raises(NotImplementedError):
            guarded.invoke({"q": "x"})


def test_a_decorated_function_has_its_name_its_text_and_its_schema() -> None:
    @read_tool("orders")
    def list_orders(owner: str, limit: int = 5) -> Any:
        """Lists orders.

        More on orders.

        Args:
            owner: whose orders.
        """

    assert (list_orders.name, list_orders.args["owner"]["description"]) == ("list_orders", "whose orders.")
    assert list_orders.description.startswith("Lists orders.")
    assert list_orders.args["limit"]["default"] == 5


def test_methods_and_functions_without_a_text_are_taken() -> None:
    shop = Shop()

    def bare(x: int) -> int:
        return x

    tools = protect([shop.list_orders, bare], neutral=["bare"])
    assert [t.name for t in tools] == ["list_orders", "bare"]
    assert tools[1].invoke({"x": 3}) == 3


def test_protect_returns_a_new_list_and_leaves_the_given_tools_alone() -> None:
    @tool
    def wipe() -> str:
        """Wipes."""
        return "wiped"

    given = [wipe]
    made = protect(given, writes={"wipe": {}})
    assert given == [wipe]
    assert wipe.invoke({}) == "wiped"
    assert codes(made[0].invoke({})) == ["GUARD_FAILED"]


def test_protect_names_what_is_wrong() -> None:
    shop = Shop()
    with pytest.raises(InvalidInput, match="nobody: is declared, but no tool has this name"):
        protect([shop.add], neutral=["nobody"])
    with pytest.raises(InvalidInput, match="add: is the name of more than one tool"):
        protect([shop.add, shop.add], neutral=["add"])
    with pytest.raises(InvalidInput, match="add: is declared more than once"):
        protect([shop.add], neutral=["add"], writes={"add": {}})
    with pytest.raises(InvalidInput, match="runs at the model's provider"):
        protect([{"type": "web_search"}])  # type: ignore[list-item]
    with pytest.raises(InvalidInput, match="must be a tool or a function"):
        protect([Lookup])
    with pytest.raises(InvalidInput, match=r"archive\.targets: must be an argument of the tool"):
        protect([shop.archive], writes={"archive": {"targets": "id"}})
    with pytest.raises(InvalidInput, match=r"list_orders\.key: must be an argument of the tool"):
        as_read_tool(shop.list_orders, "orders", intent="lookup", key="id")
    with pytest.raises(InvalidInput, match="is declared by its decorator already"):
        protect([neutral_tool(shop.add)], neutral=["add"])
    with pytest.raises(InvalidInput, match="is declared already"):
        as_write_tool(neutral_tool(shop.add))
    with pytest.raises(InvalidInput, match="relies_on"):
        write_tool(relies_on=[])


def test_a_keyword_that_cannot_work_is_refused_when_it_is_declared() -> None:
    shop = Shop()
    for field, make in (
        ("recheck", lambda: as_write_tool(shop.archive, recheck=len)),
        ("recheck", lambda: protect([shop.archive], writes={"archive": {"recheck": 3}})),
        ("selection", lambda: as_write_tool(shop.archive, selection="token")),
        ("max_targets", lambda: as_write_tool(shop.archive, max_targets=3)),
        ("approval", lambda: as_write_tool(shop.archive, approval="sometimes")),
        ("approve", lambda: CoverageMiddleware(approve=True)),
        ("audit", lambda: CoverageMiddleware(audit=object())),
    ):
        with pytest.raises(InvalidInput, match=field):
            make()
    assert protect([shop.archive], writes={"archive": {"recheck": None}})[0].name == "archive"


def test_protect_warns_once_of_a_write_that_can_never_run() -> None:
    @tool
    def peek() -> list[int]:
        """Peeks."""
        return []

    @tool
    def wipe() -> str:
        """Wipes."""
        return "wiped"

    with pytest.warns(CoverageWarning, match="wipe") as caught:
        protect([peek, wipe], reads={"peek": "orders"}, writes={"wipe": ["orders"]})
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        protect([peek, wipe], reads={"peek": {"resource": "orders", "exhaustive": True}}, writes={"wipe": ["orders"]})


def test_decorated_tools_keep_their_declaration_in_protect() -> None:
    @read_tool("orders", exhaustive=True)
    def orders() -> list[Any]:
        """Lists."""
        return [{"id": 1}]

    shop = Shop()
    made = protect([orders, shop.archive], writes={"archive": ["orders"]})
    assert made[0] is orders
    with session("decorated"):
        orders.invoke({})
        assert made[1].invoke({"ids": [1]}) == "archived"


def test_a_renamed_tool_is_known_by_its_new_name() -> None:
    shop = Shop()
    tools = shop.by_name()
    tools["list_orders"].name = "orders_of_all"
    other = tools["archive"].model_copy(update={"name": "put_away"})
    turn = calls(("orders_of_all", {}), ("put_away", {"ids": [1]}))
    agent = create_agent(scripted(calls(("orders_of_all", {})), turn), [tools["list_orders"], other])
    with session("renamed") as s:
        state = agent.invoke({"messages": [HumanMessage("x")]})
        assert len(s.reads) == 2
    assert codes(next(m for m in results(state["messages"]) if m.name == "put_away")) == ["EVIDENCE_PENDING"]
    assert shop.written == []


def test_copies_are_guarded_and_pickling_is_refused() -> None:
    shop = Shop("partial")
    tools = shop.by_name()
    with session("copies"):
        tools["list_orders"].invoke({})
        for made in (copy.copy(tools["archive"]), copy.deepcopy(tools["archive"]), tools["archive"].model_copy()):
            assert codes(made.invoke({"ids": [1]})) == ["EVIDENCE_INCOMPLETE"]
    with pytest.raises((TypeError, pickle.PicklingError, AttributeError)):
        pickle.dumps(tools["archive"])


class Own(BaseTool):
    """A tool of a class of its own, with a state."""

    name: str = "own"
    description: str = "Has a state."
    count: int = 0

    def _run(self, step: int, config: RunnableConfig, run_manager: Any = None) -> str:
        self.count += step
        return f"{self.count} {'callbacks' in config}"


def test_a_tool_with_a_state_keeps_its_state() -> None:
    plain = Own()
    guarded = as_write_tool(plain, independent="counts")
    assert guarded.invoke({"step": 2}) == "2 True"
    assert guarded.invoke({"step": 2}) == "4 True"
    assert plain.count == 4
    assert guarded.args == plain.args
    assert document(guarded.invoke({"step": 1, "other": SECRET}))["error"] == "invalid_request"


def test_fields_are_all_that_a_model_sees_of_a_record() -> None:
    @read_tool("people", exhaustive=True, fields=["id"])
    def people() -> list[Any]:
        """Lists."""
        return [{"id": 1, "phone": SECRET}]

    with session("fields"):
        assert document(people.invoke({}))["items"] == [{"id": 1}]


def test_a_message_that_a_tool_returns_is_taken_apart() -> None:
    @tool
    def remote(q: str) -> Any:
        """Asks a server."""
        failed = q == "bad"
        return ToolMessage("text", artifact={"a": 1}, tool_call_id="c1", status="error" if failed else "success")

    guarded = as_read_tool(remote, "things")
    with session("message"):
        message = guarded.invoke(call("remote", q="good"))
        assert (document(message)["items"], message.artifact, message.status) == (["text"], {"a": 1}, "success")
        message = guarded.invoke(call("remote", q="bad"))
        assert (document(message)["status"], message.status) == ("unavailable", "error")


@pytest.mark.parametrize("middleware", [True, False])
def test_a_write_relies_on_the_reads_of_the_scope_that_its_call_names(middleware: bool) -> None:
    done: list[Any] = []

    @read_tool("accounts", exhaustive=True)
    def accounts(tenant: int) -> list[Any]:
        """Lists."""
        return [{"id": f"a{tenant}"}]

    def put_away(tenant: int, ids: list[str]) -> str:
        """Archives."""
        done.append((tenant, ids))
        return "archived"

    relies = [{"resource": "accounts", "filters": {"tenant": FromArgument("tenant")}}]
    tools = protect([accounts, put_away], writes={"put_away": {"relies_on": relies, "targets": "ids"}})
    turns = [
        calls(("accounts", {"tenant": 1})),
        calls(("put_away", {"tenant": 2, "ids": ["a1"]})),
        calls(("put_away", {"tenant": "1", "ids": ["a1"]})),
    ]
    layers = [CoverageMiddleware()] if middleware else []
    with session(f"from-argument-{middleware}"):
        state = create_agent(scripted(*turns), tools, middleware=layers).invoke({"messages": [HumanMessage("x")]})
    assert codes(results(state["messages"])[1]) == ["EVIDENCE_MISSING"]
    assert done == [(1, ["a1"])]
    wrong = [{"resource": "accounts", "filters": {"tenant": FromArgument("tennant")}}]
    with pytest.raises(InvalidInput, match="relies_on: must take a filter from an argument of the tool"):
        protect([put_away], writes={"put_away": wrong})
