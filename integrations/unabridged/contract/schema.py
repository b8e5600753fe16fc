"""The JSON Schema of the wire form, generated from the models.

`python -m unabridged.contract.schema` prints it; the copy in `wire.schema.json` is guarded by a test.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import Field, TypeAdapter

from .results import ReadResult
from .wire import _REQUIRED

PATH: Final = Path(__file__).with_name("wire.schema.json")


def json_schema() -> dict[str, Any]:
    """Returns the JSON Schema of `unabridged/1`."""
    adapter: TypeAdapter[Any] = TypeAdapter(Annotated[ReadResult, Field(discriminator="status")])
    schema = adapter.json_schema(mode="validation")
    for name in ("Complete", "Partial", "Unknown", "Unavailable"):
        schema["$defs"][name]["required"] = list(_REQUIRED)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "unabridged/1",
        "description": "The result of a read: whether it is complete, why not, and how to continue.",
        **schema,
    }


def rendered() -> str:
    """Returns the schema as the text that is kept in the repo."""
    return json.dumps(json_schema(), indent=2) + "\n"


if __name__ == "__main__":
    sys.stdout.write(rendered())
