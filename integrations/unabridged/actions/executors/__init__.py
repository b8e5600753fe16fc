"""Executors: where a write leaves, and where the credential for it is kept.

What each of them protects against is told in `docs/ACTIONS.md`.
"""

from .credentials import (
    Credential,
    CredentialUnavailable,
    FromCallable,
    FromEnvironment,
    FromFile,
    FromKeyring,
    Secret,
)
from .http import HttpExecutor, RawAnswer
from .process import ProcessExecutor
from .routes import Route

__all__ = [
    "Credential",
    "CredentialUnavailable",
    "FromCallable",
    "FromEnvironment",
    "FromFile",
    "FromKeyring",
    "HttpExecutor",
    "ProcessExecutor",
    "RawAnswer",
    "Route",
    "Secret",
]
