"""What an agent learns: the declared fields of what an executor brought, and nothing else of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from .failures import ExecutorError
from .fields import Shape
from .values import as_json, plain


class Output:
    """The output of an action.

    Args of the constructor:
        model: what the agent may learn.

    Raises:
        InvalidInput: a field may hold too much.
    """

    def __init__(self, model: type[BaseModel]) -> None:
        self.model = model
        self.shape = Shape(model, side="output")

    def reduce(self, raw: Any) -> dict[str, Any]:
        """Returns the declared fields of a raw document as JSON values. Fields that were not declared are dropped.

        Args:
            raw: an object, a model, or nothing where every declared field has a default.

        Raises:
            ExecutorError: `provider_invalid_response`: a declared field is missing or of another kind.
        """
        made = self._made(raw)
        raw = None
        if made is None:
            raise ExecutorError(code="provider_invalid_response", may_have_happened=True)
        return made

    def _made(self, raw: Any) -> dict[str, Any] | None:
        if isinstance(raw, BaseModel):
            raw = {name: getattr(raw, name) for name in type(raw).model_fields}
        if raw is not None and not isinstance(raw, Mapping):
            return None
        try:
            picked = {n: raw[n] for n in self.model.model_fields if n in raw} if raw is not None else {}
            text = json.dumps(as_json(picked, lenient=True))
            made: dict[str, Any] = plain(
                self.model.__pydantic_validator__.validate_json(text, strict=True, extra="ignore")
            )
        except ValidationError:
            return None
        except Exception:  # noqa: BLE001 - an object of the provider's client, or a validator: whatever it raises may quote it
            return None
        return made
