"""What stands behind a source: an upstream that answers or fails with canaries, and how a read over it is made."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from canaries.desk import Waiting, said
from canaries.watching import SENT
from unabridged import Budget, Query

ONCE: Final = Budget(max_retries=0)
MAIL: Final = f"{SENT}mail@example.org"
"""What a model sends to every read."""
WAYS: Final = ("valid", "refused", "raises", "timeout", "dies", "invalid")


class Upstream(Waiting):
    """What stands behind a source."""

    def meet(self, refusal: Callable[[str], BaseException]) -> None:
        """Lets a request pass, or fails as the mode says: `refused` with the error that the client library has."""
        self.commands.append("asked")  # type: ignore[arg-type]
        if self.mode == "refused":
            raise refusal(said(self.secret))
        self.answer()

    async def ameet(self, refusal: Callable[[str], BaseException]) -> None:
        """As `meet`; in the mode `hangs` it waits until it is cancelled."""
        if self.mode == "hangs":
            self.commands.append("asked")  # type: ignore[arg-type]
            self.holds.set()
            await asyncio.Event().wait()
        self.meet(refusal)


@dataclass(frozen=True)
class Source:
    """A read over a source.

    Attributes:
        read: reads; the upstream, what the model sent, and a folder of the test's own.
        shown: the fields that a model may see, all of them ids.
        ways: how it can go.
        covers: whether all of `ROWS` are read by their ids, so that a write which relies on them may go ahead.
        is_async: whether it is awaited.
        others: loggers of its client library that tell at DEBUG what is asked and answered.
    """

    read: Callable[[Upstream, str, Path], Any]
    shown: tuple[str, ...]
    ways: tuple[str, ...] = WAYS
    covers: bool = False
    is_async: bool = False
    others: tuple[str, ...] = ()

    def tool(self, up: Upstream, folder: Path, *, name: str) -> Callable[[str], Any]:
        """Returns the read as a function of an author, of that name."""

        def look_up(mail: str) -> Any:
            """Looks up orders."""
            return self.read(up, mail, folder)

        async def alook_up(mail: str) -> Any:
            """Looks up orders."""
            return await self.read(up, mail, folder)

        made = alook_up if self.is_async else look_up
        made.__name__ = name
        return made


def reads_of(source: Source) -> dict[str, Any]:
    """Returns how `look_up` is declared."""
    return {"look_up": {"resource": "orders", "fields": source.shown}}


def asked(mail: str) -> Query:
    """What every source is asked."""
    return Query("orders", filters={"mail": mail})
