"""Loading a profile: from the shipped ones by name, from a file, from JSON text's structure, or from a dict."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from unabridged.contract.errors import ProfileError, value_free

from .format import Profile
from .services import shipped_index
from .strict import parse_strict

_MAX_FILE_BYTES: Final = 1024 * 1024


@value_free
def load_profile(source: str | os.PathLike[str] | Mapping[str, Any] | Profile) -> Profile:
    """Returns a checked profile.

    Args:
        source: the name of a shipped profile, the path of a JSON file, a dict of the same structure, or a profile.
            A text counts as a path when it ends in `.json` or holds a path separator.

    Raises:
        ProfileError: naming the key and the rule that it breaks, never a value.
    """
    if isinstance(source, Profile):
        return source
    if isinstance(source, Mapping):
        return _from_mapping(source)
    if isinstance(source, os.PathLike) or (isinstance(source, str) and _looks_like_a_path(source)):
        return _from_text(_read_file(Path(source)))
    if isinstance(source, str):
        return shipped_index()[source].profile
    raise ProfileError(field="profile", rule="must be a name, a path, an object or a Profile")


def _looks_like_a_path(source: str) -> bool:
    return source.endswith(".json") or "/" in source or os.sep in source


def _read_file(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_FILE_BYTES + 1)
    except (OSError, ValueError):
        raise ProfileError(field="profile", rule="must name a file that can be read") from None
    if len(data) > _MAX_FILE_BYTES:
        raise ProfileError(field="profile", rule=f"must be at most {_MAX_FILE_BYTES} bytes long")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ProfileError(field="profile", rule="must be UTF-8") from None


def _from_text(text: str) -> Profile:
    found = parse_strict(text, field="profile")
    if not isinstance(found, dict):
        raise ProfileError(field="profile", rule="must be an object")
    return _from_mapping(found)


def _from_mapping(source: Mapping[str, Any]) -> Profile:
    if any(not isinstance(name, str) for name in source):
        raise ProfileError(field="profile", rule="must have texts as keys")
    return Profile(**source)
