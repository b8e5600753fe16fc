"""Walking folders: what was left out, could not be entered or changed meanwhile is said."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from unabridged import Budget, session
from unabridged.contract import InvalidInput, resume_of
from unabridged.reading import SystemClock
from unabridged.sources._tree import _modified
from unabridged.sources.directories import aread_directory, read_directory

TREE = ["a", "a/1.py", "a/2.txt", "a.txt", "b", "b/.env", "b/deep", "b/deep/3.py", "c"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in TREE:
        path = tmp_path / name
        if "." in path.name:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(name)
        else:
            path.mkdir(parents=True, exist_ok=True)
    return tmp_path


def keys(result: Any) -> list[str]:
    return [reason.key for reason in result.reasons]


@contextmanager
def unprivileged() -> Iterator[None]:
    """The superuser may enter every folder; then somebody else reads."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def closed() -> Iterator[Path]:
    """A tree in which one folder may not be entered, another only be listed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        for part in ("closed", "listed", "open"):
            (folder / part).mkdir()
            (folder / part / "x").write_text("")
        (folder / "closed").chmod(0o700 if os.geteuid() == 0 else 0)
        (folder / "listed").chmod(0o744 if os.geteuid() == 0 else 0o400)
        try:
            yield folder
        finally:
            for part in ("closed", "listed"):
                (folder / part).chmod(0o755)


class Meddling(SystemClock):
    """A clock that lets something happen when it is looked at for the n-th time, in the middle of a walk."""

    def __init__(self, at: int, happens: Any) -> None:
        object.__setattr__(self, "_left", [at])
        object.__setattr__(self, "_happens", happens)

    def monotonic(self) -> float:
        self._left[0] -= 1  # type: ignore[attr-defined]
        if self._left[0] == 0:  # type: ignore[attr-defined]
            self._happens()  # type: ignore[attr-defined]
        return super().monotonic()

    def now(self) -> datetime:
        return datetime.now(UTC)


def test_every_entry_is_read_in_the_order_of_its_path_hidden_ones_too(root: Path) -> None:
    with session("directories-whole") as s:
        result = read_directory(root, resource="files")
        assert [read.status for read in s.reads] == ["complete"]
    assert (result.status, list(result.ids)) == ("complete", TREE)
    assert (result.proof.level, result.proof.end, result.read.pages) == ("end_marker", "last_entry", 5)
    assert (result.items or [])[1]["kind"] == "file"


def test_an_empty_folder_is_complete_and_one_that_is_not_there_is_unavailable(root: Path) -> None:
    empty, missing = read_directory(root / "c", resource="files"), read_directory(root / "no", resource="files")
    no_folder = read_directory(root / "a.txt", resource="files")
    assert (empty.status, empty.items) == ("complete", [])
    for result in (missing, no_folder):
        assert (result.status, result.items, keys(result)) == ("unavailable", None, ["SOURCE_UNAVAILABLE:status"])


def test_a_pattern_that_is_asked_for_is_a_filter_of_the_scope(root: Path) -> None:
    result = read_directory(root, resource="files", include="*.py")
    assert (result.status, result.ids) == ("complete", ("a/1.py", "b/deep/3.py"))
    assert result.scope.filters == {"include": "*.py"}
    below = read_directory(root, resource="files", include="b/*.py")
    assert below.ids == ("b/deep/3.py",)


@pytest.mark.parametrize("options", [{"ignore": ["deep"]}, {"hidden": False}])
def test_what_is_left_out_narrows_the_scope_and_is_named(root: Path, options: Any) -> None:
    result = read_directory(root, resource="files", **options)
    assert (result.status, keys(result), result.continuation.kind) == ("partial", ["SCOPE_NARROWED"], "widen_scope")
    assert result.scope.excludes == (("deep",) if "ignore" in options else ("hidden",))
    assert result.reasons[0].native == {"entries": 1}


def test_a_rule_that_left_nothing_out_narrows_nothing(root: Path) -> None:
    result = read_directory(root / "a", resource="files", ignore=[".git"])
    assert (result.status, result.scope.excludes) == ("complete", (".git",))


def test_what_is_no_part_of_the_resource_is_a_warning_and_stands_in_the_scope(root: Path) -> None:
    result = read_directory(root, resource="sources", excludes=["deep", ".env"])
    assert (result.status, result.scope.excludes) == ("complete", ("deep", ".env"))
    assert [notice.code for notice in result.warnings] == ["DEFAULT_SCOPE_APPLIED"]


def test_everything_ignored_is_partial_and_empty(root: Path) -> None:
    result = read_directory(root, resource="files", ignore=["*"])
    assert (result.status, result.items, keys(result)) == ("partial", [], ["SCOPE_NARROWED"])


def test_a_folder_that_may_not_be_entered_is_named_and_the_rest_is_read(closed: Path) -> None:
    with unprivileged():
        result = read_directory(closed, resource="files")
    assert (result.status, result.ids) == ("partial", ("closed", "listed", "listed/x", "open", "open/x"))
    assert keys(result) == ["VISIBILITY_RESTRICTED:forbidden", "VISIBILITY_RESTRICTED:field"]
    assert [(cut.item, cut.field, cut.why) for cut in result.item_cuts] == [
        ("closed", "entries", "no_access"), ("#3", "size", "no_access"),
    ]  # fmt: skip
    assert result.continuation.kind == "request_access"


def test_a_root_that_may_not_be_entered_is_unavailable(closed: Path) -> None:
    with unprivileged():
        result = read_directory(closed / "closed", resource="files")
    assert (result.status, keys(result)) == ("unavailable", ["VISIBILITY_RESTRICTED:forbidden"])


def test_symlinks_are_entries_and_are_not_entered(root: Path) -> None:
    (root / "c" / "up").symlink_to(root)
    (root / "c" / "broken").symlink_to(root / "no")
    result = read_directory(root / "c", resource="files")
    assert (result.status, result.ids) == ("complete", ("broken", "up"))
    assert {item["kind"] for item in result.items or []} == {"symlink"}


def test_a_loop_of_symlinks_is_entered_once(root: Path) -> None:
    (root / "c" / "up").symlink_to(root)
    (root / "c" / "self").symlink_to("self")
    result = read_directory(root, resource="files", follow=True)
    assert (result.status, list(result.ids)) == ("complete", [*TREE, "c/self", "c/up"])
    assert [notice.code for notice in result.warnings] == ["DUPLICATES_REMOVED"]


def test_a_symlink_that_comes_first_takes_nothing_away_from_its_folder(root: Path) -> None:
    (root / "0").symlink_to(root / "b")
    below = ["0/.env", "0/deep", "0/deep/3.py"]
    whole = read_directory(root, resource="files", follow=True)
    assert (whole.status, list(whole.ids)) == ("complete", ["0", *below, *TREE])
    link = read_directory(root, resource="files", follow=True, budget=Budget(max_items=2))
    seen = list(link.ids)
    while link.continuation.kind == "next_page":
        link = resume_of(link).read()
        seen += link.ids
    assert seen == list(whole.ids)


@pytest.mark.parametrize("limit", [{"max_items": 2}, {"max_pages": 2}])
def test_a_limit_of_ours_is_exact_and_the_walk_goes_on_after_it(root: Path, limit: Any) -> None:
    link = read_directory(root, resource="files", budget=Budget(**limit))
    seen = list(link.ids)
    while link.continuation.kind == "next_page":
        assert keys(link) == [f"CLIENT_LIMIT_REACHED:{next(iter(limit))}", "MORE_PAGES_AVAILABLE"]
        earlier, link = link, resume_of(link).read()
        assert link.read.continues == earlier.read.id
        seen += link.ids
    assert (link.status, seen) == ("complete", TREE)


def test_a_limit_that_the_last_entry_meets_was_not_touched(root: Path) -> None:
    assert read_directory(root, resource="files", budget=Budget(max_items=len(TREE))).status == "complete"


def test_our_time_limit_keeps_what_was_read(root: Path) -> None:
    result = read_directory(root, resource="files", budget=Budget(max_seconds=1e-9))
    assert (result.status, result.items) == ("partial", [])
    assert keys(result) == ["TIME_BUDGET_EXCEEDED:max_seconds", "MORE_PAGES_AVAILABLE"]
    assert resume_of(result).read(budget=Budget()).ids == tuple(TREE)


@pytest.mark.parametrize("happens", ["create", "delete", "rename", "remove the folder"])
def test_a_folder_that_changes_while_the_walk_goes_on_makes_it_doubtful(root: Path, happens: str) -> None:
    def meddle() -> None:
        match happens:
            case "create":
                (root / "a" / "new").write_text("")
            case "delete":
                (root / "a" / "1.py").unlink()
            case "rename":
                (root / "b" / "deep" / "3.py").rename(root / "a" / "moved.py")
            case _:
                (root / "c").rmdir()

    clock = Meddling(6, meddle)
    result = read_directory(root, resource="files", budget=Budget(max_seconds=60), clock=clock)
    assert (result.status, keys(result)) == ("partial", ["CONSISTENCY_LOST:mutated_during_read"])
    assert (result.continuation.kind, result.consistency) == ("restart_scan", "not_established")
    assert resume_of(result).read(budget=Budget()).status == "complete"


def test_a_change_between_two_links_is_seen_by_the_last(root: Path) -> None:
    first = read_directory(root, resource="files", budget=Budget(max_items=4))
    (root / "a" / "new").write_text("")
    last = resume_of(first).read(budget=Budget())
    assert (last.status, keys(last)) == ("partial", ["CONSISTENCY_LOST:mutated_during_read"])


def test_names_that_are_no_text_are_still_listed(root: Path) -> None:
    os.close(os.open(os.fsencode(root / "c") + b"/\xff", os.O_CREAT))
    result = read_directory(root / "c", resource="files")
    assert (result.status, result.ids) == ("complete", ("\\xff",))


async def test_a_walk_on_an_event_loop_is_recorded_in_the_callers_session(root: Path) -> None:
    with session("directories-async") as s:
        result = await aread_directory(root, resource="files")
        assert (result.status, [read.status for read in s.reads]) == ("complete", ["complete"])


@pytest.mark.parametrize("wrong", [{"ignore": "a"}, {"excludes": [""]}, {"include": ""}])
def test_what_is_no_pattern_is_refused(root: Path, wrong: Any) -> None:
    with pytest.raises(InvalidInput):
        read_directory(root, resource="files", **wrong)


def test_what_may_be_a_folder_but_cannot_be_looked_at_is_named_also_where_it_was_not_asked_for(closed: Path) -> None:
    with unprivileged():
        result = read_directory(closed / "listed", resource="files", include="*.md")
    assert (result.status, result.items, keys(result)) == ("partial", [], ["VISIBILITY_RESTRICTED:forbidden"])
    assert [(cut.item, cut.field, cut.why) for cut in result.item_cuts] == [("x", "entries", "no_access")]


def test_a_symlink_that_leads_where_nobody_may_look_is_named_when_symlinks_are_followed(closed: Path) -> None:
    (closed / "open" / "away").symlink_to(closed / "closed" / "x")
    (closed / "open" / "gone").symlink_to(closed / "nowhere")
    with unprivileged():
        result = read_directory(closed / "open", resource="files", follow=True)
        entries = read_directory(closed / "open", resource="files")
    assert (result.status, result.ids) == ("partial", ("away", "gone", "x"))
    assert [(cut.item, cut.why) for cut in result.item_cuts] == [("away", "no_access")]
    assert entries.status == "complete"


class Reset(Meddling):
    """A clock beside a file system whose own clock is so coarse that a change leaves a folder's time as it was."""

    def __init__(self, at: int, folder: Path) -> None:
        def happens() -> None:
            found = folder.stat()
            (folder / "new").write_text("")
            os.utime(folder, ns=(found.st_atime_ns, found.st_mtime_ns))

        super().__init__(at, happens)


def test_a_change_within_one_tick_of_the_file_system_is_seen(root: Path) -> None:
    result = read_directory(root, resource="files", budget=Budget(max_seconds=60), clock=Reset(6, root / "a"))
    assert (result.status, keys(result)) == ("partial", ["CONSISTENCY_LOST:mutated_during_read"])


def test_a_change_within_one_tick_between_two_links_is_seen(root: Path) -> None:
    first = read_directory(root, resource="files", budget=Budget(max_items=4))
    Reset(1, root / "a").monotonic()
    last = resume_of(first).read(budget=Budget())
    assert (last.status, keys(last)) == ("partial", ["CONSISTENCY_LOST:mutated_during_read"])


def test_no_two_names_read_alike(root: Path) -> None:
    names = [b"\xff", rb"\xff", rb"\\xff", b"\\\xff", rb"a\b"]
    for name in names:
        os.close(os.open(os.fsencode(root / "c") + b"/" + name, os.O_CREAT))
    result = read_directory(root / "c", resource="files")
    assert result.status == "complete"
    assert sorted(result.ids) == sorted([r"\xff", r"\\xff", r"\\\\xff", r"\\\xff", r"a\b"])


@pytest.mark.parametrize("kind", ["pipe", "device", "socket"])
def test_what_is_neither_file_nor_folder_is_an_entry_and_is_not_opened(root: Path, kind: str) -> None:
    path = root / "c" / kind
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(os.fspath(path))
    else:
        path = Path("/dev/null")
    result = read_directory(path.parent, resource="files", include=path.name, budget=Budget(max_pages=None))
    assert [item["kind"] for item in result.items or [] if item["id"] == path.name] == ["other"]


def test_a_time_that_no_calendar_holds_is_none() -> None:
    found = os.stat_result((0,) * 10, {"st_mtime_ns": 1 << 72})
    assert _modified(found) is None
