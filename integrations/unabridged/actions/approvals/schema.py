"""The JSON Schema of a card, generated from its models.

`python -m unabridged.actions.approvals.schema` prints it; the copy in `card.schema.json` is guarded by a test.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Final

from .document import CardDocument

PATH: Final = Path(__file__).with_name("card.schema.json")


def json_schema() -> dict[str, Any]:
    """Returns the JSON Schema of `unabridged-card/1`."""
    schema = CardDocument.model_json_schema()
    schema.pop("title")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "unabridged-card/1", **schema}


def rendered() -> str:
    """Returns the schema as the text that is kept in the repo."""
    return json.dumps(json_schema(), indent=2) + "\n"


if __name__ == "__main__":
    sys.stdout.write(rendered())
