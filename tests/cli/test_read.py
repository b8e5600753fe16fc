"""`unabridged read` over a real server: what is saved, what it is worth, and what is refused before it is sent."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("click")

from cli.saved import TOKEN, Place, cursors, ids, paged, records
from click.testing import CliRunner
from reading.served import Call, serving
from unabridged.cli.app import cli
from unabridged.contract import from_wire

CANARY = "canary-5f3a91"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_a_complete_read_bears_its_own_name_and_prints_its_header(place: Place) -> None:
    with serving(paged([1, 2], [3], [])) as server:
        result = place.run(server.url)
    assert result.exit_code == 0
    assert ids(place.target) == [1, 2, 3]
    assert place.files() == {"things.jsonl", "things.jsonl.status.json"}
    header = json.loads(result.stdout)
    assert (header["status"], header["complete"], header["returned"], header["finding_count"]) == (
        "complete",
        True,
        3,
        3,
    )
    assert "items" not in header
    assert header["read"]["pages"] == 3
    assert header["proof"]["level"] == "end_marker"
    assert place.status()["complete"] is True
    assert place.status()["header"] == header
    assert "complete: 3 records in things.jsonl" in result.stderr


def test_a_complete_read_of_nothing_is_a_file_without_records(place: Place) -> None:
    with serving(paged([], [])) as server:
        result = place.run(server.url)
    assert result.exit_code == 0
    assert place.target.read_bytes() == b""
    header = json.loads(result.stdout)
    assert from_wire({**header, "items": []}).proves_absence()


def test_a_limit_of_ours_leaves_a_part_and_never_the_name_of_a_whole(place: Place) -> None:
    with serving(paged([1], [2], [3])) as server:
        result = place.run(server.url, "--max-pages", "2")
    assert result.exit_code == 3
    assert place.files() == {"things.jsonl.part", "things.jsonl.status.json"}
    assert ids(place.part) == [1, 2]
    header = json.loads(result.stdout)
    assert [r["code"] for r in header["incomplete_reasons"]] == ["CLIENT_LIMIT_REACHED", "MORE_PAGES_AVAILABLE"]
    assert (header["returned"], header["finding_count"], header["truncated"]) == (2, None, True)
    assert header["continuation"] == {"kind": "next_page"}
    assert place.status()["complete"] is False


def test_a_page_that_fails_keeps_the_pages_before_it(place: Place) -> None:
    def respond(call: Call) -> None:
        if call.query.get("cursor") == "c2":
            call.answer(403)
        else:
            paged([1], [2], [3])(call)

    with serving(respond) as server:
        result = place.run(server.url)
    assert result.exit_code == 3
    assert ids(place.part) == [1, 2]
    header = json.loads(result.stdout)
    assert header["status"] == "partial"
    assert [r["code"] for r in header["incomplete_reasons"]] == ["VISIBILITY_RESTRICTED"]
    assert (header["returned"], header["read"]["pages"], header["sources"][0]["returned"]) == (2, 2, 2)
    assert header["consistency"] == "interval"


def test_a_strict_profile_keeps_nothing_when_a_later_page_fails(place: Place) -> None:
    def respond(call: Call) -> None:
        call.answer(403) if call.query else call.page({"items": [{"id": 1}], "next": "c1"})

    with serving(respond) as server:
        result = place.run(server.url, on_failure="unavailable")
    assert result.exit_code == 4
    assert place.files() == {"things.jsonl.status.json"}


def test_a_first_page_that_fails_leaves_no_records_at_all(place: Place) -> None:
    with serving(lambda call: call.answer(401)) as server:
        result = place.run(server.url)
    assert result.exit_code == 4
    assert place.files() == {"things.jsonl.status.json"}
    assert json.loads(result.stdout)["status"] == "unavailable"
    assert place.status()["file"] is None
    assert "nothing follows from that" in result.stderr


def test_what_an_early_page_says_is_not_made_good_by_later_ones(place: Place) -> None:
    def respond(call: Call) -> None:
        lost = [] if call.query else ["eu-1"]
        call.page({"items": [{"id": call.number}], "next": None if call.query else "c1", "lost": lost})

    signal = {"path": "lost", "when": "nonempty", "code": "SOURCE_UNAVAILABLE", "names_sources": True}
    with serving(respond) as server:
        result = place.run(server.url, signals=[signal])
    assert result.exit_code == 3
    assert ids(place.part) == [0, 1]
    header = json.loads(result.stdout)
    assert [(r["code"], r["source"]) for r in header["incomplete_reasons"]] == [("SOURCE_UNAVAILABLE", "eu-1")]
    assert header["continuation"] == {"kind": "retry_sources", "names": ["eu-1"]}
    assert {s["name"]: s["status"] for s in header["sources"]}["eu-1"] == "unavailable"
    assert header["proof"]["level"] == "none"


def test_a_cut_record_on_an_early_page_makes_the_whole_partial(place: Place) -> None:
    def respond(call: Call) -> None:
        items = [{"id": call.number, "cut": not call.query}]
        call.page({"items": items, "next": None if call.query else "c1"})

    cut = {"path": "cut", "when": {"equals": True}, "field": "text", "why": "abridged"}
    with serving(respond) as server:
        result = place.run(server.url, item_cuts=[cut])
    header = json.loads(result.stdout)
    assert result.exit_code == 3
    assert [r["code"] for r in header["incomplete_reasons"]] == ["ITEM_TRUNCATED"]
    assert header["item_cuts"] == [{"item": 0, "field": "text", "why": "abridged"}]


def test_an_end_that_nobody_states_is_unknown(place: Place) -> None:
    walk = {"by": "offset", "send": {"query": "offset"}, "unit": "item", "origin": 0, "ends_on": []}
    with serving(lambda call: call.page({"items": [{"id": 1}] if call.number == 0 else []})) as server:
        result = place.run(server.url, walk=walk)
    assert result.exit_code == 3
    assert json.loads(result.stdout)["status"] in ("unknown", "partial")


def test_a_cap_that_a_count_disproves_at_the_end_is_no_reason(place: Place) -> None:
    changes: dict[str, Any] = {"caps": [{"limit": 2, "on": "items"}], "count": {"path": "total", "kind": "exact"}}
    with serving(paged([1, 2], [3], total=3)) as server:
        result = place.run(server.url, **changes)
    assert result.exit_code == 0
    assert json.loads(result.stdout)["proof"] == {"level": "counted", "end": "null", "count": 3, "basis": "document"}


def test_of_records_that_come_twice_the_later_version_is_kept(place: Place) -> None:
    def respond(call: Call) -> None:
        number = call.number
        call.page(
            {"items": [{"id": 7, "seen": number}, {"id": number, "seen": number}], "next": "c1" if not number else None}
        )

    with serving(respond) as server:
        result = place.run(server.url, duplicates="expected")
    assert result.exit_code == 0
    assert records(place.target) == [{"id": 0, "seen": 0}, {"id": 7, "seen": 1}, {"id": 1, "seen": 1}]
    assert json.loads(result.stdout)["finding_count"] == 3


def test_pages_that_do_not_wait_for_each_other_are_asked_for_together_and_saved_in_order(place: Place) -> None:
    walk = {"by": "offset", "send": {"query": "page"}, "unit": "page", "origin": 0, "ends_on": ["total"]}
    changes: dict[str, Any] = {"walk": walk, "count": {"path": "total", "kind": "exact"}}
    changes["size"] = {"send": {"query": "size"}, "max": 5}

    def respond(call: Call) -> None:
        number = int(call.query["page"])
        time.sleep(0.05 if number % 2 else 0.1)
        call.page({"items": [{"id": number * 5 + n} for n in range(5)], "total": 50})

    with serving(respond) as server:
        result = place.run(server.url, **changes)
    assert result.exit_code == 0
    assert ids(place.target) == list(range(50))
    assert len(server.calls) == 10


def test_filters_are_json_values_and_what_is_no_json_is_a_text(place: Place) -> None:
    filters = {"owner": {"query": "owner", "null": "none"}}
    given = ("owner=null", "active=true", "size=5", "name=a=b", 'code="5"', "tag=[1,2]")
    args = [part for text in given for part in ("--filter", text)]
    with serving(paged([1])) as server:
        result = place.run(server.url, *args, "--resource", "widgets", filters=filters)
        sent = server.calls[0].query
    assert result.exit_code == 0
    scope = json.loads(result.stdout)["scope"]
    assert scope["resource"] == "widgets"
    expected = {"owner": None, "active": True, "size": 5, "name": "a=b", "code": "5", "tag": [1, 2]}
    assert scope["filters"] == expected
    assert (sent["owner"], sent["active"], sent["size"], sent["name"], sent["code"]) == (
        "none",
        "true",
        "5",
        "a=b",
        "5",
    )


def test_limits_can_be_lifted_and_those_that_are_stated_stay(place: Place) -> None:
    with serving(paged([1], [2], [3])) as server:
        result = place.run(server.url, "--no-limit", "--max-items", "2", "--max-bytes", "5000", "--page-size", "1")
    assert json.loads(result.stdout)["read"]["budget"]["max_bytes"] == 5000
    assert json.loads(result.stdout)["read"]["budget"]["max_items"] == 2
    assert "max_pages" not in json.loads(result.stdout)["read"]["budget"]
    assert result.exit_code == 3
    assert ids(place.part) == [1, 2]


def test_records_may_go_to_standard_output_and_the_header_then_goes_to_standard_error(place: Place) -> None:
    with serving(paged([1], [2])) as server:
        result = CliRunner().invoke(cli, ["read", server.url, "--profile", str(place.profile()), "-o", "-", "--quiet"])
    assert result.exit_code == 0
    assert result.stdout == '{"id":1}\n{"id":2}\n'
    assert json.loads(result.stderr.splitlines()[-1])["complete"] is True
    assert place.files() == set()


def test_without_a_name_the_file_is_called_after_the_resource(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place.folder)
    with serving(paged([1])) as server:
        result = CliRunner().invoke(cli, ["read", server.url, "--profile", str(place.profile())])
    assert result.exit_code == 0
    assert ids(place.target) == [1]


def test_credentials_reach_their_origin_and_stand_nowhere_else(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THINGS_TOKEN", f"{CANARY}-bearer")
    monkeypatch.setenv("THINGS_KEY", f"{CANARY}-key")
    file = place.folder.parent / "headers.txt"
    file.write_text(f"# a comment\n\nX-File: {CANARY}-file\n")
    args = ["--bearer-env", "THINGS_TOKEN", "--header-env", "X-Key: THINGS_KEY", "--header-file", str(file)]
    with serving(paged([1], [2], [3])) as server:
        url = f"{server.url}?api_key={CANARY}-query"
        result = place.run(url, *args, "--header", f"X-Plain: {CANARY}-plain", "--max-pages", "2")
        headers = [call.headers for call in server.calls]
        assert all(call.query["api_key"] == f"{CANARY}-query" for call in server.calls)
    assert [h["authorization"] for h in headers] == [f"Bearer {CANARY}-bearer"] * 2
    assert headers[1]["x-key"] == f"{CANARY}-key"
    assert headers[1]["x-file"] == f"{CANARY}-file"
    assert headers[1]["x-plain"] == f"{CANARY}-plain"
    written = "".join(path.read_text() for path in place.folder.iterdir())
    assert CANARY not in result.output + result.stderr + written


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--bearer-env", "NO_SUCH_VARIABLE"], "the variable NO_SUCH_VARIABLE: must be set and not empty"),
        (["--header", CANARY], "--header: must be 'Name: value'"),
        (["--header", f"bad name: {CANARY}"], "headers: must have names in the grammar"),
        (["--header-file", f"/{CANARY}/none"], "--header-file: must name a UTF-8 file that can be read"),
        (["--filter", CANARY], "--filter: must be NAME=VALUE"),
        (["--filter", "a=1", "--filter", f"a={CANARY}"], "must not name a filter twice"),
        (["--output", f"/{CANARY}/none/x.jsonl"], "--output: must name a file in a folder that exists"),
        (["--output", "-", "--resume"], "--resume: needs a file"),
        (["--max-pages", "0"], "--max-pages"),
        (["--profile", "no_such_profile"], "must be the name of a shipped profile"),
    ],
)
def test_wrong_use_exits_with_2_before_anything_is_sent_and_shows_no_value(
    place: Place, args: list[str], said: str
) -> None:
    with serving(paged([1])) as server:
        result = place.run(server.url, *args)
        assert server.calls == []
    assert result.exit_code == 2
    assert result.stdout == ""
    assert said in " ".join(result.stderr.split())
    assert CANARY not in result.stderr
    assert place.files() == set()


@pytest.mark.parametrize("url", [f"https://u:{CANARY}@things.example/", "ftp://things.example/", "things", "https://"])
def test_an_address_that_is_none_or_that_holds_a_password_is_wrong_use(place: Place, url: str) -> None:
    result = place.run(url)
    assert result.exit_code == 2
    assert CANARY not in result.stderr
    assert place.files() == set()


def test_files_of_an_earlier_run_are_not_written_over_unless_that_is_asked_for(place: Place) -> None:
    with serving(paged([1], [2])) as server:
        assert place.run(server.url).exit_code == 0
        again = place.run(server.url)
        assert again.exit_code == 2
        assert "--resume or --overwrite" in again.stderr
        assert place.run(server.url, "--overwrite", "--max-pages", "1").exit_code == 3
        assert ids(place.target) == [1, 2], "the whole read stays until another whole one takes its place"
        assert place.run(server.url).exit_code == 2
        assert place.run(server.url, "--overwrite").exit_code == 0
    assert place.files() == {"things.jsonl", "things.jsonl.status.json"}


def test_a_fan_out_is_saved_source_by_source(place: Place) -> None:
    inner = {"name": "things", "version": 1, "items": "items", "id": "id", "walk": TOKEN}

    def respond(call: Call) -> None:
        if call.path.startswith("/us"):
            call.answer(403)
        else:
            paged([1], [2], [3])(call)

    walk = {"by": "fanout", "over": ["eu", "us"], "inner": inner}
    with serving(respond) as server:
        base = server.url.removesuffix("/things")
        profile = place.profile(walk=walk)
        document = json.loads(profile.read_text())
        profile.write_text(json.dumps({key: document[key] for key in ("name", "version", "walk")}))
        args = ["read", f"{base}/{{source}}/things", "--profile", str(profile), "--output", str(place.target)]
        result = CliRunner().invoke(cli, args)
        assert cursors(server) == [None, "c1", "c2", None]
    assert result.exit_code == 3
    assert ids(place.part) == [1, 2, 3]
    header = json.loads(result.stdout)
    assert {s["name"]: (s["status"], s["returned"]) for s in header["sources"]} == {
        "eu": ("complete", 3),
        "us": ("unavailable", 0),
    }
    assert header["returned"] == 3
