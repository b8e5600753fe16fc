"""Header fields and credentials, from the command line, the environment and files. No error shows a value."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, unquote, unquote_plus, urlsplit

from unabridged.contract.errors import InvalidInput, printable_name

_MAX_FILE_BYTES: Final = 64 * 1024
_SHORTEST: Final = 8
"""Texts shorter than this are found everywhere, and are no secrets."""


@dataclass(frozen=True)
class Secrets:
    """What may stand in no file and no output of a run."""

    values: frozenset[str] = field(default=frozenset(), repr=False)

    @classmethod
    def of(cls, headers: Iterable[tuple[str, str]], *, url: str) -> Secrets:
        """Returns the values of header fields, their words, and the values in the address's own query."""
        texts = [value for _, value in headers]
        words = [word for text in texts for word in text.split()]
        query = [value for _, value in parse_qsl(urlsplit(url).query)]
        return cls(frozenset(text for text in (*texts, *words, *query) if len(text) >= _SHORTEST))

    def stand_in(self, text: str) -> bool:
        """Tells whether a text holds one of them."""
        readings = (text, unquote(text), unquote_plus(text))
        return any(value in reading for value in self.values for reading in readings)


def gather_headers(
    plain: Iterable[str],
    *,
    bearer_env: str | None = None,
    from_env: Iterable[str] = (),
    files: Iterable[Path] = (),
    environ: Mapping[str, str] = os.environ,
) -> tuple[tuple[str, str], ...]:
    """Returns header fields in the order files, environment, command line.

    Args:
        plain: fields as `Name: value`.
        bearer_env: the environment variable that holds a bearer token.
        from_env: fields as `Name: VARIABLE`.
        files: files with one `Name: value` a line; blank lines and those that begin with `#` are passed over.
        environ: the environment.

    Raises:
        InvalidInput: naming the option, the line or the variable, never a value.
    """
    found = [pair for file in files for pair in _of_file(file)]
    for text in from_env:
        name, variable = _pair(text, "--header-env", "must be 'Name: VARIABLE'")
        found.append((name, _of_env(variable, environ)))
    if bearer_env is not None:
        found.append(("Authorization", f"Bearer {_of_env(bearer_env, environ)}"))
    found += [_pair(text, "--header", "must be 'Name: value'") for text in plain]
    return tuple(found)


def _pair(text: str, where: str, rule: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise InvalidInput(field=where, rule=rule)
    return name.strip(), value.strip()


def _of_env(variable: str, environ: Mapping[str, str]) -> str:
    value = environ.get(variable, "").strip()
    if not value:
        raise InvalidInput(field=f"the variable {printable_name(variable)}", rule="must be set and not empty")
    return value


def _of_file(path: Path) -> list[tuple[str, str]]:
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_FILE_BYTES + 1)
        lines = data.decode("utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        raise InvalidInput(field="--header-file", rule="must name a UTF-8 file that can be read") from None
    if len(data) > _MAX_FILE_BYTES:
        raise InvalidInput(field="--header-file", rule=f"must be at most {_MAX_FILE_BYTES} bytes long")
    return [
        _pair(line, f"--header-file, line {number}", "must be 'Name: value'")
        for number, line in enumerate(lines, 1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
