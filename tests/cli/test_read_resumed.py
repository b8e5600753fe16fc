"""`unabridged read --resume`: what goes on, what is read afresh, and how the ids of both runs are told apart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("click")

from cli.saved import RESUMABLE, TOKEN, Place, cursors, ids, paged, records
from reading.served import Call, serving

PAGES = ([1, 2], [3, 4], [5])


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def changed(place: Place, *path: str, value: Any) -> None:
    """Changes one value of the status file."""
    status = place.status()
    at = status
    for part in path[:-1]:
        at = at[part]
    at[path[-1]] = value
    place.change_status(status)


def test_a_cursor_that_may_be_kept_is_gone_on_from(place: Place) -> None:
    with serving(paged(*PAGES, total=5)) as server:
        count = {"count": {"path": "total", "kind": "exact"}}
        first = place.run(server.url, "--max-pages", "2", **RESUMABLE, **count)
        assert first.exit_code == 3
        assert place.status()["checkpoint"]["place"]["step"]["value"] == {"is": "c2"}
        second = place.run(server.url, "--resume", **RESUMABLE, **count)
        assert cursors(server) == [None, "c1", "c2"]
    assert second.exit_code == 0
    assert ids(place.target) == [1, 2, 3, 4, 5]
    header = json.loads(second.stdout)
    assert (header["finding_count"], header["read"]["pages"], header["proof"]["level"]) == (5, 3, "counted")
    assert header["read"]["continues"] == json.loads(first.stdout)["read"]["id"]
    assert header["read"]["started_at"] == json.loads(first.stdout)["read"]["started_at"]
    assert "going on after 4 records" in second.stderr


def test_records_that_a_limit_held_back_come_first(place: Place) -> None:
    with serving(paged(*PAGES)) as server:
        assert place.run(server.url, "--max-items", "3", **RESUMABLE).exit_code == 3
        assert ids(place.part) == [1, 2, 3]
        assert place.run(server.url, "--resume", **RESUMABLE).exit_code == 0
        assert cursors(server) == [None, "c1", "c2"]
    assert ids(place.target) == [1, 2, 3, 4, 5]
    assert place.status()["header"]["finding_count"] == 5


def test_a_page_that_failed_is_asked_for_again(place: Place) -> None:
    blocked = [True]

    def respond(call: Call) -> None:
        if blocked[0] and call.query.get("cursor") == "c2":
            call.answer(429, retry_after="3600")
        else:
            paged(*PAGES)(call)

    with serving(respond) as server:
        first = place.run(server.url, **RESUMABLE)
        assert first.exit_code == 3
        assert json.loads(first.stdout)["continuation"]["kind"] == "retry_after"
        blocked[0] = False
        result = place.run(server.url, "--resume", **RESUMABLE)
        assert cursors(server) == [None, "c1", "c2", "c2"]
    assert result.exit_code == 0
    assert ids(place.target) == [1, 2, 3, 4, 5]


def test_a_resumed_read_inherits_what_its_earlier_pages_said(place: Place) -> None:
    def respond(call: Call) -> None:
        number = int(call.query.get("cursor", "c0")[1:])
        following = f"c{number + 1}" if number < 2 else None
        call.page({"items": [{"id": number}], "next": following, "lost": ["eu-1"] if number == 0 else []})

    signal = {"path": "lost", "when": "nonempty", "code": "SOURCE_UNAVAILABLE", "names_sources": True}
    with serving(respond) as server:
        assert place.run(server.url, "--max-pages", "1", signals=[signal], **RESUMABLE).exit_code == 3
        result = place.run(server.url, "--resume", signals=[signal], **RESUMABLE)
    assert result.exit_code == 3
    assert ids(place.part) == [0, 1, 2]
    assert [r["code"] for r in json.loads(result.stdout)["incomplete_reasons"]] == ["SOURCE_UNAVAILABLE"]


def test_a_key_walk_goes_on_after_its_last_record(place: Place) -> None:
    walk = {"by": "key", "from_item": "id", "send": {"query": "after"}, "unique": True, "ends_on": ["empty_page"]}

    def respond(call: Call) -> None:
        after = int(call.query.get("after", "0"))
        call.page({"items": [{"id": n} for n in range(after + 1, min(after + 3, 6))]})

    with serving(respond) as server:
        assert place.run(server.url, "--max-pages", "1", walk=walk, **RESUMABLE).exit_code == 3
        assert place.run(server.url, "--resume", walk=walk, **RESUMABLE).exit_code == 0
        assert [call.query.get("after") for call in server.calls] == [None, "2", "4", "5"]
    assert ids(place.target) == [1, 2, 3, 4, 5]


def test_without_the_word_of_the_profile_no_cursor_is_written_down_and_the_ids_are_compared(place: Place) -> None:
    with serving(paged([1, 2], [3, 4])) as server:
        assert place.run(server.url, "--max-pages", "1").exit_code == 3
        assert place.status()["checkpoint"]["place"] is None
        assert '"c1"' not in json.dumps(place.status())
    with serving(paged([2, 3], [5])) as server:
        changed(place, "checkpoint", "question", "url", value=_question_of(place, server.url))
        result = place.run(server.url, "--resume")
        assert cursors(server) == [None, "c1"]
    assert result.exit_code == 0
    assert ids(place.target) == [2, 3, 5]
    assert place.files() == {"things.jsonl", "things.jsonl.status.json"}
    assert place.status()["reconciled"] == {
        "earlier": 2, "again": 1, "new": 2, "gone": 1, "new_ids": [3, 5], "gone_ids": [1],
    }  # fmt: skip
    assert "a cursor may outlive its session" in result.stderr
    assert "of 2 ids of the earlier run 1 came again; 2 are new, 1 are gone since" in result.stderr


def _question_of(place: Place, url: str) -> str:
    """Returns the digest under which the earlier run would have asked at another address."""
    import hashlib

    salt = place.status()["checkpoint"]["question"]["salt"]
    return hashlib.sha256(f"{salt}\n{url}".encode()).hexdigest()


def test_what_a_partial_scan_does_not_bring_again_is_not_called_gone(place: Place) -> None:
    with serving(paged([1, 2], [3, 4], [5])) as server:
        assert place.run(server.url, "--max-pages", "2").exit_code == 3
        result = place.run(server.url, "--resume", "--max-pages", "1")
        assert result.exit_code == 3
        found = place.status()["reconciled"]
        assert (found["not_seen_again"], found["not_seen_again_ids"]) == (2, [3, 4])
        assert "gone" not in found
        assert "proves nothing" in result.stderr
        assert ids(place.part) == [1, 2]
        assert ids(place.folder / "things.jsonl.earlier") == [1, 2, 3, 4]
        assert place.run(server.url, "--resume").exit_code == 0
    assert place.status()["reconciled"]["earlier"] == 4
    assert place.files() == {"things.jsonl", "things.jsonl.status.json"}


def test_a_fresh_scan_that_brings_nothing_leaves_the_earlier_records(place: Place) -> None:
    dead = [False]
    with serving(lambda call: call.answer(401) if dead[0] else paged(*PAGES)(call)) as server:
        assert place.run(server.url, "--max-pages", "2").exit_code == 3
        dead[0] = True
        assert place.run(server.url, "--resume").exit_code == 4
        assert ids(place.part) == [1, 2, 3, 4]
        dead[0] = False
        assert place.run(server.url, "--resume").exit_code == 0
    assert place.status()["reconciled"]["earlier"] == 4


def test_the_records_of_several_unfinished_runs_survive_a_scan_that_brings_nothing(place: Place) -> None:
    dead = [False]
    with serving(lambda call: call.answer(401) if dead[0] else paged(*PAGES)(call)) as server:
        assert place.run(server.url, "--max-pages", "2").exit_code == 3
        assert place.run(server.url, "--resume", "--max-pages", "1").exit_code == 3
        dead[0] = True
        for _ in range(2):
            assert place.run(server.url, "--resume").exit_code == 4
            assert ids(place.part) == [1, 2, 3, 4, 1, 2]
            assert place.status()["records"] == 6
        dead[0] = False
        assert place.run(server.url, "--resume").exit_code == 0
    assert ids(place.target) == [1, 2, 3, 4, 5]
    assert place.status()["reconciled"]["earlier"] == 4


def test_a_fresh_scan_that_was_killed_before_it_began_loses_nothing(place: Place) -> None:
    with serving(paged(*PAGES)) as server:
        assert place.run(server.url, "--max-pages", "2").exit_code == 3
        place.part.rename(place.folder / "things.jsonl.earlier")
        assert place.run(server.url, "--resume").exit_code == 0
    assert place.status()["reconciled"]["earlier"] == 4
    assert place.files() == {"things.jsonl", "things.jsonl.status.json"}


@pytest.mark.parametrize("cursor", [{"resumable": True, "ttl_s": 60}, {"resumable": True, "ttl_s": 0}])
def test_a_cursor_that_has_outlived_its_time_is_not_sent(place: Place, cursor: dict[str, Any]) -> None:
    with serving(paged(*PAGES)) as server:
        assert place.run(server.url, "--max-pages", "2", cursor=cursor).exit_code == 3
        if cursor["ttl_s"]:
            changed(place, "checkpoint", "saved_at", value="2020-01-01T00:00:00Z")
        result = place.run(server.url, "--resume", cursor=cursor)
        assert cursors(server) == [None, "c1", None, "c1", "c2"]
    assert result.exit_code == 0
    assert f"a cursor of this service lives {cursor['ttl_s']} s" in result.stderr


def test_a_cursor_that_the_source_has_forgotten_is_told_and_the_next_run_begins_anew(place: Place) -> None:
    changes: dict[str, Any] = {"expired": [{"status": 410}], **RESUMABLE}
    dead = [False]

    def respond(call: Call) -> None:
        call.answer(410) if dead[0] and call.query else paged(*PAGES)(call)

    with serving(respond) as server:
        assert place.run(server.url, "--max-pages", "1", **changes).exit_code == 3
        dead[0] = True
        result = place.run(server.url, "--resume", **changes)
        assert result.exit_code == 3
        header = json.loads(result.stdout)
        assert [r["code"] for r in header["incomplete_reasons"]] == ["CONTINUATION_EXPIRED"]
        assert header["continuation"]["kind"] == "restart_scan"
        assert place.status()["checkpoint"]["place"] is None
        dead[0] = False
        assert place.run(server.url, "--resume", **changes).exit_code == 0
    assert ids(place.target) == [1, 2, 3, 4, 5]


def test_a_place_in_which_a_credential_stands_is_not_kept(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THINGS_TOKEN", "canary-5f3a91")
    with serving(lambda call: call.page({"items": [{"id": 1}], "next": "x-canary-5f3a91"})) as server:
        place.run(server.url, "--max-pages", "1", "--bearer-env", "THINGS_TOKEN", **RESUMABLE)
    assert place.status()["checkpoint"]["place"] is None
    assert "canary" not in json.dumps(place.status())


@pytest.mark.parametrize(
    ("more", "changes", "said"),
    [
        (["--filter", "a=1"], {}, "filters"),
        (["--resource", "widgets"], {}, "resource"),
        (["--page-size", "5"], {}, "page_size"),
        ([], {"version": 2}, "version"),
        ([], {"name": "others"}, "profile"),
    ],
)
def test_another_question_does_not_go_on_from_an_earlier_one(
    place: Place, more: list[str], changes: dict[str, Any], said: str
) -> None:
    with serving(paged(*PAGES)) as server:
        assert place.run(server.url, "--max-pages", "1", **RESUMABLE).exit_code == 3
        before = place.part.read_bytes()
        result = place.run(server.url, "--resume", *more, **RESUMABLE, **changes)
        assert len(server.calls) == 1
    assert result.exit_code == 2
    assert f"the earlier run asked otherwise ({said})" in " ".join(result.stderr.split())
    assert place.part.read_bytes() == before


def test_another_address_does_not_go_on_and_the_address_is_not_written_down(place: Place) -> None:
    with serving(paged(*PAGES)) as server:
        place.run(server.url, "--max-pages", "1", **RESUMABLE)
        assert server.url not in (place.folder / "things.jsonl.status.json").read_text()
        result = place.run(f"{server.url}?tenant=2", "--resume", **RESUMABLE)
    assert result.exit_code == 2
    assert "(url)" in result.stderr


@pytest.mark.parametrize("content", [b"", b'{"id":1}\n', b'{"id":1}\n{"id":9}\n', b"nonsense\nnonsense\n"])
def test_a_file_that_was_changed_since_is_not_gone_on_from(place: Place, content: bytes) -> None:
    with serving(paged(*PAGES)) as server:
        assert place.run(server.url, "--max-pages", "1", **RESUMABLE).exit_code == 3
        place.part.write_bytes(content)
        result = place.run(server.url, "--resume", **RESUMABLE)
        assert len(server.calls) == 1
    assert result.exit_code == 2
    assert "was changed since" in result.stderr


@pytest.mark.parametrize("content", ["", "{", "[]", '{"format": "canary"}', '{"format": "unabridged-read/1"}'])
def test_a_status_file_that_is_none_is_refused_without_its_content(place: Place, content: str) -> None:
    with serving(paged(*PAGES)) as server:
        assert place.run(server.url, "--max-pages", "1").exit_code == 3
        (place.folder / "things.jsonl.status.json").write_text(content)
        result = place.run(server.url, "--resume")
    assert result.exit_code == 2
    assert "canary" not in result.stderr


def test_a_whole_read_has_nothing_to_resume_and_nothing_at_all_is_begun(place: Place) -> None:
    with serving(paged(*PAGES)) as server:
        first = place.run(server.url, "--resume")
        assert first.exit_code == 0
        assert "there is nothing to resume" in first.stderr
        second = place.run(server.url, "--resume")
    assert second.exit_code == 2
    assert "complete already" in second.stderr


def test_records_without_an_identity_cannot_be_compared_and_that_is_said(place: Place) -> None:
    with serving(paged([1], [2])) as server:
        assert place.run(server.url, "--max-pages", "1", id=None).exit_code == 3
        result = place.run(server.url, "--resume", id=None)
    assert result.exit_code == 0
    assert records(place.target) == [{"id": 1}, {"id": 2}]
    assert "bear no ids of their own" in result.stderr
    assert place.status()["reconciled"] is None


def test_a_followed_link_is_kept_as_a_place(place: Place) -> None:
    walk = {"by": "link", "where": "body", "path": "next"}

    def respond(call: Call) -> None:
        last = "page" in call.query
        call.page({"items": [{"id": int(last)}], "next": None if last else "?page=2"})

    with serving(respond) as server:
        assert place.run(server.url, "--max-pages", "1", walk=walk, **RESUMABLE).exit_code == 3
        assert place.run(server.url, "--resume", walk=walk, **RESUMABLE).exit_code == 0
        assert [call.query for call in server.calls] == [{}, {"page": "2"}]
    assert ids(place.target) == [0, 1]


def test_the_status_file_is_for_its_owner_only(place: Place) -> None:
    with serving(paged(*PAGES)) as server:
        place.run(server.url, "--max-pages", "1", walk=TOKEN, **RESUMABLE)
    assert (place.folder / "things.jsonl.status.json").stat().st_mode & 0o077 == 0
