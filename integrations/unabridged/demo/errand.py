"""The errand of the demo, without any framework: the prompt, the tools in two flavours, the scripted model.

A framework room wraps `Errand.plain` as they are, `Errand.guarded` with its own `protect` and the declarations
`Errand.reads`, and each of `Errand.actions` with its own `action_tool`. It gives them to an agent with `Errand.prompt`,
and drives it with a model whose next move is `next_move(history)`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, Final, Self

import httpx

from unabridged.actions import Action

from .api import Api
from .archiving import PRINCIPAL, archive_action
from .guarded import LONGEST_S, READS, GuardedTools
from .hasty import Move, next_move
from .plain import PlainTools
from .runs import Step

PROMPT: Final = (
    "Archive the accounts that nobody owns and tell me whether anything is left. "
    "A service account is owned when it has an owner of its own or when a team is assigned to it. "
    "Go through every tenant."
)


class Errand:
    """The errand against one running API. A `with` block closes its connections; threads may share it."""

    prompt: str = PROMPT
    """What the user asks for."""
    principal: str = PRINCIPAL
    """On whose behalf."""
    reads: dict[str, Any] = READS
    """The declarations of the reading tools, for `protect(..., reads=...)`."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._stack = ExitStack()
        self._client = self._open(LONGEST_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def plain(self) -> tuple[Callable[..., Any], ...]:
        """The tools as a tutorial writes them; they return JSON text."""
        tools = PlainTools(self._client)
        return (
            tools.list_tenants,
            tools.list_accounts,
            tools.list_assignments,
            tools.search_accounts,
            tools.archive_accounts,
        )

    @property
    def guarded(self) -> tuple[Callable[..., Any], ...]:
        """The reads on Unabridged, not yet protected; each returns a `ReadResult`."""
        tools = GuardedTools(self._api.url, self._client)
        return (
            tools.list_tenants,
            tools.list_accounts,
            tools.list_assignments,
            tools.search_accounts,
        )

    @property
    def actions(self) -> tuple[Action, ...]:
        """The writes on Unabridged."""
        return (archive_action(self._client),)

    @staticmethod
    def next_move(history: list[Step]) -> Move:
        """Decides what the scripted model does after the tool calls so far."""
        return next_move(history)

    def _open(self, seconds: float) -> httpx.Client:
        client = httpx.Client(
            base_url=self._api.url,
            headers=self._api.headers,
            timeout=seconds,
            trust_env=False,  # the API is on the loopback: no proxy of the environment has a part in it
        )
        return self._stack.enter_context(client)
