"""What the tests of the gate and of both rooms share: an audit sink that keeps its events."""

from __future__ import annotations

from typing import Any

from unabridged.audit import AuditEvent, AuditFailed


class Log:
    """Keeps its events, and fails for the kinds that it is told to."""

    def __init__(self, *fails: str) -> None:
        self.events: list[AuditEvent] = []
        self.fails = fails

    def write(self, event: AuditEvent) -> None:
        if event.kind in self.fails:
            raise AuditFailed(rule="no space is left")
        self.events.append(event)

    def digest(self, value: Any, *, session: str | None = None) -> str:
        return "0" * 32

    @property
    def told(self) -> list[tuple[str, str, str | None]]:
        return [(e.kind, e.action, e.outcome or e.verdict) for e in self.events]

    @property
    def kinds(self) -> list[str]:
        return [event.kind for event in self.events]
