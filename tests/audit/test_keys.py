"""The key: required with a log, never shown, and what makes a digest more than a hash."""

from __future__ import annotations

import copy
import hashlib
import hmac
import json
import os
import pickle
import stat
import traceback
from pathlib import Path
from typing import Any

import pytest
from audit.logs import KEY, OTHER_KEY, SESSION, intent, opened
from unabridged.audit import AuditKeyMissing, AuditLog, Keyed, canonical, key_file
from unabridged.contract import InvalidInput

EMAILS = [f"person{number}@example.org" for number in range(1_000)]
SHORT = b"canary-key"


@pytest.mark.parametrize("key", [None, b"", lambda: None, lambda: b""])
def test_a_log_without_a_key_fails_when_it_is_made(tmp_path: Path, key: Any) -> None:
    with pytest.raises(AuditKeyMissing, match=r"audit\.key: is required"):
        AuditLog(tmp_path / "audit.jsonl", key=key)
    with pytest.raises(AuditKeyMissing):
        AuditLog(tmp_path / "audit.jsonl")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("key", [SHORT, lambda: SHORT, "canary-key as a text of some length", 7])
def test_a_key_that_is_too_short_or_no_bytes_is_refused_and_not_shown(tmp_path: Path, key: Any) -> None:
    with pytest.raises(InvalidInput, match=r"audit\.key: must") as caught:
        AuditLog(tmp_path / "audit.jsonl", key=key)
    assert not isinstance(caught.value, AuditKeyMissing)
    shown = "".join(traceback.format_exception(caught.value))
    inside = [f for f in traceback.walk_tb(caught.tb) if "unabridged" in f[0].f_code.co_filename]
    assert inside
    assert "canary-key" not in shown + repr([dict(frame.f_locals) for frame, _ in inside if frame.f_locals])


def test_the_log_shows_nothing_of_its_key_and_is_not_pickled(tmp_path: Path) -> None:
    with opened(tmp_path / "canary.jsonl") as log:
        assert repr(log) == "AuditLog(file 1, 1 lines)"
        assert KEY.decode() not in repr(vars(log._writer))
        for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match="not pickled"):
                attempt(log)  # type: ignore[operator]  # three functions of one argument
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(Keyed(KEY))


def _guesses(email: str, digest: str) -> set[str]:
    """What somebody without the key can compute of a candidate, with everything that stands in the file."""
    salt, text = bytes.fromhex(digest[:16]), email.encode()
    made = set()
    for hashed in ("sha256", "blake2b", "sha1", "md5", "sha512"):
        for form in (text, canonical(email), salt + text, salt + canonical(email), canonical(email) + salt):
            made.add(hashlib.new(hashed, form).hexdigest()[:48])
        made.add(hmac.digest(salt, canonical(email), hashed).hex()[:48])
        made.add(hmac.digest(b"", salt + canonical(email), hashed).hex()[:48])
    return made


def test_a_list_of_candidates_does_not_tell_which_of_them_was_digested(tmp_path: Path) -> None:
    with opened(tmp_path / "audit.jsonl") as log:
        digest = log.digest(EMAILS[417])
        log.write(intent(1, digests={"to": digest}))
    stored = json.loads((tmp_path / "audit.jsonl").read_text().splitlines()[1])["digests"]["to"]
    assert stored == digest
    assert len(stored) == 64
    assert not any({stored[16:], stored[:48]} & _guesses(email, stored) for email in EMAILS)
    assert not any(Keyed(OTHER_KEY).matches(stored, email) for email in EMAILS)
    assert [email for email in EMAILS if Keyed(KEY).matches(stored, email)] == [EMAILS[417]]


def test_the_name_of_a_session_is_keyed_too(tmp_path: Path) -> None:
    with opened(tmp_path / "audit.jsonl") as log:
        log.write(intent(1, session=SESSION))
        named = log.session_name(SESSION)
    text = (tmp_path / "audit.jsonl").read_text()
    assert SESSION not in text
    assert f'"session":"{named}"' in text
    assert Keyed(OTHER_KEY).session(SESSION) != named


@pytest.mark.parametrize(
    ("correlate", "equal_in_session", "equal_across"),
    [("never", False, False), ("session", True, False), ("log", True, True)],
)
def test_a_reference_correlates_where_that_was_asked_for_and_nowhere_else(
    correlate: Any, equal_in_session: bool, equal_across: bool
) -> None:
    keyed, reference = Keyed(KEY, correlate=correlate), "9f" * 16
    first, again, other, alone = (keyed.digest(reference, session=s) for s in (SESSION, SESSION, "aa" * 16, None))
    assert (first == again) is equal_in_session
    assert (first == other) is equal_across
    assert (alone in (first, other)) is equal_across
    assert all(keyed.matches(digest, reference) for digest in (first, again, other, alone))
    assert not keyed.matches(first, "9e" * 16)


def test_another_key_makes_another_digest() -> None:
    mine, other = (Keyed(key, correlate="log").digest("x") for key in (KEY, OTHER_KEY))
    assert mine != other


@pytest.mark.parametrize("digest", ["", "zz", "ab" * 16, "\u00e9" * 64, "0" * 63 + "\ud800", None, 5, b"0" * 64])
def test_what_is_no_digest_matches_nothing(digest: Any) -> None:
    assert not Keyed(KEY).matches(digest, "x")


def test_a_key_file_is_made_once_and_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "key"
    made = key_file(path, create=True)
    assert not path.exists()  # nothing happens before the log asks
    first = made()
    assert len(first) == 32
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert made() == first == key_file(path)()
    assert [p.name for p in tmp_path.iterdir()] == ["key"]


def test_a_key_file_may_hold_raw_bytes(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_bytes(b"\xff" * 32)
    path.chmod(0o600)
    assert key_file(path)() == b"\xff" * 32


def test_a_key_file_that_others_can_read_or_that_is_missing_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "canary"
    path.write_bytes(KEY)
    path.chmod(0o640)
    for read in (key_file(path), key_file(tmp_path / "none"), key_file(tmp_path / "none" / "key", create=True)):
        with pytest.raises(InvalidInput, match=r"audit\.key_file: must") as caught:
            read()
        assert "canary" not in str(caught.value)


def test_an_unknown_way_to_correlate_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"audit\.correlate: must be never, session or log"):
        Keyed(KEY, correlate="canary")  # type: ignore[arg-type]


def test_the_environment_is_not_asked_for_a_key() -> None:
    assert not any("AUDIT" in name for name in os.environ)
    with pytest.raises(AuditKeyMissing):
        Keyed(None)
