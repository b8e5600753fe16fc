"""The status file beside the records: how a run stands, and the checkpoint from which a later one may go on.

It is replaced in one step after every page, so that it never speaks of records that are not whole. A run that was
killed leaves it saying `killed`, or `running` where its sweeper died with it. Cursors stand in it only where a profile
calls them resumable; credentials never.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal

from unabridged.contract.errors import InvalidInput
from unabridged.contract.parts import Reason, iso
from unabridged.profiles import Profile, parse_strict
from unabridged.reading import Query

from .sweeper import seal

FORMAT: Final = "unabridged-read/1"
_CREDENTIAL: Final = re.compile(r"auth|cookie|token|key|secret|signature|password", re.IGNORECASE)
State = Literal["running", "finished", "interrupted", "failed", "killed"]
NOTES: Final[dict[State, str]] = {
    "running": "A run writes this, or was killed. Its file holds whole records up to `bytes`, and not all.",
    "finished": "The run came to its end; `header` says what the records cover.",
    "interrupted": "The run was stopped by a signal. Its file holds whole records, and not all.",
    "killed": "The run was killed. Its file holds whole records, and not all.",
    "failed": "The run could not save what it read. Its file holds whole records, and not all.",
}


@dataclass(frozen=True)
class Question:
    """What was asked: only the same question may go on from a checkpoint."""

    profile: str
    version: int
    rules: str
    """A digest of the profile: one of the same name and version may have been changed."""
    resource: str
    filters: Mapping[str, Any] = field(repr=False)
    page_size: int | None
    salt: str
    url: str
    """A salted digest of the address; the address itself may hold a credential."""
    headers: str = ""
    """A salted digest of the header fields, of those that bear credentials only the names: those may be renewed."""
    credentials: str = ""
    """A slow, salted digest of these credentials, by which another caller's are told; empty where there are none."""

    @classmethod
    def of(
        cls,
        profile: Profile,
        query: Query,
        url: str,
        *,
        headers: Iterable[tuple[str, str]] = (),
        salt: str | None = None,
    ) -> Question:
        """Returns the question of a run.

        Args:
            profile: the profile.
            query: the query.
            url: the address of the first page.
            headers: the header fields of every request.
            salt: the salt of the run that it is compared with; a new one when not given.
        """
        used = salt or secrets.token_hex(16)
        digest = hashlib.sha256(f"{used}\n{url}".encode()).hexdigest()
        given = list(headers)
        plain = sorted((name.lower(), "" if _CREDENTIAL.search(name) else value) for name, value in given)
        hidden = sorted((name.lower(), value) for name, value in given if _CREDENTIAL.search(name))
        fields = hashlib.sha256(f"{used}\n{plain}".encode()).hexdigest()
        rules = hashlib.sha256(profile.model_dump_json(by_alias=True).encode()).hexdigest()
        filters = json.loads(json.dumps(query.filters))
        return cls(
            profile=profile.name,
            version=profile.version,
            rules=rules,
            resource=query.resource,
            filters=filters,
            page_size=query.page_size,
            salt=used,
            url=digest,
            headers=fields,
            credentials=_slow_digest(hidden, used) if hidden else "",
        )

    def differs_in(self, other: Question) -> tuple[str, ...]:
        """Returns the names of what is asked otherwise."""
        plain = ("resource", "page_size", "url", "headers")
        found = [name for name in ("profile", "version") if getattr(self, name) != getattr(other, name)]
        if not found and self.rules != other.rules:
            found.append("profile")
        found += [name for name in plain if getattr(self, name) != getattr(other, name)]
        if _canonical(self.filters) != _canonical(other.filters):
            found.append("filters")
        return tuple(found)


def _slow_digest(credentials: object, salt: str) -> str:
    """Returns a digest from which a short password is not found by trying."""
    return hashlib.scrypt(f"{credentials}".encode(), salt=salt.encode(), n=1 << 14, r=8, p=1).hex()


def _canonical(filters: Mapping[str, Any]) -> str:
    """Returns filters as one text: as values, `true` and `1` would be equal."""
    return json.dumps(filters, sort_keys=True)


@dataclass(frozen=True)
class Checkpoint:
    """From where a later run may go on, and what it inherits."""

    question: Question
    saved_at: datetime
    seen: int = 0
    """Ids of the records in the file."""
    digest: str = ""
    place: Mapping[str, Any] | None = field(default=None, repr=False)
    """The walk's own state; `None` where a later run begins at the first page."""
    started_at: datetime | None = None
    has_content: bool = False
    requests: int = 0
    pages: int = 0
    duplicates: int = 0
    reasons: tuple[Reason, ...] = ()
    """Why the whole is incomplete whatever follows."""
    mixed: bool = False
    """Whether records of earlier runs, with which a fresh scan is compared, may be what another caller saw."""


@dataclass(frozen=True)
class Status:
    """The content of a status file."""

    state: State
    file: str | None
    """The name of the file of records beside it; `None` when there is none."""
    checkpoint: Checkpoint
    records: int = 0
    bytes: int = 0
    content: str = ""
    """The digest of these bytes of the file."""
    header: Mapping[str, Any] | None = None
    reconciled: Mapping[str, Any] | None = None

    def to_json(self) -> dict[str, Any]:
        """Returns the content as it is written."""
        mark = self.checkpoint
        question = {name: getattr(mark.question, name) for name in mark.question.__dataclass_fields__}
        document: dict[str, Any] = {
            "format": FORMAT,
            "state": self.state,
            "complete": bool(self.header and self.header["complete"]),
            "note": NOTES[self.state],
            "file": self.file,
            "records": self.records,
            "bytes": self.bytes,
            "content": self.content,
            "reconciled": self.reconciled,
            "checkpoint": {
                "question": question,
                "saved_at": iso(mark.saved_at),
                "ids": {"seen": mark.seen, "digest": mark.digest},
                "started_at": None if mark.started_at is None else iso(mark.started_at),
                "has_content": mark.has_content,
                "counts": {"requests": mark.requests, "pages": mark.pages, "duplicates": mark.duplicates},
                "reasons": [reason.to_wire() for reason in mark.reasons],
                "mixed": mark.mixed,
                "place": mark.place,
            },
            "header": self.header,
        }
        return seal(document)


def write_status(path: Path, status: Status, *, durable: bool = False) -> None:
    """Replaces a status file in one step; only its owner may read it.

    Args:
        path: the file.
        status: its content.
        durable: whether it must have reached the disk.
    """
    other = path.with_name(f"{path.name}.tmp")
    data = json.dumps(status.to_json(), ensure_ascii=True, indent=1).encode()
    other.unlink(missing_ok=True)  # what a killed run left, or a link that somebody laid there
    try:
        with os.fdopen(os.open(other, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(data)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        os.replace(other, path)
    except BaseException:
        other.unlink(missing_ok=True)
        raise


def read_status(path: Path) -> Status:
    """Returns the content of a status file.

    Raises:
        InvalidInput: there is none, it is not one of this version, or it is not as a run wrote it.
    """
    try:
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
    except (OSError, UnicodeDecodeError):
        text = ""
    if not text:
        raise InvalidInput(field="--resume", rule="there is no status file of the earlier run")
    document = parse_strict(text, field="--resume", error=InvalidInput)
    try:
        if document != seal(document):
            raise InvalidInput(field="--resume", rule="the status file is torn, was edited, or is of another version")
        return _status(document)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise InvalidInput(field="--resume", rule="the status file is not one of this version") from None


def _status(document: Mapping[str, Any]) -> Status:
    if document["format"] != FORMAT or document["state"] not in NOTES:
        raise ValueError
    mark = document["checkpoint"]
    checkpoint = Checkpoint(
        question=Question(**mark["question"]),
        saved_at=_moment(mark["saved_at"]),
        seen=int(mark["ids"]["seen"]),
        digest=str(mark["ids"]["digest"]),
        place=mark["place"],
        started_at=None if mark["started_at"] is None else _moment(mark["started_at"]),
        has_content=bool(mark["has_content"]),
        **{name: int(mark["counts"][name]) for name in ("requests", "pages", "duplicates")},
        reasons=tuple(Reason.model_validate(reason) for reason in mark["reasons"]),
        mixed=bool(mark["mixed"]),
    )
    return Status(
        state=document["state"],
        file=document["file"],
        checkpoint=checkpoint,
        records=int(document["records"]),
        bytes=int(document["bytes"]),
        content=str(document["content"]),
        header=document["header"],
        reconciled=document["reconciled"],
    )


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
