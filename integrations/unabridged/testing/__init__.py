"""The kit for other people's tools: replay cases, a scripted transport, a virtual clock.

```
from unabridged.testing import run_case

def test_the_adapter_still_tells_a_cap_from_an_end():
    assert run_case("cases/orders-at-the-cap.json").ok
```
"""

from .case import Case, load_case
from .clock import REPLAY_START, VirtualClock
from .exchanges import Exchange, ExpectedRequest
from .expecting import Difference
from .run import CaseOutcome, default_url, run_case, run_file
from .script import AsyncScriptedTransport, ScriptedTransport, ScriptExhausted

__all__ = [
    "REPLAY_START",
    "AsyncScriptedTransport",
    "Case",
    "CaseOutcome",
    "Difference",
    "Exchange",
    "ExpectedRequest",
    "ScriptExhausted",
    "ScriptedTransport",
    "VirtualClock",
    "default_url",
    "load_case",
    "run_case",
    "run_file",
]
