"""Profiles: what one service's responses mean, as data (`PROFILES.md` 1)."""

from .format import Profile
from .load import load_profile, parse_strict, shipped_profiles

__all__ = ["Profile", "load_profile", "parse_strict", "shipped_profiles"]
