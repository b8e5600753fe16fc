"""The hooks of `CoverageMiddleware` that cost time in every run or step; it gets them only where it needs them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.messages import BaseMessage
from unabridged.evidence import Session
from unabridged.gate.answering import MAX_CORRECTIONS, replacement_of

from ._answers import caveated, correction_for, final_text, is_final, judged_message
from ._guarded import carried_by
from ._history import look_back
from ._place import spec_here


class GivesCaveats(AgentMiddleware[Any, Any, Any]):
    """Adds the node at the end of a run that puts the caveats before the answer."""

    def after_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """Puts the caveats before the text of the last message."""
        found = self._session(state)  # type: ignore[attr-defined]
        messages = messages_of(state)
        if found is None or not messages:
            return None
        if state.get("structured_response") is not None:
            _note_structured(found, messages)
        look_back(found, messages, spec_of=spec_here)
        update = caveated(messages, found)
        return None if update is None else {"messages": update}


class WrapsModel(AgentMiddleware[Any, Any, Any]):
    """Adds the hook around the model that hides writes without evidence and sends unsupported answers back."""

    _strict: bool
    _hides: bool

    def wrap_model_call(self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Any]) -> Any:
        """Calls the model, with the tools that it may see, until its answer is supported."""
        found = self._session(request.state)  # type: ignore[attr-defined]
        request = self._visible(request, found)
        response = handler(request)
        for asked in range(MAX_CORRECTIONS + 1):
            again, response = self._mended(request, response, found, last=asked == MAX_CORRECTIONS)
            if again is None:
                break
            response = handler(again)
            request = again
        return response

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[Any]]
    ) -> Any:
        """As `wrap_model_call`, without blocking."""
        found = self._session(request.state)  # type: ignore[attr-defined]
        request = self._visible(request, found)
        response = await handler(request)
        for asked in range(MAX_CORRECTIONS + 1):
            again, response = self._mended(request, response, found, last=asked == MAX_CORRECTIONS)
            if again is None:
                break
            response = await handler(again)
            request = again
        return response

    def _visible(self, request: ModelRequest[Any], found: Session | None) -> ModelRequest[Any]:
        if not self._hides:
            return request
        visible = [t for t in request.tools if (gate := carried_by(t)) is None or gate.is_covered(found)]
        return request if len(visible) == len(request.tools) else request.override(tools=visible)

    def _mended(
        self, request: ModelRequest[Any], response: Any, found: Session | None, *, last: bool
    ) -> tuple[ModelRequest[Any] | None, Any]:
        """Returns the request that asks the model to mend its answer, or the response as it may be given."""
        result, structured = _parts(response)
        if not self._strict or found is None or not result or not is_final(result[0], structured):
            return None, response
        look_back(found, request.messages, spec_of=spec_here)
        draft = result[0]
        answer, wrong = judged_message(draft, structured, found)  # type: ignore[arg-type]
        if wrong is None:
            if answer.text == draft.text or structured is not None:
                return None, response
            return None, ModelResponse([final_text(draft, answer)])  # type: ignore[arg-type]
        if last:
            given = final_text(draft, replacement_of(answer, wrong))  # type: ignore[arg-type]
            return None, ModelResponse([given.model_copy(update={"tool_calls": []})])
        mended: Any = [*request.messages, *correction_for(result, wrong)]
        return request.override(messages=mended), response


_variants: Final[dict[tuple[type, ...], type]] = {}


def with_hooks(cls: type[Any], parts: tuple[type, ...]) -> type[Any]:
    parts = tuple(p for p in parts if not issubclass(cls, p))
    if not parts:
        return cls
    found = _variants.get((cls, *parts))
    if found is None:
        found = _variants[cls, *parts] = type(cls.__name__, (cls, *parts), {"__module__": cls.__module__})
    return found


def messages_of(state: Any) -> Sequence[BaseMessage]:
    """Returns the messages of a graph's state, whatever its form."""
    found = state if isinstance(state, list) else None
    if found is None:
        found = state.get("messages") if isinstance(state, dict) else getattr(state, "messages", None)
    return found or ()


def _parts(response: Any) -> tuple[list[BaseMessage], Any]:
    """Returns the messages of a model's response and its structured answer, whatever form a middleware gave it."""
    inner = getattr(response, "model_response", response)
    if isinstance(inner, BaseMessage):
        return [inner], None
    return list(inner.result), inner.structured_response


def _note_structured(found: Session, messages: Sequence[BaseMessage]) -> None:
    """Notes the calls by which a structured answer was given: no tool ran for them."""
    for message in reversed(messages):
        for call in getattr(message, "tool_calls", None) or ():
            found.note_call(call["id"])
        if getattr(message, "tool_calls", None):
            return
