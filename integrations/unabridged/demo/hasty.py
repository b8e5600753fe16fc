"""The scripted model of the demo: a hasty one, the same for the plain and the guarded run and for every framework.

It tries the write right after the first read and claims in the end that nothing is left. It is not stupid: when a write
is refused it does what the tool messages offer, tries once more, and leaves the tenant alone if that is refused too. It
knows nothing of the directory but what stands in the messages; this module is the only place that parses them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from .runs import Step

PATIENCE_S: Final = 20.0
"""The deadline that the model asks for when a source was too slow."""
_GO_ON: Final = frozenset({"next_page", "read_more", "retry_after"})
_WITH_PATIENCE: Final = frozenset({"retry_with_deadline", "retry_sources", "repeat_read"})
_MOST_LINKS: Final = 40


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call that the model makes."""

    tool: str
    args: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Say:
    """The final text of the model."""

    text: str


Move = tuple[Call, ...] | Say


def next_move(history: Sequence[Step]) -> Move:
    """Decides what the model does next. A pure function of the tool calls so far; calls of a tuple are one turn."""
    notes = _Notes()
    for step in history:
        notes.read(step)
    if not notes.tenants_listed:
        return (Call("list_tenants", {}),)
    for tenant in notes.tenants.values():
        calls = tenant.next_calls()
        if calls:
            return calls
    if not notes.searched:
        return (Call("search_accounts", {}),)
    archived = sum(tenant.archived for tenant in notes.tenants.values())
    return Say(f"Done. I archived {archived} service accounts that nobody owns. Nothing is left.")


@dataclass(slots=True)
class _Listing:
    """What the model has seen of one listing of one tenant."""

    tool: str
    tenant: str
    seen: bool = False
    items: list[Mapping[str, Any]] = field(default_factory=list)
    route: Mapping[str, Any] = field(default_factory=dict)
    links: int = 0
    patient: bool = False

    def note(self, body: Any, *, again: bool) -> None:
        """Takes in a message; `again` is a new read of the listing, else it goes on with the one before."""
        self.seen, self.route = True, {}
        if isinstance(body, list):  # a plain tool
            self.items = body
            return
        if not isinstance(body, dict):
            return
        items = body.get("items") or []
        self.items = items if again else self.items + items
        self.route = body.get("continuation") or {}

    def recovery(self) -> Call | None:
        """Returns the call that the last message offers, while there is one left to try."""
        kind, handle = self.route.get("kind"), self.route.get("handle")
        if kind in _GO_ON and handle and self.links < _MOST_LINKS:
            return Call("continue_read", {"handle": handle})
        if kind in _WITH_PATIENCE and not self.patient and self.tool == "list_assignments":
            return Call(self.tool, {"tenant": self.tenant, "deadline_s": PATIENCE_S})
        return None


@dataclass(slots=True)
class _Tenant:
    id: str
    accounts: _Listing
    assignments: _Listing
    attempts: int = 0
    archived: int = 0
    finished: bool = False

    def next_calls(self) -> tuple[Call, ...]:
        if self.finished:
            return ()
        unread = [listing for listing in (self.accounts, self.assignments) if not listing.seen]
        if unread:
            return tuple(Call(listing.tool, {"tenant": self.id}) for listing in unread)
        if self.attempts == 0:
            return self._archive()
        recoveries = [call for listing in (self.accounts, self.assignments) if (call := listing.recovery())]
        if self.attempts == 1 and recoveries:
            return tuple(recoveries)
        return self._archive() if self.attempts == 1 else ()

    def _archive(self) -> tuple[Call, ...]:
        assigned = {item.get("account") for item in self.assignments.items}
        ids = [item["id"] for item in self.accounts.items if item["owner"] is None and item["id"] not in assigned]
        return (Call("archive_accounts", {"tenant": self.id, "account_ids": ids}),) if ids else ()


@dataclass(slots=True)
class _Notes:
    """What the model makes of the messages."""

    tenants: dict[str, _Tenant] = field(default_factory=dict)
    tenants_listed: bool = False
    searched: bool = False
    by_handle: dict[str, _Listing] = field(default_factory=dict)

    def read(self, step: Step) -> None:
        body = step.body()
        match step.tool:
            case "list_tenants":
                self.tenants_listed = True
                for item in body if isinstance(body, list) else (body or {}).get("items") or []:
                    name = item["id"]
                    listings = (_Listing("list_accounts", name), _Listing("list_assignments", name))
                    self.tenants.setdefault(name, _Tenant(name, *listings))
            case "list_accounts" | "list_assignments" if step.args.get("tenant") in self.tenants:
                tenant = self.tenants[step.args["tenant"]]
                listing = tenant.accounts if step.tool == "list_accounts" else tenant.assignments
                listing.patient = listing.patient or "deadline_s" in step.args
                self._note(listing, body, again=True)
            case "continue_read" if step.args.get("handle") in self.by_handle:
                listing = self.by_handle[step.args["handle"]]
                listing.links += 1
                self._note(listing, body, again=False)
            case "archive_accounts" if step.args.get("tenant") in self.tenants:
                self._note_write(self.tenants[step.args["tenant"]], body)
            case "search_accounts":
                self.searched = True
            case _:
                pass

    def _note(self, listing: _Listing, body: Any, *, again: bool) -> None:
        listing.note(body, again=again)
        if handle := listing.route.get("handle"):
            self.by_handle[handle] = listing

    @staticmethod
    def _note_write(tenant: _Tenant, body: Any) -> None:
        tenant.attempts += 1
        if isinstance(body, dict) and body.get("error") is None:
            tenant.archived += len(body["archived"]) if "archived" in body else body.get("done", 0)
            tenant.finished = True
        elif tenant.attempts > 1:
            tenant.finished = True
