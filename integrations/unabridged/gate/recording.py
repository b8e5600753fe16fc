"""Writing down what happens to a write: its decision, its intent, its outcome. Names, codes and digests; no value."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from unabridged.audit import AuditEvent, AuditFailed, AuditSink, accepted_fields, new_ref
from unabridged.contract import id_keys, printable_name
from unabridged.evidence import Session, Verdict

from .arguments import whole
from .values import kind_of

_log = logging.getLogger("unabridged.gate")


class Record:
    """The record of one call. Without a sink nothing is written, and nothing is worked out.

    An intent that cannot be written is an error: the call does not run then. A decision or an outcome that cannot be
    is logged; the intent without an outcome stands in the log for `verify` to report.

    Args of the constructor:
        sink: where events go, or nothing.
        action: the name of the tool.
        args: the arguments; their names are written down, and keyed digests of them.
        session: the session, or nothing.
        why: the declared reason of a write that relies on nothing.
    """

    __slots__ = ("_action", "_args", "_ref", "_session", "_sink", "_why")

    def __init__(
        self,
        sink: AuditSink | None,
        *,
        action: str,
        args: Mapping[str, Any],
        session: Session | None = None,
        why: str | None = None,
    ) -> None:
        self._sink = sink
        self._action = action
        self._args = args
        self._session = None if session is None or sink is None else session.key.digest
        self._why = why
        self._ref: str | None = None

    @property
    def is_kept(self) -> bool:
        """Whether anything is written."""
        return self._sink is not None

    def refused(self, verdict: Verdict, *, outcome: str = "refused") -> None:
        """Writes down that the call may not run."""
        self._tell(
            "decision", verdict=verdict.verdict, codes=verdict.codes, reads=tuple(r.id for r in verdict.reads),
            outcome=outcome,
        )  # fmt: skip

    def invalid(self, error: str = "invalid_request") -> None:
        """Writes down that the arguments broke a rule, or are nothing that may be asked for."""
        self._tell("decision", verdict="refuse", outcome=error)

    def approval(self, kind: str, by: str) -> None:
        """Writes down what was decided on a card, and what kind of approver did."""
        self._tell("approval", verdict=kind, approver=by)

    def intent(self, verdict: Verdict, targets: Sequence[Any] | None) -> None:
        """Writes down that the call is about to run.

        Raises:
            AuditFailed: it could not be.
        """
        if self._sink is None:
            return
        ref = new_ref()
        digests = {"args": self._sink.digest(whole(dict(self._args)), session=self._session)}
        if targets is not None:
            digests["targets"] = self._sink.digest(sorted(map(repr, id_keys(targets))), session=self._session)
        _write(
            self._sink,
            self._event(
                "intent", ref, verdict="allow", codes=verdict.codes, reads=tuple(r.id for r in verdict.reads),
                digests=digests,
            ),
        )  # fmt: skip
        self._ref = ref

    def outcome(self, outcome: str, *, done: int | None = None, not_done: int | None = None) -> None:
        """Writes down what became of it."""
        if self._ref is not None:
            self._tell("outcome", ref=self._ref, outcome=outcome, done=done, not_done=not_done)

    def _tell(self, kind: Any, *, ref: str | None = None, **told: Any) -> None:
        if self._sink is None:
            return
        try:
            _write(self._sink, self._event(kind, ref or new_ref(), **told))
        except Exception as error:  # noqa: BLE001 - the user's sink may raise anything; nothing runs because of this
            _log.error("%s of %s was not recorded: %s", kind, printable_name(self._action), kind_of(error))

    def _event(self, kind: Any, ref: str, **told: Any) -> AuditEvent:
        fields, unnamed = ((), 0) if kind == "outcome" else accepted_fields(self._args)
        return AuditEvent(
            kind=kind, action=self._action, ref=ref, session=self._session, fields=fields, unnamed=unnamed,
            why=self._why, **told,
        )  # fmt: skip


def _write(sink: AuditSink, event: AuditEvent) -> None:
    """Writes an event.

    Raises:
        AuditFailed: the sink would have to be waited for, so nothing stands written when it returns.
    """
    answer: Any = sink.write(event)  # type: ignore[func-returns-value]  # a sink of the user's may return anything
    if inspect.isawaitable(answer):
        if inspect.iscoroutine(answer):
            answer.close()
        raise AuditFailed(rule="the sink must have written an event when it returns, and this one is async")
