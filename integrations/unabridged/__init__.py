"""Read a source and know whether that was all of it.

```
from unabridged import read, session

with session("case-42") as s:
    orders = read("orders.json", "orders", url="https://api.example/orders")
    orders.status            # complete, partial, unknown or unavailable
    orders.require_complete()  # the items, or an error that says why not
```

Names are imported when they are first used, so that `import unabridged` costs little and needs no HTTP client.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .answers import Claim, FinalAnswer, caveats, judge_answer
    from .contract import Complete, Partial, ReadResult, Selection, Unavailable, Unknown, from_wire, merge
    from .evidence import Verdict, WriteIntent, current_session, judge_write, session
    from .profiles import Profile, load_profile
    from .reading import Budget, Query, aread, pages, read

_HOME = {
    "Budget": "reading",
    "Claim": "answers",
    "Complete": "contract",
    "FinalAnswer": "answers",
    "Partial": "contract",
    "Profile": "profiles",
    "Query": "reading",
    "ReadResult": "contract",
    "Selection": "contract",
    "Unavailable": "contract",
    "Unknown": "contract",
    "Verdict": "evidence",
    "WriteIntent": "evidence",
    "aread": "reading",
    "caveats": "answers",
    "current_session": "evidence",
    "from_wire": "contract",
    "judge_answer": "answers",
    "judge_write": "evidence",
    "load_profile": "profiles",
    "merge": "contract",
    "pages": "reading",
    "read": "reading",
    "session": "evidence",
}

__all__ = [
    "Budget",
    "Claim",
    "Complete",
    "FinalAnswer",
    "Partial",
    "Profile",
    "Query",
    "ReadResult",
    "Selection",
    "Unavailable",
    "Unknown",
    "Verdict",
    "WriteIntent",
    "aread",
    "caveats",
    "current_session",
    "from_wire",
    "judge_answer",
    "judge_write",
    "load_profile",
    "merge",
    "pages",
    "read",
    "session",
]


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
