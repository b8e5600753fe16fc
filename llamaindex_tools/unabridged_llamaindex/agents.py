"""Agents that see their own turns and say what their answers rest on, alone and in an `AgentWorkflow`.

Only `take_step`, `handle_tool_call_results` and `finalize` of an agent run in both, so everything is done there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, Final

from llama_index.core.agent.workflow import AgentOutput, AgentStream, FunctionAgent, ToolCallResult
from llama_index.core.agent.workflow.prompts import DEFAULT_EARLY_STOPPING_PROMPT
from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock
from llama_index.core.bridge.pydantic import Field
from llama_index.core.memory import BaseMemory
from llama_index.core.objects import ObjectRetriever
from llama_index.core.tools import AsyncBaseTool, BaseTool, FunctionTool, adapt_to_async_tool
from unabridged._ambient import Boxed, Held, ambient
from unabridged.actions.approvals import Approver
from unabridged.answers import LANGUAGES
from unabridged.audit import AuditSink
from unabridged.contract import InvalidInput
from unabridged.evidence import current_session
from unabridged.gate import CONTINUE_READ, COUNT_READ, UNDECLARED, gate_of
from unabridged.gate.answering import coverage_of
from workflows import Context
from workflows.handler import WorkflowHandler

from .messages import calls_in
from .run import HANDOFF, Tools, Unseen, at_once, bound_to, caller, note_turn, session_of
from .tools import protected
from .verbs import continue_read_tool, count_read_tool

_LAST_STEP: Final = "unabridged_max_iterations"
"""Where the greatest number of steps is kept while the last one is stretched by one."""
_ADMITTED: Final = "unabridged_admitted"
"""Where the last answer that has its caveats is kept, so that none has them twice."""
_PLACE: Final = "\x00"


_caller: Final[ContextVar[Context[Any] | None]] = ContextVar("unabridged_llamaindex_caller", default=None)
"""The context of the workflow that a run was started by, where it joined the session of that."""


class GuardedTools(ObjectRetriever):  # type: ignore[type-arg]
    """A retriever of tools that puts what it finds behind the gate."""

    def __init__(self, retriever: Any) -> None:
        self.__dict__.update(retriever.__dict__)
        self._inner = retriever

    def retrieve(self, str_or_query_bundle: Any) -> list[Any]:
        """Returns the tools that the wrapped retriever finds."""
        return list(_guarded(self._inner.retrieve(str_or_query_bundle)))

    async def aretrieve(self, str_or_query_bundle: Any) -> list[Any]:
        """Returns the tools that the wrapped retriever finds."""
        return list(_guarded(await self._inner.aretrieve(str_or_query_bundle)))


class CoverageFunctionAgent(FunctionAgent):
    """A `FunctionAgent` whose answers carry their coverage.

    It adds `continue_read` and `count_read` to its tools, puts tools that nobody declared behind the gate, and writes
    the caveats before the text of each final answer: in the same message, in the memory, and as the last delta of a
    stream. `response.metadata["coverage"]` and the `additional_kwargs["coverage"]` of the message hold the coverage.
    """

    language: str | None = Field(default=None, description="The language of the caveats; that of the text by default.")
    approve: Any = Field(
        default=None, exclude=True, repr=False, description="Who decides on a card: (card) -> decision."
    )
    audit: Any = Field(default=None, exclude=True, repr=False, description="Where events of writes are written down.")

    def __init__(
        self,
        *args: Any,
        language: str | None = None,
        approve: Approver | None = None,
        audit: AuditSink | None = None,
        **kwargs: Any,
    ) -> None:
        if language is not None and language not in LANGUAGES:
            raise InvalidInput(field="language", rule=f"must be one of {', '.join(LANGUAGES)}")
        if approve is not None and not callable(approve):
            raise InvalidInput(field="approve", rule="must be a function of the card")
        if audit is not None and not callable(getattr(audit, "write", None)):
            raise InvalidInput(field="audit", rule="must be an audit log")
        super().__init__(*args, **kwargs)
        self.language = language
        self.approve, self.audit = approve, audit
        self._complete_tools()

    def run(self, *args: Any, **kwargs: Any) -> WorkflowHandler:
        """Runs the agent. In a step of another workflow it joins the session of that workflow."""
        outer = caller() if current_session() is None else None
        if outer is None:
            return super().run(*args, **kwargs)
        try:
            found = at_once(bound_to(outer, waits=False))
        except Unseen:
            found = None
        with Held(ambient, found), Held(_caller, outer):
            return super().run(*args, **kwargs)

    def _complete_tools(self) -> None:
        """Puts every tool behind a gate, also those that were given to the agent later."""
        given = _guarded(self.tools or ())
        self.tools = [*given, *_missing(given)]
        if self.tool_retriever is not None and not isinstance(self.tool_retriever, GuardedTools):
            self.tool_retriever = GuardedTools(self.tool_retriever)

    async def take_step(
        self, ctx: Any, llm_input: list[ChatMessage], tools: Sequence[AsyncBaseTool], memory: BaseMemory
    ) -> AgentOutput:
        """Takes a step, and writes down what it asks for before any of that runs."""
        self._complete_tools()
        history = Boxed(llm_input)
        del llm_input
        if (outer := _caller.get()) is not None:
            await bound_to(outer)
        shown = [adapt_to_async_tool(t) for t in _guarded(tools, but=HANDOFF)]
        shown += [adapt_to_async_tool(t) for t in _missing(shown)]
        await session_of(ctx, tools=Tools(_by_name(shown), notes=self.scratchpad_key))
        await _forget_answer(ctx)
        output = await super().take_step(ctx, history.take(), shown, memory)
        if await self._is_last_step(ctx):
            output = await self._stop_early(ctx, output, memory)
        await note_turn(ctx, output.tool_calls, agent=self.name)
        if not output.tool_calls and not output.retry_messages:
            await self._admit(ctx, output, streams=True)
        return output

    async def finalize(self, ctx: Any, output: AgentOutput, memory: BaseMemory) -> AgentOutput:
        """Writes what the answer must admit into it, before it is written to the memory."""
        if not await _hands_off(ctx, output):
            await self._admit(ctx, output)
        limit = await ctx.store.get(_LAST_STEP, default=None)
        if limit is not None:
            await ctx.store.set("max_iterations", limit)
            await ctx.store.set(_LAST_STEP, None)
        return await super().finalize(ctx, output, memory)

    async def _admit(self, ctx: Any, output: AgentOutput, *, streams: bool = False) -> None:
        session = await session_of(ctx, tools=Tools(_by_name(self.tools or ()), notes=self.scratchpad_key))
        if session is None:
            raise InvalidInput(field="session", rule="must be in scope where a workflow has a state of its own")
        said = output.response.content or ""
        answer = session.judge_answer(said, language=self.language)
        if said and said == await ctx.store.get(_ADMITTED, default=None):
            before, after = "", ""
        else:
            before, _, after = str(replace(answer, text=_PLACE)).partition(_PLACE)
        response = _with_text(output.response, before, after)
        response.additional_kwargs["coverage"] = coverage_of(answer)
        await ctx.store.set(_ADMITTED, response.content)
        scratchpad = list(await ctx.store.get(self.scratchpad_key, default=[]))
        if scratchpad and scratchpad[-1].role == MessageRole.ASSISTANT and not calls_in(scratchpad[-1]):
            await ctx.store.set(self.scratchpad_key, [*scratchpad[:-1], response])
        output.response = response
        output.metadata = {"coverage": coverage_of(answer)}
        if streams and self.streaming and before + after:
            delta = f"\n\n{(before + after).strip()}"
            text = response.content or ""
            ctx.write_event_to_stream(AgentStream(delta=delta, response=text, current_agent_name=self.name))

    async def _is_last_step(self, ctx: Any) -> bool:
        """Tells whether LlamaIndex would now end the run with an answer that no agent sees."""
        if await ctx.store.get("early_stopping_method", default="force") != "generate":
            return False
        taken = await ctx.store.get("num_iterations", default=0)
        limit = await ctx.store.get("max_iterations", default=None)
        return limit is not None and taken + 1 >= limit

    async def _stop_early(self, ctx: Any, output: AgentOutput, memory: BaseMemory) -> AgentOutput:
        """Gives the answer of an early stop as an answer of this agent, so that it passes `finalize`."""
        limit = await ctx.store.get("max_iterations")
        await ctx.store.set(_LAST_STEP, limit)
        await ctx.store.set("max_iterations", limit + 1)
        if not output.tool_calls and not output.retry_messages:
            return output
        messages = [*([ChatMessage(role="system", content=self.system_prompt)] if self.system_prompt else [])]
        messages += await memory.aget()
        prompt = DEFAULT_EARLY_STOPPING_PROMPT.format(max_iterations=limit)
        reply = await self._get_llm_response(ctx, [*messages, ChatMessage(role="system", content=prompt)])
        scratchpad = list(await ctx.store.get(self.scratchpad_key, default=[]))
        await ctx.store.set(self.scratchpad_key, [*scratchpad[:-1], reply.message])  # the calls that will not be run
        return AgentOutput(response=reply.message, raw=reply.raw, current_agent_name=self.name)


async def _forget_answer(ctx: Any) -> None:
    """Forgets the last answer: what an earlier run said may be said again, where other caveats hold."""
    if await ctx.store.get(_ADMITTED, default=None) is not None:
        await ctx.store.set(_ADMITTED, None)


def _guarded(tools: Iterable[Any], *, but: str | None = None) -> list[BaseTool]:
    given = [t if isinstance(t, BaseTool) else FunctionTool.from_defaults(t) for t in tools]
    return [t if t.metadata.name == but or gate_of(t) is not None else protected(t, UNDECLARED) for t in given]


def _by_name(tools: Iterable[Any]) -> dict[str, Any]:
    return {tool.metadata.get_name(): tool for tool in tools}


def _missing(tools: Iterable[Any]) -> list[BaseTool]:
    """Returns the toolkit's own tools that are not among these."""
    names = _by_name(tools)
    makers = ((CONTINUE_READ, continue_read_tool), (COUNT_READ, count_read_tool))
    return [make() for name, make in makers if name not in names]


def _with_text(message: ChatMessage, before: str, after: str) -> ChatMessage:
    """Returns the message with text before and after its own text; all its other blocks stay."""
    blocks = list(message.blocks)
    places = [n for n, block in enumerate(blocks) if isinstance(block, TextBlock)]
    if not places:
        blocks = [TextBlock(text=before + after), *blocks] if before + after else blocks
    else:
        first, last = places[0], places[-1]
        blocks[first] = TextBlock(text=before + blocks[first].text)  # type: ignore[union-attr]
        blocks[last] = TextBlock(text=blocks[last].text + after)  # type: ignore[union-attr]
    return ChatMessage(role=message.role, blocks=blocks, additional_kwargs=dict(message.additional_kwargs))


async def _hands_off(ctx: Any, output: AgentOutput) -> bool:
    """Tells whether a run goes on with another agent: its first result that is given directly is a hand-off."""
    if not output.tool_calls:
        return False
    count = await ctx.store.get("num_tool_calls", default=0)
    results: list[ToolCallResult] = list(await ctx.store.get("current_tool_calls", default=[]))[-count:]
    direct = [r for r in results if r.return_direct and not r.tool_output.is_error]
    return bool(direct) and direct[0].tool_name == HANDOFF
