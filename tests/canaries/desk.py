"""A desk that refunds orders: an action with its executor, a read and a plain write, each fed with canaries."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Final

from canaries.watching import IDS, KEY, NUMBER, SAID, SENT, UP, TheirOwn, customer
from pydantic import BaseModel, Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError
from unabridged.actions import Action, Command, ExecutorError, Grants, Sensitivity
from unabridged.contract import ReadHeader, ReadResult, Reason, Scope, build_result, new_read_id
from unabridged.gate.acting import arun_action, run_action
from unabridged.gate.presenting import Reply

OrderId = Annotated[str, StringConstraints(pattern=r"^o [a-z]{1,20}$", max_length=24), Sensitivity("personal")]
Mail = Annotated[str, StringConstraints(pattern=r"^[a-z]{1,40}@example\.org$", max_length=60), Sensitivity("personal")]
ROWS: Final = [{"id": f"o {IDS}{n}", "state": "open", "customer": customer(UP)} for n in ("one", "two", "three")]


class Refund(BaseModel):
    """What a refund takes."""

    ids: Annotated[list[OrderId], Field(max_length=5)]
    mail: Mail
    cents: int
    low: int = 1
    high: int = 2

    @model_validator(mode="after")
    def low_le_high(self) -> Refund:
        """Holds the two bounds together."""
        if self.low > self.high:
            raise PydanticCustomError("low_le_high", "{low} is above {high}", {"low": self.low, "high": self.high})
        return self


class Receipt(BaseModel):
    """What an agent learns of a refund."""

    ref: Annotated[str, StringConstraints(pattern=r"^R-[0-9]{1,4}$", max_length=6), Sensitivity("internal")]
    queued: bool


ANSWER: Final[dict[str, Any]] = {
    "ref": "R-1", "queued": True, "message": f"Sent to {UP}message.", "customer": customer(UP), "items": [customer(UP)],
}  # fmt: skip
GOOD: Final[dict[str, Any]] = {
    "ids": [f"o {IDS}one", f"o {IDS}two"],
    "mail": f"{SENT}mail@example.org",
    "cents": NUMBER,
}
BAD: Final[dict[str, dict[str, Any]]] = {
    "unknown fields": {**GOOD, "customer_email": f"{SENT}mail@example.org", f"{SENT}key of mine": customer(SENT)},
    "wrong types": {"ids": customer(SENT), "mail": customer(SENT), "cents": f"{SENT}cents"},
    "broken patterns": {"ids": [f"{SENT}id"], "mail": f"{SENT} is no mail", "cents": 1},
    "a broken rule": {**GOOD, "low": NUMBER + 2, "high": NUMBER + 1},
    "nothing but a text": {"ids": f"{SENT}ids"},
}


def said(secret: str) -> str:
    """Returns what a failure says: it quotes a credential, an address and a customer."""
    return f"{SAID}text of {secret} for 10.0.0.9: {customer(SAID)}"


class Provider:
    """Does refunds. `mode` says what becomes of the next ones.

    `holds` is set once a call that waits has begun.
    """

    idempotent = False
    kind = "provider"
    origin = "https://provider.example.org"

    def __init__(self, mode: str = "valid") -> None:
        self.mode = mode
        self.secret = f"{KEY}token"
        self.commands: list[Command] = []
        self.holds = asyncio.Event()

    def execute(self, command: Command) -> Any:
        """Returns what a provider would say, or fails as it would."""
        self.commands.append(command)
        return self.answer()

    def answer(self) -> Any:
        """Answers, or fails, whoever asks."""
        where = said(self.secret)
        match self.mode:
            case "rejected":
                try:
                    raise ValueError(where)
                except ValueError as error:
                    raise ExecutorError(code="provider_rejected") from error
            case "raises":
                try:
                    raise KeyError(where)
                except KeyError as error:
                    error.add_note(where)
                    raise RuntimeError(where) from error
            case "group":
                raise ExceptionGroup(where, [ValueError(where), OSError(5, where)])
            case "timeout":
                raise TimeoutError(where)
            case "retry":
                self.mode = "valid"
                raise ExecutorError(code="provider_retryable")
            case "other form":
                return {"ref": f"{UP}ref", "queued": f"{UP}queued", "customer": customer(UP)}
            case "free text":
                return f"{UP}text"
            case "dies":
                raise TheirOwn(where)
        return {**ANSWER}


class Waiting(Provider):
    """A provider that is asynchronous, and in the mode `hangs` waits until it is cancelled."""

    is_async = True

    async def aexecute(self, command: Command) -> Any:
        """As `execute`."""
        self.commands.append(command)
        if self.mode == "hangs":
            self.holds.set()
            await asyncio.Event().wait()
        return self.answer()


MODES: Final = ("valid", "rejected", "raises", "group", "timeout", "retry", "other form", "free text")


def refund(provider: Any, **declared: Any) -> Action:
    """Returns the action."""
    keywords: dict[str, Any] = {
        "name": "refund", "purpose": "Refunds orders.", "verb": "refund", "effect": "change", "input": Refund,
        "output": Receipt, "rules": ("low_le_high",), "relies_on": ["orders"], "targets": "ids", "max_targets": 3,
        "authorize": Grants(anyone=["change"]), "executor": provider,
    }  # fmt: skip
    return Action(**{**keywords, **declared})


def orders(*codes: str, filters: Mapping[str, Any] | None = None) -> ReadResult:
    """Returns a read of the orders, with all that an upstream says of their customers."""
    now = datetime.now(UTC)
    return build_result(
        items=[dict(row) for row in ROWS],
        reasons=[Reason(code=code, layer="source") for code in codes],
        scope=Scope(resource="orders", filters=dict(filters or {})),
        read=ReadHeader(id=new_read_id(), adapter="desk", started_at=now, finished_at=now),
    )


async def act(is_async: bool, action: Any, fields: Any) -> Reply:
    """Starts an action without a framework."""
    return await arun_action(action, fields) if is_async else run_action(action, fields)


def heard(reply: Reply) -> str:
    """Returns all of a reply that may reach anybody."""
    assert not reply.passes
    return f"{reply.content} {json.dumps(reply.artifact)} {reply!r} {reply.value!r}"
