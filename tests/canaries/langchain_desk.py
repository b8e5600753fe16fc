"""The desk as an agent of LangChain has it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from canaries.desk import GOOD, ROWS, Provider, Waiting, refund
from canaries.seen_by_langchain import Found, Hearing, Recorder, told_to_model
from canaries.watching import TheirOwn, Watch
from chat_scripts import Scripted, calls, scripted
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.tools import StructuredTool
from unabridged_langchain import CoverageMiddleware, action_tool, protect

Means = Literal["action", "write", "own", "bare"]
ASKED = {"messages": [HumanMessage("Refund what is open.")]}


class OwnEntry(StructuredTool):
    """A tool whose class has entries of its own, as some of a service's client libraries bring."""

    def invoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
        """Runs the tool."""
        return super().invoke(input, config, **kwargs)

    async def ainvoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
        """Runs the tool."""
        return await super().ainvoke(input, config, **kwargs)


def tools_of(provider: Any, means: Means, *, is_async: bool, **declared: Any) -> list[Any]:
    """Returns the tools: a read, and a refund.

    The refund is an action, a protected write, one whose class has an entry of its own, or a tool that nobody declared.
    """

    def list_orders(owner: str | None = None) -> Any:  # noqa: ARG001
        """Lists orders."""
        return [dict(row) for row in ROWS]

    def refund_now(ids: list[str], mail: str, cents: int) -> str:
        """Refunds orders."""
        told = provider.execute((ids, mail, cents))
        return "refunded" if isinstance(told, dict) else "done"

    async def arefund(ids: list[str], mail: str, cents: int) -> str:
        """Refunds orders."""
        told = await provider.aexecute((ids, mail, cents))
        return "refunded" if isinstance(told, dict) else "done"

    read = {"list_orders": {"resource": "orders", "exhaustive": True, "fields": ["id", "state"]}}
    if means == "action":
        return [*protect([list_orders], reads=read), action_tool(refund(provider, **declared))]
    code = {"coroutine": arefund} if is_async else {"func": refund_now}
    tool = (OwnEntry if means == "own" else StructuredTool).from_function(
        name="refund", description="Refunds orders.", **code
    )
    if means == "bare":
        return [*protect([list_orders], reads=read), tool]
    wanted = {"relies_on": ["orders"], "targets": "ids", **declared}
    return protect([list_orders, tool], reads=read, writes={"refund": wanted})


@dataclass
class Task:
    """A whole task of an agent, watched from everywhere."""

    found: Found = field(default_factory=Found)
    watch: Watch = field(default_factory=Watch)
    model: Scripted | None = None
    state: Any = None
    died: BaseException | None = None
    recorder: Recorder | None = None
    hearing: Hearing | None = None
    saver: Any = None

    @property
    def last_told(self) -> str:
        """What a tool said last."""
        told = [m for m in self.state["messages"] if m.type == "tool"]
        return str(told[-1].content)

    def told(self) -> dict[str, str]:
        """Returns the canaries that reached the model."""
        assert self.model is not None
        return told_to_model(self.model.seen)


async def run_task(
    provider: Any, means: Means, *, is_async: bool, args: Any = GOOD, middleware: bool = True, reads: bool = True,
    saver: Any = None, stream: bool = False, wrap: Any = None, **declared: Any,
) -> Task:  # fmt: skip
    """Lets an agent read and refund, and returns all that was seen of it."""
    turns = [calls(("list_orders", {"owner": None}))] if reads else []
    tools = tools_of(provider, means, is_async=is_async, **declared)
    return await follow(
        tools, [*turns, lambda _: calls(("refund", args))], provider, is_async=is_async, is_theirs=means == "bare",
        layers=[CoverageMiddleware()] if middleware else [], saver=saver, stream=stream, wrap=wrap,
    )  # fmt: skip


async def follow(
    tools: list[Any], turns: list[Any], upstream: Any, *, is_async: bool, is_theirs: bool = False,
    layers: Sequence[Any] = (), saver: Any = None, stream: bool = False, wrap: Any = None, asked: Any = ASKED,
    task: Task | None = None,
) -> Task:  # fmt: skip
    """Lets an agent with these tools play these turns, and returns all that was seen of it.

    Args:
        tools: the tools.
        turns: what its model says.
        upstream: the run is cancelled once this one hangs, where its mode says so.
        is_async: whether the agent is awaited.
        is_theirs: whether what comes out is what the author's own code raised.
        layers: the middleware.
        saver: the checkpointer.
        stream: whether the events are streamed.
        wrap: what is put around each tracer and handler.
        asked: what the agent is asked.
        task: the task that is gone on with.
    """
    task = task or Task()
    task.model = scripted(*turns)
    task.recorder, task.hearing, task.saver = Recorder(task.found), Hearing(task.found), saver
    agent = create_agent(task.model, tools, middleware=layers, checkpointer=saver)
    handlers = [task.recorder, task.hearing]
    config: Any = {"callbacks": [wrap(h) for h in handlers] if wrap else handlers, "configurable": {"thread_id": "t"}}
    with task.watch:
        try:
            if stream:
                async for event in agent.astream_events(asked, config, version="v2"):
                    task.found.look(f"astream_events.{event['event']}", event["data"])
            elif is_async:
                task.state = await _or_cancelled(agent.ainvoke(asked, config), upstream)
            else:
                task.state = agent.invoke(asked, config)
        except (Exception, TheirOwn, asyncio.CancelledError) as error:  # noqa: BLE001 - what comes out is looked at
            task.died = error
            task.watch.raised(error, is_theirs=is_theirs)
    if saver is not None:
        kept = [c async for c in saver.alist(None)] if is_async else [*saver.list(None)]
        task.found.look("checkpoint", [(c.checkpoint["channel_values"], c.pending_writes, c.metadata) for c in kept])
    return task


async def _or_cancelled(running: Any, provider: Any) -> Any:
    if getattr(provider, "mode", None) != "hangs":
        return await running
    task = asyncio.ensure_future(running)
    held = asyncio.ensure_future(provider.holds.wait())
    await asyncio.wait([task, held], return_when=asyncio.FIRST_COMPLETED)
    held.cancel()
    task.cancel()
    return await task


def provider_of(mode: str, *, is_async: bool) -> Provider:
    """Returns a provider in a mode."""
    return Waiting(mode) if is_async else Provider(mode)
