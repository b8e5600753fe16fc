"""Handlers of spans and events that learn what happens and no value of it.

LlamaIndex hands the arguments of calls, the messages and the results to every handler, and a summary of the arguments
in the tags of each step. `redacted(handler)` passes spans and events on with names, types and sizes in their place.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, Final, TypeVar

from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.span_handlers import BaseSpanHandler
from pydantic import BaseModel
from unabridged.contract import InvalidInput, printable_name
from unabridged.gate.outlining import Redacted, outline

_Handler = TypeVar("_Handler", BaseSpanHandler[Any], BaseEventHandler)
_KEPT_TAGS: Final = ("llamaindex.run_id", "llamaindex.step.input_event", "llamaindex.step.name")
_KEPT_FIELDS: Final = ("timestamp", "id_", "span_id")


def _bound(bound: inspect.BoundArguments) -> inspect.BoundArguments:
    told = {name: outline(value) for name, value in bound.arguments.items() if name != "self"}
    names = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in told]
    return inspect.BoundArguments(inspect.Signature(names), told)


def _tags(tags: Mapping[str, Any] | None) -> dict[str, Any]:
    return {name: value for name, value in (tags or {}).items() if name in _KEPT_TAGS}


def _event(event: Any) -> Any:
    """Returns an event of the same kind, whose fields are outlines."""
    if not isinstance(event, BaseModel):
        return event
    names = type(event).model_fields
    told = {n: getattr(event, n) if n in _KEPT_FIELDS else outline(getattr(event, n)) for n in names if n != "tags"}
    if "tags" in names:
        told["tags"] = _tags(getattr(event, "tags", None))
    return type(event).model_construct(**told)


class RedactingSpans(BaseSpanHandler[Any]):
    """Passes spans on to another handler without a value. Made by `redacted`."""

    inner: Any = None

    def new_span(
        self,
        id_: str,
        bound_args: inspect.BoundArguments,
        instance: Any | None = None,
        parent_span_id: str | None = None,
        tags: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Any:
        """Begins a span of the other handler."""
        return self.inner.new_span(
            id_=id_, bound_args=_bound(bound_args), instance=None, parent_span_id=parent_span_id, tags=_tags(tags)
        )

    def span_enter(
        self,
        id_: str,
        bound_args: inspect.BoundArguments,
        instance: Any | None = None,
        parent_id: str | None = None,
        tags: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Lets the other handler enter a span."""
        self.inner.span_enter(
            id_=id_, bound_args=_bound(bound_args), instance=None, parent_id=parent_id, tags=_tags(tags)
        )

    def span_exit(
        self,
        id_: str,
        bound_args: inspect.BoundArguments,
        instance: Any | None = None,
        result: Any | None = None,
        **kwargs: Any,
    ) -> None:
        """Lets the other handler leave a span."""
        self.inner.span_exit(id_=id_, bound_args=_bound(bound_args), instance=None, result=outline(result))

    def span_drop(
        self,
        id_: str,
        bound_args: inspect.BoundArguments,
        instance: Any | None = None,
        err: BaseException | None = None,
        **kwargs: Any,
    ) -> None:
        """Lets the other handler drop a span."""
        fault = None if err is None else Redacted(printable_name(type(err).__name__))
        del err
        self.inner.span_drop(id_=id_, bound_args=_bound(bound_args), instance=None, err=fault)

    def prepare_to_exit_span(
        self,
        id_: str,
        bound_args: inspect.BoundArguments,
        instance: Any | None = None,
        result: Any | None = None,
        **kwargs: Any,
    ) -> Any:
        """Ends a span of the other handler."""
        return self.inner.prepare_to_exit_span(
            id_=id_, bound_args=_bound(bound_args), instance=None, result=outline(result)
        )

    def prepare_to_drop_span(
        self,
        id_: str,
        bound_args: inspect.BoundArguments,
        instance: Any | None = None,
        err: BaseException | None = None,
        **kwargs: Any,
    ) -> Any:
        """Ends a span of the other handler that failed."""
        fault = None if err is None else Redacted(printable_name(type(err).__name__))
        return self.inner.prepare_to_drop_span(id_=id_, bound_args=_bound(bound_args), instance=None, err=fault)

    def capture_propagation_context(self) -> dict[str, Any]:
        """Returns what the other handler hands to another process."""
        found: dict[str, Any] = self.inner.capture_propagation_context()
        return found

    def restore_propagation_context(self, context: dict[str, Any]) -> None:
        """Hands to the other handler what another process gave."""
        self.inner.restore_propagation_context(context)

    def close(self) -> None:
        """Closes the other handler."""
        self.inner.close()


class RedactingEvents(BaseEventHandler):
    """Passes events on to another handler without a value. Made by `redacted`."""

    inner: Any = None

    def handle(self, event: Any, **kwargs: Any) -> Any:
        """Hands an event on."""
        return self.inner.handle(_event(event))

    async def ahandle(self, event: Any, **kwargs: Any) -> Any:
        """Hands an event on."""
        return await self.inner.ahandle(_event(event))


def redacted(handler: _Handler) -> _Handler:
    """Returns a handler that passes everything on to another with names, types and sizes in the place of values.

    Add it in the place of the other: `get_dispatcher().add_span_handler(redacted(handler))`. Ids of spans and runs and
    the kinds of events pass as they are; errors pass as the name of their kind.

    Args:
        handler: a handler of spans or of events.

    Raises:
        InvalidInput: it is neither.
    """
    made: Any
    if isinstance(handler, BaseSpanHandler):
        made = RedactingSpans()
    elif isinstance(handler, BaseEventHandler):
        made = RedactingEvents()
    else:
        raise InvalidInput(field="handler", rule="must be a handler of spans or of events")
    made.inner = handler
    return made  # type: ignore[no-any-return] # a handler of the same kind
