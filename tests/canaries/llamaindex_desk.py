"""The desk as an agent of LlamaIndex has it, with everything that LlamaIndex has to keep or show runs."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from canaries.desk import GOOD, ROWS, refund
from canaries.watching import IDS, READS, TheirOwn, Watch, beyond_scope, places
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.core.instrumentation import get_dispatcher  # type: ignore[attr-defined]
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.span import SimpleSpan
from llama_index.core.instrumentation.span_handlers import BaseSpanHandler
from llama_index.core.tools import FunctionTool
from llama_index.core.workflow import Context, JsonSerializer
from llama_scripts import Scripted, script
from unabridged_llamaindex import CoverageFunctionAgent, action_tool, protect

Means = Literal["action", "write", "bare"]
_ROUGH: Final = (
    (re.compile(r"\[\]|\.<key>"), ""),
    (re.compile(r"(tool_kwargs|arguments|raw_input)\b.*"), r"\1"),
    (re.compile(r"^(span [^.]*\.bound_args)\.kwargs\b.*"), r"\1.kwargs"),
)


_RUNNING: Final = ("self", "ctx", "workflow", "llm", "tools", "memory", "tool")
"""Arguments that are what runs, and not what it runs on."""


class Found:
    """Where canaries stood, by what was looked at; looked at once, when it came."""

    def __init__(self) -> None:
        self.places: dict[str, str] = {}
        self.kinds: set[str] = set()

    def look(self, what: str, value: Any) -> None:
        """Looks through a value now."""
        self.kinds.add(what)
        for place, hit in places(value, root=what).items():
            short = place
            for pattern, text in _ROUGH:
                short = pattern.sub(text, short)
            self.places[short] = hit


class Spans(BaseSpanHandler[SimpleSpan]):
    """A handler of spans as a vendor writes one."""

    found: Any = None

    def new_span(self, id_: str, bound_args: Any, instance: Any = None, parent_span_id: Any = None, tags: Any = None,
                 **kwargs: Any) -> SimpleSpan:  # fmt: skip
        """Looks at the start of a span."""
        name = id_.partition("-")[0]
        self.found.look(f"span {name}.bound_args", {n: v for n, v in bound_args.arguments.items() if n not in _RUNNING})
        self.found.look(f"span {name}.tags", tags)
        return SimpleSpan(id_=id_, parent_id=parent_span_id)

    def prepare_to_exit_span(self, id_: str, bound_args: Any, instance: Any = None, result: Any = None,
                             **kwargs: Any) -> Any:  # fmt: skip
        """Looks at the end of a span."""
        self.found.look(f"span {id_.partition('-')[0]}.result", result)
        return self.open_spans.get(id_)

    def prepare_to_drop_span(self, id_: str, bound_args: Any, instance: Any = None, err: Any = None,
                             **kwargs: Any) -> Any:  # fmt: skip
        """Looks at a span that ended by an error."""
        self.found.look(f"span {id_.partition('-')[0]}.err", err)
        return self.open_spans.get(id_)


class Events(BaseEventHandler):
    """A handler of events as a vendor writes one."""

    found: Any = None

    def handle(self, event: Any, **kwargs: Any) -> None:
        """Looks at an event."""
        self.found.look(f"event {type(event).__name__}", {n: getattr(event, n) for n in type(event).model_fields})


@contextmanager
def instrumented(*handlers: Any) -> Iterator[None]:
    """Lets handlers hear all that LlamaIndex tells, for a block."""
    root = get_dispatcher("root")
    kept = list(root.span_handlers), list(root.event_handlers)
    for each in handlers:
        (root.add_span_handler if isinstance(each, BaseSpanHandler) else root.add_event_handler)(each)
    try:
        yield
    finally:
        root.span_handlers, root.event_handlers = kept


def tools_of(provider: Any, means: Means, *, is_async: bool, **declared: Any) -> list[Any]:
    """Returns the tools: a read, and a refund as an action, as a protected write, or as a tool that nobody declared."""

    def list_orders(owner: str | None = None) -> Any:  # noqa: ARG001
        """Lists orders."""
        return [dict(row) for row in ROWS]

    def refund_now(ids: list[str], mail: str, cents: int) -> str:
        """Refunds orders."""
        return "refunded" if isinstance(provider.execute((ids, mail, cents)), dict) else "done"

    async def arefund(ids: list[str], mail: str, cents: int) -> str:
        """Refunds orders."""
        return "refunded" if isinstance(await provider.aexecute((ids, mail, cents)), dict) else "done"

    reads = {"list_orders": {"resource": "orders", "exhaustive": True, "fields": ["id", "state"]}}
    if means == "action":
        return [*protect([list_orders], reads=reads), action_tool(refund(provider, **declared))]
    code = {"async_fn": arefund} if is_async else {"fn": refund_now}
    tool = FunctionTool.from_defaults(name="refund", description="Refunds orders.", **code)
    if means == "bare":
        return [*protect([list_orders], reads=reads), tool]
    wanted = {"relies_on": ["orders"], "targets": "ids", **declared}
    return list(protect([list_orders, tool], reads=reads, writes={"refund": wanted}))


@dataclass
class Task:
    """A whole task of an agent, watched from everywhere."""

    found: Found = field(default_factory=Found)
    watch: Watch = field(default_factory=Watch)
    model: Scripted | None = None
    died: BaseException | None = None
    answer: Any = None

    def told(self) -> dict[str, str]:
        """Returns the canaries that reached the model, but for its own messages and the ids that a read told it."""
        assert self.model is not None
        told: dict[str, str] = {}
        for messages in self.model.seen:
            names = {b.tool_call_id: b.tool_name for m in messages for b in m.blocks if hasattr(b, "tool_call_id")}
            for m in messages:
                if m.role != "assistant":
                    name = names.get(m.additional_kwargs.get("tool_call_id"))
                    told |= places(beyond_scope(m.content), root=f"model.{m.role}.{name}")
        return {p: h for p, h in told.items() if not (p.rpartition(".")[2].startswith(READS) and h.startswith(IDS))}


async def run_task(
    provider: Any, means: Means, *, is_async: bool, args: Any = GOOD, coverage: bool = True, workflow: bool = False,
    reads: bool = True, wrap: Any = None, **declared: Any,
) -> Task:  # fmt: skip
    """Lets an agent read and refund, and returns all that was seen of it."""
    turns = [[("list_orders", {})]] if reads else []
    tools = tools_of(provider, means, is_async=is_async, **declared)
    return await follow(
        tools, [*turns, lambda _: [("refund", args)]], provider, is_theirs=means == "bare", coverage=coverage,
        workflow=workflow, wrap=wrap,
    )  # fmt: skip


async def follow(
    tools: list[Any], turns: list[Any], upstream: Any, *, is_theirs: bool = False, coverage: bool = True,
    workflow: bool = False, wrap: Any = None,
) -> Task:  # fmt: skip
    """Lets an agent with these tools play these turns, and returns all that was seen of it.

    Args:
        tools: the tools.
        turns: what its model says.
        upstream: the run is cancelled once this one hangs, where its mode says so.
        is_theirs: whether what comes out is what the author's own code raised.
        coverage: whether it is an agent of ours.
        workflow: whether it runs in an `AgentWorkflow`.
        wrap: what is put around each handler.
    """
    task = Task()
    task.model = script(*turns)
    agent: Any = (CoverageFunctionAgent if coverage else FunctionAgent)(name="desk", tools=tools, llm=task.model)
    agent = AgentWorkflow(agents=[agent]) if workflow else agent
    spans, events = Spans(), Events()
    spans.found = events.found = task.found
    context: Context[Any] = Context(agent)
    handlers = [wrap(h) for h in (spans, events)] if wrap else [spans, events]
    with task.watch, instrumented(*handlers):
        running = agent.run("Refund what is open.", ctx=context)
        try:
            if upstream.mode == "hangs":
                await asyncio.wait_for(upstream.holds.wait(), 60)
                await running.cancel_run()
            task.answer = await running
        except (Exception, TheirOwn, asyncio.CancelledError) as error:  # noqa: BLE001 - what comes out is looked at
            task.died = error
            task.watch.raised(error, is_theirs=is_theirs)
    if task.died is None:
        task.found.look("context", context.to_dict(serializer=JsonSerializer()))
    return task
