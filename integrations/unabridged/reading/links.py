"""The `Link` header after RFC 8288, and the addresses that links lead to.

The grammar is applied strictly: a header outside it is malformed, never a header without links. Relations compare
without regard to case, one `rel` may name several, and `;` and `,` inside `<>` belong to the target.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urldefrag, urljoin, urlsplit

from unabridged.contract.errors import InvalidInput, value_free

_TOKEN = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_TARGET: Final = re.compile(r"<((?:[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})*)>")
_QUOTED = r"\"((?:[\t \x21\x23-\x5b\x5d-\x7e\x80-\xff]|\\[\t -~\x80-\xff])*)\""
_PARAM: Final = re.compile(rf"[ \t]*;[ \t]*({_TOKEN})(?:[ \t]*=[ \t]*(?:({_TOKEN})|{_QUOTED}))?")
_BETWEEN: Final = re.compile(r"[ \t]*(?:,[ \t]*)+")
_BLANK: Final = re.compile(r"[ \t]*")
_ESCAPE: Final = re.compile(r"\\(.)")
_URL: Final = re.compile(r"[\x21-\x7e\u00a0-\ud7ff\ue000-\U0010ffff]+\Z")


class MalformedLink(Exception):
    """A link is outside its grammar, or no address. Carries nothing of it."""


@dataclass(frozen=True, slots=True)
class Link:
    """One link of a header: its target as written, and its attributes, names in lower case, the first one counting."""

    target: str
    attributes: tuple[tuple[str, str], ...]

    def get(self, name: str) -> str | None:
        """Returns the value of an attribute, or nothing."""
        return next((v for n, v in self.attributes if n == name.lower()), None)

    @property
    def relations(self) -> tuple[str, ...]:
        """The relation types, in lower case."""
        return tuple((self.get("rel") or "").lower().split())


def parse_link_header(text: str) -> tuple[Link, ...]:
    """Returns the links of a header field, in order.

    Raises:
        MalformedLink: the text is outside the grammar of RFC 8288, section 3.
    """
    links: list[Link] = []
    start = _BLANK.match(text)
    at = start.end() if start else 0
    leading = _BETWEEN.match(text, at)
    at = leading.end() if leading else at
    while at < len(text):
        target = _TARGET.match(text, at)
        if target is None:
            raise MalformedLink
        at = target.end()
        attributes: list[tuple[str, str]] = []
        while (param := _PARAM.match(text, at)) is not None:
            quoted = param[3]
            value = param[2] if quoted is None else _ESCAPE.sub(r"\1", quoted)
            attributes.append((param[1].lower(), value or ""))
            at = param.end()
        links.append(Link(target=target[1], attributes=tuple(attributes)))
        between = _BETWEEN.match(text, at)
        if between is None:
            blank = _BLANK.match(text, at)
            if blank is None or blank.end() != len(text):
                raise MalformedLink
            break
        at = between.end()
    return tuple(links)


def targets_of(links: Sequence[Link], *, rel: str, context: str, live_flag: str | None) -> tuple[str, ...]:
    """Returns the absolute targets of the live links with a relation, each once.

    Args:
        links: the links of one response.
        rel: the relation type.
        context: the address of the response; links with another anchor say nothing about it.
        live_flag: an attribute whose value `false` means that the link leads nowhere.

    Raises:
        MalformedLink: a target is no address, or the relation stands in the quotes of another grammar.
    """
    found: dict[str, None] = {}
    for link in links:
        if f"'{rel.lower()}'" in link.relations:
            raise MalformedLink
        if rel.lower() not in link.relations:
            continue
        anchor = link.get("anchor")
        if anchor is not None and urldefrag(absolute(anchor, context=context)).url != urldefrag(context).url:
            continue
        if live_flag is not None and (link.get(live_flag) or "").lower() == "false":
            continue
        found[absolute(link.target, context=context)] = None
    return tuple(found)


def absolute(target: str, *, context: str) -> str:
    """Returns a link's target as an absolute address without its fragment.

    Raises:
        MalformedLink: the target is no http address, or carries a user name or a password.
    """
    if target and not _URL.match(target):
        raise MalformedLink
    try:
        parts = urlsplit(target)
        if parts.scheme and not parts.netloc:
            raise MalformedLink
        url = urldefrag(urljoin(context, target)).url
        check_url(url)
    except (ValueError, InvalidInput):
        raise MalformedLink from None
    return url


def origin(url: str) -> tuple[str, str, int]:
    """Returns scheme, host and port of a checked address."""
    parts = urlsplit(url)
    scheme = parts.scheme.lower()
    return scheme, (parts.hostname or "").lower(), parts.port or (443 if scheme == "https" else 80)


@value_free
def check_url(url: object, *, field: str = "url") -> str:
    """Returns an address that is a whole http or https one.

    Raises:
        InvalidInput: naming the rule, never the address.
    """
    if not isinstance(url, str) or not url:
        raise InvalidInput(field=field, rule="must be an absolute http or https URL")
    if not _URL.match(url) or "\\" in url:
        raise InvalidInput(field=field, rule="must not hold blanks, backslashes or control characters")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise InvalidInput(field=field, rule="must be a valid URL") from None
    if parts.scheme.lower() not in ("http", "https") or not parts.hostname:
        raise InvalidInput(field=field, rule="must be an absolute http or https URL")
    if parts.username is not None or parts.password is not None:
        raise InvalidInput(field=field, rule="must not hold a user name or a password; send credentials as headers")
    if port == 0:
        raise InvalidInput(field=field, rule="must have a port from 1 to 65535")
    return url
