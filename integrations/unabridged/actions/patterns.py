r"""Whether a pattern bounds a whole text. A pattern without anchors only asks that it stands somewhere in the text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_BEGINNINGS: Final = ("^", r"\A")
_ENDS: Final = ("$", r"\Z", r"\z")
_ENDS_IN_PYTHON: Final = (r"\Z", r"\z")
"""Where Python's own expressions check a text: their `$` lets a line break follow."""
_OPTIONAL: Final = re.compile(r"(?:\^|\\A)[?*{]")
_LINES: Final = re.compile(r"\(\?[a-zA-Z]*m")
_KINDS: Final = ("a", "Z", "7", " ", "<", '"', "\\", "\u00e9", "\u540d")
_LENGTHS: Final = (1, 2, 3, 5, 10, 20, 40, 80)


def is_anchored(pattern: str, *, in_python: bool = False) -> bool:
    """Tells whether a pattern begins at the start and ends at the end of the text, in each of its alternatives.

    Args:
        pattern: the pattern.
        in_python: whether Python's own expressions check it, and not pydantic's.
    """
    ends = _ENDS_IN_PYTHON if in_python else _ENDS
    return not _LINES.search(pattern) and all(_is_anchored(branch, ends) for branch in _branches(pattern))


def says_nothing(pattern: str) -> bool:
    """Tells whether every kind of character gets through. What Python cannot read is taken to say something."""
    try:
        found = re.compile(pattern.replace(r"\z", r"\Z"))
    except re.error:
        return False
    return all(any(found.search(kind * length) for length in _LENGTHS) for kind in _KINDS)


def _is_anchored(branch: str, ends_with: tuple[str, ...]) -> bool:
    begins = branch.startswith(_BEGINNINGS) and not _OPTIONAL.match(branch)
    ends = branch.endswith(ends_with) and not _is_escaped(branch)
    if begins and ends:
        return True
    inner = _group(branch)
    return inner is not None and all(_is_anchored(one, ends_with) for one in _branches(inner))


def _is_escaped(branch: str) -> bool:
    """Tells whether a `$` at the end is one to be found in the text."""
    if not branch.endswith("$"):
        backslashes = len(branch[:-1]) - len(branch[:-1].rstrip("\\"))
        return backslashes % 2 == 0
    backslashes = len(branch[:-1]) - len(branch[:-1].rstrip("\\"))
    return backslashes % 2 == 1


def _group(branch: str) -> str | None:
    """Returns what stands in a group that is the whole of a branch."""
    if not branch.startswith("(") or not branch.endswith(")"):
        return None
    depth = 0
    for at, character in _outside_classes(branch):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return re.sub(r"\A\?(:|P?<\w+>)", "", branch[1:-1]) if at == len(branch) - 1 else None
    return None


def _branches(pattern: str) -> list[str]:
    """Returns the alternatives of a pattern at its top."""
    cuts, depth = [-1], 0
    for at, character in _outside_classes(pattern):
        depth += (character == "(") - (character == ")")
        if character == "|" and depth == 0:
            cuts.append(at)
    return [pattern[a + 1 : b] for a, b in zip(cuts, [*cuts[1:], len(pattern)], strict=True)]


def _outside_classes(pattern: str) -> Iterator[tuple[int, str]]:
    """Yields the characters that are neither escaped nor in a class, with their place."""
    at, inside = 0, False
    while at < len(pattern):
        character = pattern[at]
        if character == "\\":
            at += 2
            continue
        if inside:
            inside = character != "]" or pattern[at - 1] == "["
        elif character == "[":
            inside = True
            if pattern[at + 1 : at + 2] == "^":
                at += 1
        else:
            yield at, character
        at += 1
