"""`python -m benchmarks [NAME...] [--json]`: measures, and prints a table of figures against budgets.

Every benchmark runs in an interpreter of its own, so that none pays for what another imported. The exit code says
only whether the benchmarks ran: a missed budget is a line in the table, never a failure.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).parent
BENCHMARKS: Final = {
    "guard": "guard decision",
    "audit": "audit log",
    "envelope": "envelope",
    "imports": "import",
    "reading": "read against a raw loop",
    "dlt_client": "read against dlt",
    "flat": "cost by length",
    "memory": "memory",
    "artifact": "artifact",
    "tool_node": "LangGraph ToolNode",
    "agent": "create_agent",
    "llamaindex": "LlamaIndex tool",
}
_ONE: Final = "--one"


def main(arguments: list[str]) -> int:
    """Runs the benchmarks that were named, or all; returns 0, or 2 when one could not run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="What the toolkit costs.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one or more of: {', '.join(BENCHMARKS)}")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument(_ONE, action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"no such benchmark; there are {', '.join(BENCHMARKS)}")
    names = options.names or list(BENCHMARKS)
    if options.one:
        print(json.dumps([figure.to_json() for figure in import_module(f"benchmarks.{names[0]}").run()]))
        return 0
    report = {name: _in_its_own_interpreter(name) for name in names}
    if options.json:
        print(json.dumps({"machine": machine(), "benchmarks": report}, indent=2))
    else:
        print(table(report))
    return 0 if all(figures is not None for figures in report.values()) else 2


def _in_its_own_interpreter(name: str) -> list[dict[str, Any]] | None:
    print(f"{name} ...", file=sys.stderr, flush=True)
    command = [sys.executable, "-m", "benchmarks", _ONE, name]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(command, cwd=HERE.parent, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        print(f"{name} failed", file=sys.stderr)
        return None
    figures: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return figures


def machine() -> str:
    """Returns what the figures were taken on, in neutral words."""
    return f"{os.cpu_count()} shared cores, {platform.python_implementation()} {platform.python_version()}"


def table(report: dict[str, list[dict[str, Any]] | None]) -> str:
    """Returns the figures as a Markdown table, which is also what stands in `README.md`."""
    lines = [
        f"Taken on {machine()}.",
        "",
        "| benchmark | what | figure | ± | A/A | budget | verdict |",
        "|---|---|---:|---:|---:|---:|---|",
    ]
    for name, figures in report.items():
        if figures is None:
            lines.append(f"| {BENCHMARKS[name]} | could not run | | | | | error |")
            continue
        lines += [_line(BENCHMARKS[name], figure) for figure in figures]
    return "\n".join(lines)


def _line(title: str, figure: dict[str, Any]) -> str:
    unit, control = figure["unit"], figure["control"]
    sign = "≥ " if figure["at_least"] else "≤ "
    budget = "" if figure["budget"] is None else sign + _number(figure["budget"], unit)
    noise = _number(figure["noise"], unit) if figure["noise"] else ""
    what = f"{figure['what']} ({figure['note']})" if figure["note"] else figure["what"]
    cells = [
        title, what, _number(figure["value"], unit), noise, "" if control is None else f"{control:.3f}", budget,
        figure["verdict"],
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def _number(value: float, unit: str) -> str:
    if unit == "x":
        return f"{value:.3f}x"
    return f"{value:,.0f} {unit}" if value >= 100 or unit == "bytes" else f"{value:.2f} {unit}"


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
