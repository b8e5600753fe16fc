"""What a tool declares of its arguments: which names a call may use, which the framework gives, and a deadline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

from langchain_core.tools import BaseTool, Tool
from langchain_core.tools.base import (
    FILTERED_ARGS,
    _get_runnable_config_param,
    _is_injected_arg_type,
    get_all_basemodel_annotations,
)
from langchain_core.utils.pydantic import get_fields
from pydantic import BaseModel, Field, create_model
from unabridged.contract import InvalidInput
from unabridged.gate.arguments import aliases_of
from unabridged.gate.declare import MAX_DEADLINE_S

from ._body import DEADLINE

_DEADLINE_TEXT: Final = f"How many seconds to wait for the source, at most {MAX_DEADLINE_S:.0f}."


def injected_names(tool: BaseTool) -> frozenset[str]:
    """Returns the names of the arguments that the framework gives."""
    found = {*FILTERED_ARGS, *tool._injected_args_keys}
    if tool.args_schema is not None and not isinstance(tool.args_schema, dict):
        annotations = get_all_basemodel_annotations(tool.args_schema)
        found |= {name for name, kind in annotations.items() if _is_injected_arg_type(kind)}
    for code in (getattr(tool, "func", None), getattr(tool, "coroutine", None), tool._run):
        if code is not None and (name := _get_runnable_config_param(code)):
            found.add(name)
    return frozenset(found)


def declared_names(tool: BaseTool, schema: Any) -> dict[str, None]:
    """Returns the names that a call may use, in order: fields and their aliases."""
    if isinstance(schema, dict):
        return dict.fromkeys(schema.get("properties") or {})
    if isinstance(tool, Tool) and schema is None:
        return {"tool_input": None}
    fields = get_fields(tool.get_input_schema() if schema is None else schema)
    return dict.fromkeys([*fields, *aliases_of(fields)])


def aliases_in(tool: BaseTool, schema: Any) -> dict[str, str]:
    """Returns the other names under which a call may send the fields of a tool's schema, each with its field."""
    if isinstance(schema, dict) or (isinstance(tool, Tool) and schema is None):
        return {}
    return aliases_of(get_fields(tool.get_input_schema() if schema is None else schema))


def schema_defaults(schema: Any) -> dict[str, Any]:
    """Returns what stands in a JSON schema as the default of an argument: LangChain sends none, and the tool takes it.

    Of a pydantic model every default is sent.
    """
    rules = schema.get("properties") if isinstance(schema, dict) else None
    found = rules.items() if isinstance(rules, dict) else ()
    told = {name: rule.get("default") for name, rule in found if isinstance(rule, dict)}
    return {name: value for name, value in told.items() if value is not None}


def takes_any_name(tool: BaseTool) -> bool:
    schema = tool.args_schema
    if isinstance(schema, dict):
        return bool(schema.get("additionalProperties"))
    if isinstance(tool, Tool) and schema is None:
        return False
    config = getattr(schema, "model_config", None) or {}
    return config.get("extra") == "allow" if isinstance(config, Mapping) else False


def with_deadline(tool: BaseTool) -> Any:
    """Returns the tool's schema with an optional `deadline_s`, unless it has one."""
    schema = tool.args_schema
    if isinstance(schema, dict):
        properties = schema.get("properties") or {}
        rule = {"type": ["number", "null"], "description": _DEADLINE_TEXT}
        return {**schema, "properties": {DEADLINE: rule, **properties}}
    model = tool.get_input_schema() if schema is None else schema
    if not issubclass(model, BaseModel):
        raise InvalidInput(field="deadline", rule="needs a schema of pydantic 2")
    if DEADLINE in model.model_fields:
        return schema
    return create_model(
        model.__name__,
        __base__=model,
        __doc__=model.__doc__,
        **{DEADLINE: (Annotated[float | None, Field(description=_DEADLINE_TEXT)], None)},  # type: ignore[call-overload]
    )
