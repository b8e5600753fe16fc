"""The shipped services: one file each, with profiles and a note on each of them.

```json
{"service": "GitHub REST",
 "profiles": [{"note": {"looks_like": {}, "facts": [{"says": "...", "source": "https://...", "read": "2026-11-30"}],
                        "proof": "counted", "cannot_see": ["..."]},
               "profile": {"name": "github_list", "version": 1}}]}
```
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, cached_property
from importlib.resources import files
from importlib.resources.abc import Traversable
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import Field, StrictStr, ValidationError, field_validator

from unabridged.contract.codes import ProofLevel
from unabridged.contract.errors import InvalidInput, ProfileError, printable_name

from .conditions import Piece, broken
from .errors import profile_error
from .format import Profile
from .strict import parse_strict

Sentence = Annotated[StrictStr, Field(min_length=1, max_length=1000)]


class Fact(Piece):
    """One thing that the service's own words say, and where and when they were read."""

    says: Sentence
    source: StrictStr = Field(pattern=r"^https?://[^\s]+$")
    read: StrictStr = Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$")
    """The day on which the page was read."""


class Note(Piece):
    """What stands beside a shipped profile for people."""

    looks_like: Any
    """A small sample of a response: its body, or an object with its headers and its body."""
    facts: tuple[Fact, ...] = Field(min_length=1)
    proof: ProofLevel
    """The highest proof that a read by this profile can reach."""
    cannot_see: tuple[Sentence, ...] = Field(min_length=1)
    """What may be missing without any sign in the response."""

    @field_validator("looks_like")
    @classmethod
    def _is_a_sample(cls, value: Any) -> Any:
        if not isinstance(value, dict | list | str) or not value:
            raise broken("looks_like", "must be a sample of a response")
        return value


class _Entry(Piece):
    note: Note
    profile: dict[StrictStr, Any]


class _File(Piece):
    service: Sentence
    profiles: tuple[_Entry, ...] = Field(min_length=1)


@dataclass(frozen=True)
class Shipped:
    """A shipped profile, where it stands and what is noted beside it."""

    name: str
    service: str
    """The service as people call it."""
    file: str
    """The name of its file among the shipped ones."""
    note: Note
    document: Mapping[str, Any]
    """The profile as it stands in the file."""

    @cached_property
    def profile(self) -> Profile:
        """The profile, checked when it is first asked for.

        Raises:
            ProfileError: the profile breaks a rule.
        """
        return Profile(**self.document)


@dataclass(frozen=True)
class Index:
    """What a folder of service files holds. A file that breaks a rule hides only itself."""

    entries: Mapping[str, Shipped]
    """By the names of the profiles, sorted."""
    broken: tuple[ProfileError, ...] = ()

    def __getitem__(self, name: str) -> Shipped:
        found = self.entries.get(name)
        if found is not None:
            return found
        if self.broken:
            raise self.broken[0]
        close = get_close_matches(name, self.entries, n=5)
        known = f"{', '.join(close)}?" if close else ", ".join(self.entries) or "none yet"
        raise ProfileError(field="profile", rule=f"must be the name of a shipped profile ({known}) or a path")


def index_of(found: Iterable[Traversable]) -> Index:
    """Returns the index of service files; a name that two profiles bear is a broken file."""
    entries: dict[str, Shipped] = {}
    errors: list[ProfileError] = []
    for file in sorted(found, key=lambda one: one.name):
        try:
            for shipped in read_service(file):
                if shipped.name in entries:
                    raise _at(file.name, "profiles", f"the name {printable_name(shipped.name)} is taken")
                entries[shipped.name] = shipped
        except ProfileError as error:
            errors.append(error)
    return Index(entries=MappingProxyType(dict(sorted(entries.items()))), broken=tuple(errors))


def read_service(file: Traversable) -> tuple[Shipped, ...]:
    """Returns the profiles of one service file, notes checked and profiles as they stand.

    Raises:
        ProfileError: naming the file, the key and the rule, never a value.
    """
    try:
        content = parse_strict(file.read_text(encoding="utf-8"), field="the file")
        checked = _File.model_validate(content)
    except ValidationError as error:
        found: InvalidInput = profile_error(error)
    except UnicodeDecodeError:
        found = ProfileError(field="the file", rule="must be UTF-8")
    except ProfileError as error:
        found = error
    else:
        return tuple(_shipped(file.name, checked.service, n, entry) for n, entry in enumerate(checked.profiles))
    raise _at(file.name, str(found.field), str(found.rule))


def _shipped(file: str, service: str, position: int, entry: _Entry) -> Shipped:
    name = entry.profile.get("name")
    if not isinstance(name, str) or printable_name(name) != name:
        raise _at(file, f"profiles.{position}.profile.name", "must be the name of a profile")
    return Shipped(name=name, service=service, file=file, note=entry.note, document=MappingProxyType(entry.profile))


def _at(file: str, field: str, rule: str) -> ProfileError:
    return ProfileError(field=f"{printable_name(file)}: {field}", rule=rule)


@cache
def shipped_index() -> Index:
    """Returns the index of what comes with the package, made on first use."""
    folder = files(__package__).joinpath("shipped")
    return index_of(entry for entry in folder.iterdir() if entry.name.endswith(".json"))


def shipped_profiles() -> tuple[str, ...]:
    """Returns the names of the profiles that come with the package, sorted.

    Raises:
        ProfileError: a shipped file breaks a rule.
    """
    index = shipped_index()
    if index.broken:
        raise index.broken[0]
    return tuple(index.entries)


def about(name: str) -> Note:
    """Returns the note beside a shipped profile.

    Raises:
        ProfileError: no shipped profile bears the name.
    """
    return shipped_index()[name].note
