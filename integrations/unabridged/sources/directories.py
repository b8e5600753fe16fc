"""A folder's entries, walked to the end: what was left out, could not be entered or changed meanwhile is said."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from unabridged._ambient import record
from unabridged.contract import (
    BudgetSpent,
    Continuation,
    InvalidInput,
    ItemCut,
    NextPage,
    Notice,
    Proof,
    ReadHeader,
    ReadResult,
    Reason,
    RepeatRead,
    RequestAccess,
    RestartScan,
    Scope,
    SourceOutcome,
    WidenScope,
    build_result,
    first_that_applies,
    new_handle,
    new_query_id,
    new_read_id,
    safe_id,
    status_for,
    with_ids,
    with_resume,
)
from unabridged.reading import Budget, Clock, SystemClock

from ._tree import Choice, Tree

ATTEMPTS: Final = 3
_NAME: Final = "directory"
_GOES_ON: Final = frozenset({"restart_scan", "next_page", "repeat_read"})


def read_directory(
    root: str | Path,
    *,
    resource: str,
    include: str | None = None,
    ignore: Sequence[str] = (),
    excludes: Sequence[str] = (),
    hidden: bool = True,
    follow: bool = False,
    budget: Budget | None = None,
    clock: Clock | None = None,
) -> ReadResult:
    """Reads every entry below a folder, in the order of their paths, and says whether these were all.

    Nothing is left out by itself: no ignore file is obeyed, and hidden entries count. What `ignore` or `hidden` leave
    out makes the read partial (`SCOPE_NARROWED`) as soon as there was such an entry. A folder that may not be entered
    is `VISIBILITY_RESTRICTED`, one that fails `PARTIAL_FAILURE`; each is named in `item_cuts`, as is an entry of which
    nobody can tell whether it is a folder. A folder whose entries changed between its turn and the end of the walk is
    `CONSISTENCY_LOST:mutated_during_read`. That files kept their contents is not said. The result records itself in
    the session in scope.

    A record is `{"id", "kind", "size", "modified"}`: the relative path, what it is (`file`, `directory`, `symlink`,
    `other`; `unknown` where only its name could be seen), bytes, and the UTC second of its last change. Bytes of a name
    that are no UTF-8 stand as `\\xNN`, and backslashes are then doubled.

    Args:
        root: the folder. One that is not there is unavailable, never empty.
        resource: the name of what is read.
        include: a pattern on names, or on relative paths where it holds a `/`: what is asked for, a filter of the
            scope. Folders are entered all the same.
        ignore: patterns of what to leave out although it was asked for.
        excludes: patterns of what is by definition no part of the resource; named in the scope and by a warning.
        hidden: whether names that begin with a dot are read.
        follow: whether symlinks to folders are entered, unless the folder was entered before, so that loops end.
        budget: `max_items`, `max_seconds` and `max_pages` (folders) hold; `Budget()` when not given.
        clock: the machine's clock when not given.

    Raises:
        InvalidInput: an argument breaks a rule.
    """
    for name, patterns in (("ignore", ignore), ("excludes", excludes)):
        if isinstance(patterns, str) or any(not isinstance(p, str) or not p for p in patterns):
            raise InvalidInput(field=name, rule="must be a list of patterns")
    if include == "":
        raise InvalidInput(field="include", rule="must be a pattern, or null")
    choice = Choice(include, tuple(ignore), tuple(excludes), hidden=hidden, follow=follow)
    ask = _Ask(Path(root), resource, choice, budget or Budget(), clock or SystemClock(), new_query_id())
    return _read(ask)


async def aread_directory(root: str | Path, **options: Any) -> ReadResult:
    """As `read_directory`, with the same keywords, in a thread."""
    return await asyncio.to_thread(read_directory, root, **options)


@dataclass(frozen=True)
class _Ask:
    root: Path = field(repr=False)
    resource: str
    choice: Choice
    budget: Budget
    clock: Clock
    query_id: str
    after: tuple[str, ...] = field(default=(), repr=False)
    """The path that the link before ended with."""
    stamps: dict[tuple[str, ...], Any] = field(default_factory=dict, repr=False)
    """What the folders of earlier links looked like."""
    earlier: str | None = None
    attempts_left: int = ATTEMPTS


@dataclass(frozen=True)
class DirectoryResume:
    """The way on: the rest of the walk after a path, or the whole of it anew."""

    ask: _Ask = field(repr=False)

    def read(self, *, budget: Budget | None = None) -> ReadResult:
        """Reads on, or anew."""
        return _read(self.ask if budget is None else replace(self.ask, budget=budget))

    async def aread(self, *, budget: Budget | None = None) -> ReadResult:
        """As `read`, in a thread."""
        return await asyncio.to_thread(self.read, budget=budget)


def _read(ask: _Ask) -> ReadResult:
    started_at = ask.clock.now()
    tree = Tree(ask.root, ask.choice, ask.budget, ask.clock, after=ask.after, stamps=ask.stamps)
    try:
        tree.walk()
    except BaseException:
        record(_result(ask, tree, [Reason(code="SOURCE_UNAVAILABLE", detail="cancelled", layer="client")], started_at))
        raise
    result = _result(ask, tree, _reasons(tree), started_at)
    record(result)
    return result


def _reasons(tree: Tree) -> list[Reason]:
    """What the facts of a walk mean; without any, every entry was seen."""
    reasons = [_failed(errno) for _, errno in tree.failures]
    if tree.unseen:
        reasons.append(Reason(code="VISIBILITY_RESTRICTED", detail="field", source=_NAME))
    if tree.root_errno is not None:
        return reasons
    if tree.ignored:
        reasons.append(Reason(code="SCOPE_NARROWED", layer="client", native={"entries": tree.ignored}))
    for code, detail, limit in tree.limits:
        reasons.append(Reason.model_validate({"code": code, "detail": detail, "limit": limit, "layer": "client"}))
    if tree.limits:
        reasons.append(Reason(code="MORE_PAGES_AVAILABLE", layer="client"))
    if tree.changed:
        reasons.append(Reason(code="CONSISTENCY_LOST", detail="mutated_during_read", source=_NAME))
    return reasons


def _failed(errno: int) -> Reason:
    """An error while a folder was entered. The root's own error stands here too."""
    native = {"errno": errno}
    if errno in Tree.FORBIDDEN:
        return Reason(code="VISIBILITY_RESTRICTED", detail="forbidden", source=_NAME, native=native)
    if errno in Tree.GONE:
        return Reason(code="SOURCE_UNAVAILABLE", detail="status", source=_NAME, native=native)
    return Reason(code="PARTIAL_FAILURE", source=_NAME, native=native)


def _result(ask: _Ask, tree: Tree, reasons: list[Reason], started_at: Any) -> ReadResult:
    broken_off = any(reason.detail == "cancelled" for reason in reasons)
    items = None if tree.root_errno is not None or broken_off else tree.items
    route = first_that_applies(_routes(ask, reasons)) if not broken_off else first_that_applies([])
    resumes = route.kind in _GOES_ON
    if resumes:
        route = route.model_copy(update={"handle": new_handle()})
    codes = tuple(dict.fromkeys(reason.code for reason in reasons))
    result = build_result(
        items=items,
        reasons=reasons,
        scope=_scope(ask),
        read=_header(ask, tree, started_at),
        continuation=route,
        proof=Proof(basis="server") if reasons else Proof(level="end_marker", end="last_entry", basis="server"),
        sources=(SourceOutcome(name=_NAME, status=status_for(items, codes), returned=len(items or ()), reasons=codes),),
        item_cuts=() if items is None else _cuts(tree),
        warnings=() if items is None else _notices(ask, tree),
    )
    if items is not None:
        with_ids(result, [item["id"] for item in items])
    return with_resume(result, DirectoryResume(_next(ask, tree, route, result.read.id))) if resumes else result


def _next(ask: _Ask, tree: Tree, route: Continuation, read_id: str) -> _Ask:
    if route.kind == "next_page":
        return replace(ask, after=tree.last or ask.after, stamps=dict(tree.stamps), earlier=read_id)
    fresh = replace(ask, after=(), stamps={}, earlier=None, query_id=new_query_id())
    return replace(fresh, attempts_left=ask.attempts_left - 1)


def _routes(ask: _Ask, reasons: Sequence[Reason]) -> list[Continuation]:
    codes = {reason.code for reason in reasons}
    routes: list[Continuation] = []
    if "CONSISTENCY_LOST" in codes and ask.attempts_left > 0:
        routes.append(RestartScan(why="consistency_lost"))
    if "MORE_PAGES_AVAILABLE" in codes:
        routes.append(NextPage())
    if "PARTIAL_FAILURE" in codes and ask.attempts_left > 0:
        routes.append(RepeatRead(attempts_left=ask.attempts_left))
    if "VISIBILITY_RESTRICTED" in codes:
        routes.append(RequestAccess())
    if "SCOPE_NARROWED" in codes:
        routes.append(WidenScope())
    return routes


def _scope(ask: _Ask) -> Scope:
    choice = ask.choice
    return Scope(
        resource=ask.resource,
        filters={} if choice.include is None else {"include": choice.include},
        excludes=(*choice.excludes, *choice.ignore, *(() if choice.hidden else ("hidden",))),
    )


def _cuts(tree: Tree) -> tuple[ItemCut, ...]:
    folders = [
        ItemCut(item=safe_id(name, n), field="entries", why="no_access" if e in Tree.FORBIDDEN else "source_failed")
        for n, (name, e) in enumerate(tree.failures, 1)
    ]
    unseen = [ItemCut(item=safe_id(name, n), field="size", why="no_access") for name, n in tree.unseen]
    return (*folders, *unseen)


def _notices(ask: _Ask, tree: Tree) -> tuple[Notice, ...]:
    notices = []
    if ask.choice.excludes:
        notices.append(Notice(code="DEFAULT_SCOPE_APPLIED", observed={"excluded": tree.excluded}))
    if tree.repeated:
        notices.append(Notice(code="DUPLICATES_REMOVED", observed={"folders": tree.repeated}))
    return tuple(notices)


def _header(ask: _Ask, tree: Tree, started_at: Any) -> ReadHeader:
    budget = ask.budget
    return ReadHeader(
        id=new_read_id(),
        query_id=ask.query_id,
        adapter=f"{_NAME}/1",
        started_at=started_at,
        finished_at=ask.clock.now(),
        requests=tree.folders,
        pages=tree.folders,
        order="path ascending",
        budget=BudgetSpent(
            max_pages=budget.max_pages,
            max_items=budget.max_items,
            max_seconds=budget.max_seconds,
            spent_seconds=round(tree.elapsed_s, 6),
        ),
        continues=ask.earlier,
    )
