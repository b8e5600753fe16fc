"""What `verify` finds, and where; what it reports without calling it a fault."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from audit.logs import KEY, OTHER_KEY, checked, intent, lines, opened, outcome, rules, written
from unabridged.audit import Anchor, Verification, read_head, verify
from unabridged.audit import lines as form
from unabridged.audit.blocks import Block, run_of
from unabridged.audit.chain import Chain
from unabridged.contract import InvalidInput


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return written(tmp_path / "audit.jsonl", 4, head=tmp_path / "head")


def put(path: Path, changed: list[bytes]) -> None:
    path.write_bytes(b"".join(changed))


def first(found: Verification) -> tuple[str, int]:
    return next(((finding.rule, finding.line) for finding in found.findings), ("intact", 0))


def test_a_whole_log_is_proven_up_to_its_head(log: Path) -> None:
    found = verify(log, head=log.parent / "head", key=KEY)
    assert found.intact
    assert (found.events, found.proven, found.head) == (8, 9, f"9:{read_head(log.parent / 'head').hash}")
    assert verify(log).proven == 0


@pytest.mark.parametrize("line", range(1, 9))
def test_an_edit_is_found_at_the_line_behind_it(log: Path, line: int) -> None:
    changed = lines(log)
    changed[line - 1] = changed[line - 1].replace(b"09:00:00.000000", b"09:00:00.000001")
    put(log, changed)
    assert first(verify(log)) == ("link", line + 1)


def test_an_edit_of_the_last_line_is_found_by_the_head_and_by_an_anchor(log: Path) -> None:
    anchor = verify(log).head
    changed = lines(log)
    changed[-1] = changed[-1].replace(b'"done":3', b'"done":4')
    put(log, changed)
    assert checked(log) == []
    assert first(verify(log, head=log.parent / "head")) == ("anchor", 9)
    assert first(verify(log, anchors=[str(anchor)])) == ("anchor", 9)


def test_an_edit_that_breaks_the_form_is_found_where_it_is(log: Path) -> None:
    changed = lines(log)
    changed[3] = changed[3].replace(b"archive_orders", b"archive orders of Jane")
    put(log, changed)
    assert first(verify(log)) == ("form", 4)
    assert checked(log)[0] == "form"


@pytest.mark.parametrize(
    ("change", "rule", "line"),
    [
        (lambda x: x[:3] + x[4:], "number", 4),
        (lambda x: x[1:], "file_order", 1),
        (lambda x: [*x[:3], x[2], *x[3:]], "number", 4),
        (lambda x: [*x[:3], x[4], x[3], *x[5:]], "number", 4),
        (lambda x: [*x[:3], b"\n", *x[3:]], "form", 4),
        (lambda x: [*x[:3], b"x" * 600_000 + b"\n", *x[3:]], "form", 4),
        (lambda x: [*x[:3], x[3].replace(b"\n", b"\r\n"), *x[4:]], "form", 4),
        (lambda x: [*x[:3], x[3].replace(b",", b", ", 1), *x[4:]], "form", 4),
        (lambda x: [*x[:3], x[3].upper(), *x[4:]], "form", 4),
    ],
    ids=["deleted", "first deleted", "repeated", "swapped", "blank", "long", "newlines", "spaces", "case"],
)
def test_a_change_is_found_and_placed(log: Path, change: Any, rule: str, line: int) -> None:
    put(log, change(lines(log)))
    found = verify(log)
    assert first(found) == (rule, line)
    assert found.findings[0].file == str(log)
    assert found.findings[0].message


@pytest.mark.parametrize("kept", range(1, 9))
def test_truncation_is_found_by_the_head_and_by_an_anchor_only(log: Path, kept: int) -> None:
    anchor = str(verify(log).head)
    put(log, lines(log)[:kept])
    assert checked(log) == []
    assert checked(log, head=log.parent / "head") == ["truncated"]
    assert checked(log, anchors=[anchor]) == ["truncated"]


def test_an_emptied_log_is_no_log(log: Path) -> None:
    log.write_bytes(b"")
    assert checked(log) == ["empty"]
    assert set(checked(log, head=log.parent / "head")) == {"empty", "truncated", "head"}


def test_a_line_of_another_log_does_not_fit(log: Path, tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    other = lines(written(tmp_path / "b" / "audit.jsonl", 4))
    mine = lines(log)
    for at in range(1, 9):
        put(log, mine[:at] + other[at:])
        assert first(verify(log)) == ("link", at + 1)


def test_another_log_in_its_place_is_not_the_one_that_the_head_knows(log: Path, tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    shutil.copy(written(tmp_path / "b" / "audit.jsonl", 4), log)
    assert checked(log) == []
    assert checked(log, head=tmp_path / "head") == ["anchor", "head"]


def test_a_head_of_another_key_is_not_signed(log: Path) -> None:
    assert checked(log, head=log.parent / "head", key=OTHER_KEY) == ["head_signature"]
    document = json.loads((log.parent / "head").read_text())
    (log.parent / "head").write_text(json.dumps({**document, "at": "2026-11-30T09:00:01.000000Z"}))
    assert checked(log, head=log.parent / "head", key=KEY) == ["head_signature"]


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"form": 1}', "x" * 10_000, "[" * 4_000, None])
def test_what_is_no_head_is_wrong_use(log: Path, content: str | None) -> None:
    path = log.parent / "no head"
    if content is not None:
        path.write_text(content)
    with pytest.raises(InvalidInput, match=r"audit\.head: must"):
        verify(log, head=path)


@pytest.mark.parametrize(
    "anchor", ["", "1", "1:ab", f"0:{'a' * 64}", f"x:{'a' * 64}", f"1:{'g' * 64}", f"-1:{'a' * 64}"]
)
def test_what_is_no_anchor_is_wrong_use(log: Path, anchor: str) -> None:
    with pytest.raises(InvalidInput, match=r"audit\.anchor: must"):
        verify(log, anchors=[anchor])


def test_an_anchor_may_be_any_line_and_several(log: Path) -> None:
    whole, chain = lines(log), Chain()
    noted = []
    for n, line in enumerate(whole, 1):
        chain.add(line, n)
        noted.append(Anchor(n, chain.hash))
    found = verify(log, anchors=noted[2:7])
    assert (found.intact, found.proven) == (True, 7)
    assert checked(log, anchors=[noted[2], Anchor(3, "0" * 64)]) == ["anchor"]
    assert checked(log, anchors=[Anchor(12, "0" * 64)]) == ["truncated"]


def test_a_file_of_the_set_that_is_missing_is_found(tmp_path: Path) -> None:
    path = written(tmp_path / "audit.jsonl", 30, max_bytes=4_096)
    files = [Path(file) for file in verify(path).files]
    assert len(files) >= 5
    for number, file in enumerate(files):
        kept = file.read_bytes()
        file.unlink()
        found = verify(files[1] if number == 0 else files[0])
        assert "file_missing" in rules(found), file.name
        file.write_bytes(kept)
    assert checked(path) == []


def test_files_of_the_set_in_another_order_are_found(tmp_path: Path) -> None:
    path = written(tmp_path / "audit.jsonl", 30, max_bytes=4_096)
    two, three = (tmp_path / f"audit.jsonl.00000{n}" for n in (2, 3))
    kept = two.read_bytes()
    two.write_bytes(three.read_bytes())
    three.write_bytes(kept)
    assert {"file_order", "number"} <= set(checked(path))


def test_an_edit_of_the_line_that_closes_a_file_is_found_in_the_next(tmp_path: Path) -> None:
    path = written(tmp_path / "audit.jsonl", 30, max_bytes=4_096)
    put(path, [*lines(path)[:-1], lines(path)[-1].replace(b"09:00:00.000000", b"09:00:00.000001")])
    found = verify(path)
    assert [(Path(f.file).name, f.line, f.rule) for f in found.findings] == [("audit.jsonl.000002", 1, "link")]


def test_lines_behind_the_turn_are_found(tmp_path: Path) -> None:
    path = written(tmp_path / "audit.jsonl", 30, max_bytes=4_096)
    with path.open("ab") as file:
        file.write(lines(path)[-2])
    assert "after_turn" in checked(path)


def test_a_seal_that_does_not_fit_is_found(log: Path) -> None:
    with log.open("ab") as file:
        file.write(b"torn")
    written(log, 1, start=10)
    whole = log.read_bytes()
    for wrong in (b"tron", b"", b"torn\ntorn"):
        log.write_bytes(whole.replace(b"torn\n{", wrong + b"\n{"))
        assert "seal" in checked(log)
    log.write_bytes(whole.replace(b"torn\n{", b"{"))
    assert "seal" in checked(log)


def test_intents_without_an_outcome_are_reported_and_are_no_fault(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    with opened(path) as log:
        for number in range(20):
            log.write(intent(number))
            if number not in (3, 11):
                log.write(outcome(number))
    found = verify(path)
    assert found.intact
    assert [(int(it.ref, 16), it.line) for it in found.open_intents] == [(3, 8), (11, 23)]


def test_an_intent_whose_outcome_stands_in_a_later_file_is_not_open(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    with opened(path, max_bytes=4_096) as log:
        for number in range(40):
            log.write(intent(number))
        for number in range(39):
            log.write(outcome(number))
    found = verify(path)
    assert len(found.files) > 3
    assert [int(it.ref, 16) for it in found.open_intents] == [39]


def test_files_of_two_logs_are_not_one_log(log: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="must be files of one log"):
        verify([log, written(tmp_path / "b.jsonl", 1)])
    with pytest.raises(InvalidInput, match="must be a file that exists"):
        verify(tmp_path / "none")


@pytest.fixture(scope="module")
def long_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of several blocks, in which intents stay open over their ends."""
    path = tmp_path_factory.mktemp("long") / "audit.jsonl"
    with opened(path) as log:
        for number in range(6_000):
            log.write(intent(number, reads=("r_1",) * (number % 7), verdict="allow" if number % 3 else None))
            if number >= 500 and number % 100:
                log.write(outcome(number - 500, done=1))
    assert path.stat().st_size > 10 * (1 << 18)
    return path


def test_blocks_and_lines_one_by_one_see_the_same(long_log: Path, tmp_path: Path) -> None:
    whole = lines(long_log)
    draw = random.Random(7)
    for change in range(12):
        path, changed = tmp_path / f"{change}.jsonl", list(whole)
        at = draw.randrange(20, len(whole) - 1)
        if change % 4 == 0:
            del changed[at]
        elif change % 4 == 1:
            changed[at], changed[at + 1] = changed[at + 1], changed[at]
        elif change % 4 == 2:
            place = draw.randrange(len(changed[at]))
            changed[at] = changed[at][:place] + bytes([draw.randrange(256)]) + changed[at][place + 1 :]
        put(path, changed)
        found, slow = verify(path), _one_by_one(path)
        assert found == slow
        assert found.intact is (change % 4 == 3 or changed == whole)


def _one_by_one(path: Path) -> Verification:
    from unabridged.audit import verifying

    walk = verifying._Walk({})
    walk.begins(str(path), 1)
    with path.open("rb") as file:
        verifying._walk_lines(walk, file.fileno(), 0, path.stat().st_size)
    walk.ends(last=True)
    return verifying._verification(walk, [(1, path)])


def test_intents_that_were_begun_again_stand_where_they_were_begun_last(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    for events in ([intent(1), intent(2), intent(3)], [outcome(1), intent(2)], [intent(1)]):
        with opened(path) as log:  # an open log writes no event twice
            for number in range(1_000, 1_099):
                log.write(intent(number))
                log.write(outcome(number))
            for event in events:
                log.write(event)
    written(path, 300, start=2_000)
    found = verify(path)
    assert found == _one_by_one(path)
    assert [int(it.ref, 16) for it in found.open_intents] == [3, 2, 1]
    assert [it.line for it in found.open_intents] == [202, 402, 601]


def test_an_anchor_that_does_not_fit_is_placed_at_its_line_also_within_a_block(long_log: Path) -> None:
    found = verify(long_log, anchors=[Anchor(n, "0" * 64) for n in (1_234, 150, 7_000)])
    assert [(it.rule, it.line, it.n) for it in found.findings] == [("anchor", n, n) for n in (150, 1_234, 7_000)]


class _Unwalked(dict[bytes, tuple[str, int]]):
    """Intents that may be asked for, and not be gone through."""

    def __iter__(self) -> Any:
        raise AssertionError


def test_no_block_goes_through_all_intents_that_stay_open() -> None:
    from unabridged.audit import verifying
    from unabridged.audit.blocks import Run

    refs = [b"%032x" % number for number in range(100)]
    walk = verifying._Walk({}, open=_Unwalked((ref, ("", 1)) for ref in refs))
    walk.run(Run("0" * 64, 100, 100, "0" * 64, {}, b" ".join(refs[:60]), {}))
    assert list(dict.keys(walk.open)) == refs[60:]


def test_most_blocks_of_a_whole_log_are_looked_at_at_once(long_log: Path) -> None:
    size, step = long_log.stat().st_size, 1 << 18
    runs = [run_of(Block(str(long_log), at, min(at + step, size)))[2] for at in range(0, size, step)]
    assert sum(run is None for run in runs) <= 3  # the first, and where numbers get a digit more


def written_anew(path: Path, change: Any, at: int) -> Path:
    """Writes a log of several segments in which a line is another, and all that follow are linked to it."""
    chain, made = Chain(), []
    for n, line in enumerate(lines(written(path, 300)), 1):
        linked = b'{"prev":"%s' % chain.hash.encode() + line[73:]
        made.append(change(linked) if n == at else linked)
        chain.add(made[-1], n)
    put(path, made)
    return path


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (lambda line: line.replace(b"archive_orders", b"archive orders"), "form"),
        (lambda line: b'{"prev":"' + b"0" * 64 + line[73:], "link"),
    ],
    ids=["form", "link"],
)
def test_lines_that_were_written_anew_are_all_looked_at_where_that_is_asked_for(
    tmp_path: Path, change: Any, rule: str
) -> None:
    whole = written(tmp_path / "whole.jsonl", 300)
    anchor = Anchor(350, json.loads(lines(whole)[350])["prev"])
    path = written_anew(tmp_path / "audit.jsonl", change, 342)
    assert first(verify(path, strict=True)) == (rule, 342)
    assert checked(path, anchors=[anchor]) == ["anchor"]
    assert checked(path) == []  # the hashes of all segments fit: see what cannot be proven
    assert checked(whole, strict=True, anchors=[anchor]) == []


def test_a_line_of_another_length_is_looked_at_also_where_all_was_written_anew(tmp_path: Path) -> None:
    path = written_anew(tmp_path / "audit.jsonl", lambda line: line.replace(b"archive_orders", b"for Jane Doe"), 342)
    assert first(verify(path)) == ("form", 342)


def test_each_segment_tells_its_first_fault(tmp_path: Path) -> None:
    path = written(tmp_path / "audit.jsonl", 300)
    changed = lines(path)
    for at in (120, 150, 420):
        changed[at - 1] = changed[at - 1].replace(b"09:00:00.000000", b"09:00:00.000001")
    put(path, changed)
    assert [(finding.rule, finding.line) for finding in verify(path).findings] == [("link", 121), ("link", 421)]


def test_several_processes_see_what_one_sees(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    one_of_many = tmp_path / "many.jsonl"
    with opened(path) as log:
        for number in range(215):
            log.write(intent(number, codes=("C" * 64,) * 5_000))
    shutil.copy(path, one_of_many)
    assert path.stat().st_size > 256 * (1 << 18)
    assert verify(path, processes=2) == verify(path)
    with one_of_many.open("r+b") as file:
        file.seek(path.stat().st_size // 2)
        file.write(b"D")
    found = verify(one_of_many, processes=2)
    assert found == verify(one_of_many)
    assert not found.intact


def test_a_log_of_garbage_is_walked_once_and_its_faults_are_bounded(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    path.write_bytes(b"x\n" * 200_000 + b"\0" * 3_000_000 + b"\n{}\n")
    found = verify(path)
    assert set(rules(found)) == {"torn", "empty"}
    line = lines(written(tmp_path / "b.jsonl", 1))[1]
    path.write_bytes(line * 20_000)
    assert len(verify(path).findings) == 1_000


@pytest.mark.parametrize("line", ["", "{}", "null", '{"prev":"' + "0" * 64 + '"}', "\ud800"])
def test_what_is_no_line_has_no_parts(line: str) -> None:
    assert form.parse(line.encode("utf-8", "surrogatepass")) is None
