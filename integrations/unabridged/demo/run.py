"""Runs the demo: one database, one API, and for each framework the errand twice, each time on a fresh directory."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from unabridged.contract.errors import InvalidInput

from .api import serve
from .directory import Directory
from .errand import Errand
from .interrupts import interrupts
from .postgres import postgres
from .report import Comparison, DemoReport, RunReport, run_report
from .runs import FRAMEWORKS, Runner, find_runner

SCRIPTED = "scripted"
"""What stands for the model where the script decides."""


def run_demo(
    frameworks: Sequence[str] = FRAMEWORKS,
    *,
    model: str | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> DemoReport:
    """Runs the errand plain and guarded in each framework and compares.

    Starts its own PostgreSQL and HTTP API and takes both down again, also when it is interrupted.

    Args:
        frameworks: of `langchain` and `llamaindex`.
        model: `provider:name` for the LangChain half; without it, and in the other half, the script decides.
        progress: is told in a sentence what is going on.

    Raises:
        InvalidInput: an unknown framework, or a model without LangChain.
        MissingExtra: a framework, or the extra `demo`, is not installed.
        PostgresNotStarted: the database did not come up.
    """
    if model is not None and "langchain" not in frameworks:
        raise InvalidInput(field="model", rule="is for the LangChain half, which was left out")
    runners = {name: find_runner(name) for name in frameworks}
    return compare(runners, models={"langchain": model}, progress=progress)


def compare(
    runners: dict[str, Runner],
    *,
    models: dict[str, str | None] | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> DemoReport:
    """As `run_demo`, with the runners given instead of found."""
    started = time.monotonic()
    models = models or {}
    progress("starting PostgreSQL")
    with interrupts() as watch, postgres(watch=watch) as server, Directory(server) as directory:
        directory.create()
        truth = directory.truth()
        progress(f"filled it with {truth.accounts} accounts of {truth.tenants} tenants")
        compared = {}
        with serve(directory) as api, Errand(api) as errand:
            for name, runner in runners.items():
                runs = []
                for guarded in (False, True):
                    progress(f"{name}: the errand {'guarded' if guarded else 'with plain tools'}")
                    watch.check()
                    runs.append(_run(runner, errand, directory, guarded=guarded, model=models.get(name)))
                compared[name] = Comparison(plain=runs[0], guarded=runs[1], model=models.get(name) or SCRIPTED)
        progress("taking everything down")
    return DemoReport(
        errand=Errand.prompt, truth=truth, frameworks=compared, seconds=round(time.monotonic() - started, 2)
    )


def _run(runner: Runner, errand: Errand, directory: Directory, *, guarded: bool, model: str | None) -> RunReport:
    directory.reset()
    started = time.monotonic()
    outcome = runner(errand, guarded=guarded, model=model)
    return run_report(outcome, directory.changes(), seconds=time.monotonic() - started)
