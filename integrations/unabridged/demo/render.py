"""The comparison for a person at a terminal: a minute to read."""

from __future__ import annotations

from collections import Counter
from typing import Any

from rich.console import Console, Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from .report import Comparison, DemoReport, RunReport

TITLES = {"langchain": "LangChain", "llamaindex": "LlamaIndex"}


def render(report: DemoReport, console: Console) -> None:
    """Prints the report. Texts of models are printed as they are, never as markup."""
    truth = report.truth
    console.print()
    console.print(Text(report.errand, style="italic"))
    console.print(
        f"{truth.accounts} accounts of {truth.tenants} tenants. Nobody owns {truth.unowned} of them; "
        f"{truth.unowned_hidden} of those are hidden from the agent's role."
    )
    console.print(_changes(report))
    for titles, comparison in _told_apart(report):
        if comparison.guarded.refusals:
            console.print(_refusals(titles, comparison.guarded))
        console.print(_answers(titles, comparison))
    console.print(f"{report.seconds:.1f} s, and nothing is left running.", style="dim")


def _told_apart(report: DemoReport) -> list[tuple[str, Comparison]]:
    """Returns each comparison with the frameworks it is true of: what went alike is told once."""
    groups: dict[tuple[Any, ...], tuple[list[str], Comparison]] = {}
    for name, comparison in report.frameworks.items():
        told = (
            comparison.guarded.refusals,
            comparison.plain.answer["text"],
            comparison.guarded.answer["text"],
            tuple(comparison.guarded.left_by_tenant.items()),
        )
        groups.setdefault(told, ([], comparison))[0].append(TITLES.get(name, name))
    return [(" and ".join(titles), comparison) for titles, comparison in groups.values()]


def _changes(report: DemoReport) -> Table:
    table = Table(title="What each run changed in the database", title_justify="left")
    table.add_column("run", no_wrap=True)
    for heading in ("archived", "rightly", "wrongly", "left", "refused", "s"):
        table.add_column(heading, justify="right")
    for name, comparison in report.frameworks.items():
        for kind, run in (("plain", comparison.plain), ("guarded", comparison.guarded)):
            table.add_row(
                f"{TITLES.get(name, name)}, {kind}",
                str(run.right_writes + run.wrong_writes),
                str(run.right_writes),
                Text(str(run.wrong_writes), style="bold red" if run.wrong_writes else "green"),
                str(run.left),
                str(len(run.refusals)),
                f"{run.seconds:.1f}",
            )
        table.add_section()
    table.caption = "rightly: nobody owned it. wrongly: somebody did. left: nobody owns it, still active."
    table.caption_justify = "left"
    return table


def _refusals(titles: str, run: RunReport) -> Table:
    table = Table(title=f"{titles}, guarded: the writes that were refused", title_justify="left")
    for heading in ("tenant", "times", "why, the last time", "and then"):
        table.add_column(heading, overflow="fold")
    times = Counter(refusal.tenant for refusal in run.refusals)
    last = {refusal.tenant: refusal for refusal in run.refusals}
    for tenant, refusal in last.items():
        left = run.left_by_tenant.get(tenant or "")
        table.add_row(
            Text(tenant or "-"),
            str(times[tenant]),
            Text("\n".join([" ".join(refusal.codes), *(f"  {reason}" for reason in refusal.reasons)])),
            Text(f"left alone ({left})" if left else "read on, archived", style="yellow" if left else "green"),
        )
    return table


def _answers(titles: str, comparison: Comparison) -> Group:
    plain = Panel(Text(comparison.plain.answer["text"]), title=f"{titles}, plain: the answer", border_style="red")
    guarded = Panel(
        Text(comparison.guarded.answer["text"]), title=f"{titles}, guarded: the answer", border_style="green"
    )
    return Group(plain, guarded, *_coverage(comparison.guarded.coverage))


def _coverage(coverage: Any) -> list[Table]:
    """Shows the coverage where it is a list of reads with a status."""
    reads = coverage if isinstance(coverage, list) else (coverage or {}).get("reads")
    if not isinstance(reads, list) or not all(isinstance(read, dict) for read in reads):
        return []
    table = Table(title="What that answer rests on", title_justify="left")
    table.add_column("resource")
    table.add_column("reads by status")
    by_resource: dict[str, Counter[str]] = {}
    for read in reads:
        by_resource.setdefault(str(read.get("resource")), Counter())[str(read.get("status"))] += 1
    for resource, statuses in by_resource.items():
        table.add_row(Text(resource), Text(", ".join(f"{n} {status}" for status, n in sorted(statuses.items()))))
    return [table]
