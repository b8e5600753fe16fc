"""Addresses that nothing but an author's template can shape: one origin, and parameters that stay in their segment."""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from string import Formatter
from typing import Any, Final
from urllib.parse import quote, urlsplit

from unabridged.contract import InvalidInput
from unabridged.contract.errors import value_free

_HOST: Final = re.compile(r"[a-z0-9_]([a-z0-9_-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9_-]*[a-z0-9])?)*\Z")
_LITERAL: Final = re.compile(r"[A-Za-z0-9_.~:@!$&'()*+,;=\-/]*\Z")
_CODED: Final = re.compile(r"%[0-9A-Fa-f]{2}")
_LONGEST: Final = 512
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Origin:
    """Scheme, host and port: where requests go, and nowhere else."""

    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == _DEFAULT_PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}"


@value_free
def origin_of(text: str, *, plain_http: bool) -> Origin:
    """Returns an origin.

    Args:
        text: such as `https://api.example.org`.
        plain_http: whether a host other than this machine may be spoken to without TLS.

    Raises:
        InvalidInput: it is none, or more than that: a path, a query, a user.
    """
    rule = "must be an origin such as https://api.example.org: no user, path, query or fragment"
    if not isinstance(text, str) or not text.isascii() or any(c.isspace() or not c.isprintable() for c in text):
        raise InvalidInput(field="origin", rule=rule)
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise InvalidInput(field="origin", rule=rule) from None
    host = parts.hostname or ""
    rest = text.partition("://")[2].removeprefix(parts.netloc)
    if parts.scheme not in _DEFAULT_PORTS or "@" in parts.netloc or "\\" in text or rest not in ("", "/"):
        raise InvalidInput(field="origin", rule=rule)
    if not _is_host(host) or port == 0 or parts.netloc.endswith(":"):
        raise InvalidInput(field="origin", rule=rule)
    if parts.scheme == "http" and not plain_http and not _is_here(host):
        raise InvalidInput(field="origin", rule="must be https: a credential would travel in clear; or plain_http=True")
    return Origin(parts.scheme, host, _DEFAULT_PORTS[parts.scheme] if port is None else port)


def _is_host(host: str) -> bool:
    if ":" not in host:
        return len(host) <= 253 and _HOST.match(host) is not None
    try:
        return "%" not in host and bool(ipaddress.IPv6Address(host))
    except ValueError:
        return False


def _is_here(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def names_in(template: str) -> tuple[str, ...]:
    """Returns the names of the parameters of a path template.

    Raises:
        InvalidInput: it is no template of a path.
    """
    rule = "must be a path such as /accounts/{target}/archive, of plain segments and {names}"
    try:
        parts = list(Formatter().parse(template)) if isinstance(template, str) else []
    except ValueError:
        parts = []
    bare = "".join(literal + ("x" if name is not None else "") for literal, name, _, _ in parts)
    names = tuple(name for _, name, _, _ in parts if name is not None)
    fits = all(_LITERAL.match(literal) and not spec and not turn for literal, _, spec, turn in parts)
    if not bare.startswith("/") or not fits or not all(name.isidentifier() for name in names):
        raise InvalidInput(field="path", rule=rule)
    if "{{" in template or "}}" in template or "//" in bare or any(s in (".", "..") for s in bare.split("/")):
        raise InvalidInput(field="path", rule=rule)
    return names


def segment(value: Any) -> str | None:
    """Returns a value as one percent-encoded segment of a path; nothing where a server could read it as another.

    What is refused: anything but a text or an integer, the empty text, `.` and `..` (also before a `;` and as wide
    characters), slashes and backslashes, control characters, and what looks percent-encoded already.
    """
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    text = str(value)
    if not 0 < len(text) <= _LONGEST or any(_is_unfit(form) for form in (text, unicodedata.normalize("NFKC", text))):
        return None
    return quote(text, safe="")


def _is_unfit(text: str) -> bool:
    if any(c in "/\\" or unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") for c in text):
        return True
    return text.partition(";")[0].strip() in ("", ".", "..") or _CODED.search(text) is not None


def pairs(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yields a field as query parameters: a list as one for each of its values, null as none.

    Raises:
        TypeError: it is an object, or nested.
    """
    for one in value if isinstance(value, list | tuple) else [value]:
        if isinstance(one, bool):
            yield name, "true" if one else "false"
        elif isinstance(one, str | int | float):
            yield name, str(one)
        elif one is not None:
            raise TypeError
