"""Profiles: what one service's responses mean, as data (`PROFILES.md` 1)."""

from .format import Profile
from .load import load_profile
from .services import Fact, Note, Shipped, about, shipped_index, shipped_profiles
from .strict import parse_strict

__all__ = [
    "Fact",
    "Note",
    "Profile",
    "Shipped",
    "about",
    "load_profile",
    "parse_strict",
    "shipped_index",
    "shipped_profiles",
]
