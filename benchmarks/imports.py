"""What imports cost over pydantic, in CPU time of fresh interpreters, and that no framework comes along."""

from __future__ import annotations

import random
import statistics
from typing import Final

from .children import output_of
from .harness import Figure

_ROUNDS: Final = 21
_CPU: Final = "; import time; print(time.process_time())"
_BASE: Final = (
    "import pydantic\nclass Base(pydantic.BaseModel):\n    name: str = ''\nimport time; print(time.process_time())"
)
_PROGRAMS: Final = {
    "pydantic": _BASE,
    "control": _BASE,
    "import unabridged": f"import pydantic, unabridged\n{_BASE}",
    "from unabridged import merge": f"from unabridged import merge\n{_BASE}",
    "from unabridged import session": f"from unabridged import session\n{_BASE}",
    "from unabridged import read": f"from unabridged import read\n{_BASE}",
    "import httpx": f"import httpx\n{_BASE}",
}
_BUDGETS_MS: Final = {"import unabridged": 30.0}
"""What a name costs when it is first used has no budget, and is shown beside."""
_FRAMEWORKS: Final = (
    "import sys, unabridged\n"
    "for name in unabridged.__all__: getattr(unabridged, name)\n"
    "roots = {m.partition('.')[0] for m in sys.modules}\n"
    "print(len(roots & {'langchain', 'langchain_core', 'langgraph', 'llama_index', 'workflows', 'unabridged_langchain',"
    " 'unabridged_llamaindex'}))"
)


def run() -> list[Figure]:
    """Measures imports in interleaved rounds of interpreters."""
    draw = random.Random(1)
    order = list(_PROGRAMS)
    times: dict[str, list[float]] = {name: [] for name in order}
    for program in _PROGRAMS.values():
        output_of(program)
    for _ in range(_ROUNDS):
        draw.shuffle(order)
        for name in order:
            times[name].append(float(output_of(_PROGRAMS[name])) * 1e3)
    medians = {name: statistics.median(found) for name, found in times.items()}
    noise = 1.57 * statistics.median([abs(t - medians["pydantic"]) for t in times["pydantic"]]) / _ROUNDS**0.5 * 2
    control = medians["control"] / medians["pydantic"]
    figures = [
        Figure(
            what=name, value=medians[name] - medians["pydantic"], unit="ms", budget=_BUDGETS_MS.get(name), noise=noise,
            control=control, note=f"over pydantic and one class, {medians['pydantic']:.0f} ms",
        )
        for name in _PROGRAMS
        if name not in ("pydantic", "control")
    ]  # fmt: skip
    loaded = Figure(
        what="frameworks in sys.modules, every public name used",
        value=float(output_of(_FRAMEWORKS)),
        unit="modules",
        budget=0,
    )
    return [*figures, loaded]
