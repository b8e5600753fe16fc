"""One call of a write: judged, put to a person where that is needed, written down, looked at again, and then run.

`judge` decides without any effect, so that two layers may look at one call. `before` does what must be done right
before the body: it asks, spends tickets, writes the intent down and looks at each target again. It is a generator of
steps, so that sync and async share every decision (`drive`, `adrive`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from unabridged.actions.approvals import TTL_S, ApprovalStale, Approver, Card, Decision, answered, known_with, make_card
from unabridged.actions.approvals.questions import ask
from unabridged.actions.outcomes import Outcome, TargetOutcome, outcome_of
from unabridged.contract import InvalidInput, TicketRefused, id_key, printable_name, safe_id
from unabridged.contract.ids import id_key_set
from unabridged.evidence import Asked, Selected, Session, Verdict, WriteIntent

from .arguments import jsonable, targets_of, whole
from .declare import WriteSpec
from .presenting import Reply, dumps, outcome_reply
from .recording import Record
from .refusing import guard_failed, invalid_request, refusal, refused_without_session, rejected
from .steps import Step, Steps
from .values import kind_of

if TYPE_CHECKING:
    from unabridged.actions import Action, Admitted, Rejected

_log = logging.getLogger("unabridged.gate")
REVIEWABLE: Final = frozenset(
    {"EVIDENCE_INCOMPLETE", "EVIDENCE_MISSING", "EVIDENCE_STALE", "EVIDENCE_WEAK", "TARGET_NOT_IN_EVIDENCE"}
)
"""What a person may decide about. Nobody waives a read in flight, a bad selection, or a guard that failed."""
_LISTED: Final = 100
_NO_CHOICE: Final = ("abandon",)
_LEFT_OUT: Final = {
    "RECHECK_FAILED": "The call ran for the targets that still held; the others changed since they were read.",
    "NOT_APPROVED": "It ran for the targets that were approved only.",
}
_ALLOWED: Final = Verdict("allow")


class Write:
    """A call of a write.

    Args of the constructor:
        name: the tool's name.
        spec: its declaration.
        args: the final arguments.
        session: the session, or nothing.
        same_turn: what was asked for beside it.
        has: the names of the tools that the agent has, when they are known.
        approve: who decides on a card, or nothing.
        record: what writes down what happens.
        call_id: the id of the call.
    """

    __slots__ = (
        "_admitted", "_approve", "_call_id", "_card", "_has", "_judged_as", "_record", "_same_turn", "_selected",
        "_targets", "_token", "_unapproved", "_verdict", "args", "changes", "left_out", "name", "session", "spec",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        spec: WriteSpec,
        args: Mapping[str, Any],
        *,
        session: Session | None,
        same_turn: Sequence[Asked] = (),
        has: frozenset[str] | None = None,
        approve: Approver | None = None,
        record: Record,
        call_id: str | None = None,
    ) -> None:
        self.name = name
        self.spec = spec
        self.args = args
        self.session = session
        self.changes: dict[str, Any] = {}
        """Arguments that the body gets other than they were sent."""
        self.left_out: list[Any] = []
        """Targets that did not hold any more."""
        self._same_turn = same_turn
        self._has = has
        self._approve = approve
        self._record = record
        self._call_id = call_id
        self._targets: list[Any] | None = None
        self._unapproved: list[Any] = []
        self._admitted: Admitted | None = None
        self._token: Any = None
        self._selected: Selected | None = None
        self._verdict = _ALLOWED
        self._card: Card | None = None
        self._judged_as = spec

    def judge(self) -> Reply | None:
        """Returns why the call may not run, or nothing where it may once `before` is done. Nothing is changed."""
        spec = self.spec
        if not self.name:
            raise InvalidInput(field="tool", rule="must have a name")
        if spec.action is not None and (refused := self._admit(spec.action)) is not None:
            return refused
        value = None if spec.targets is None else self.args.get(spec.targets)
        targets = None if value is None else targets_of(value)
        if value is not None and targets is None:
            return self.refuse_arguments([(spec.targets or "", "must be an id or a list of ids")])
        self._targets = targets
        if spec.independent is None:
            if self.session is None:
                self._record.refused(Verdict("refuse", ("GUARD_FAILED",)))
                return refused_without_session(self.name)
            if spec.selection is not None and (refused := self._select()) is not None:
                return refused
        if spec.max_targets is not None and len(self._targets or ()) > spec.max_targets:
            return self.refuse_arguments([(spec.targets or "", "names more ids than one call may touch")])
        if spec.independent is None and self.session is not None:
            self._verdict = self._judged(self.session, spec)
        return self._weighed()

    @property
    def is_left(self) -> bool:
        """Whether anything is left to be done between the judgement and the body, or after it."""
        return self._card is not None or self._token is not None or self._record.is_kept or not self.spec.is_plain

    def _admit(self, action: Action) -> Reply | None:
        """Holds the call to the contract of its action: its input, its references, and who may start it."""
        from unabridged.actions import Rejected

        admitted = action.admit(self.args, session=self.session)
        if isinstance(admitted, Rejected):
            return self._rejected(admitted)
        self._admitted, self.args = admitted, admitted.args
        return None

    def _rejected(self, why: Rejected) -> Reply:
        self._record.invalid(why.error)
        return rejected(self.name, why.document())

    def _granted_no_more(self) -> Reply | None:
        """Asks again who may start the action, where a person was asked or targets were looked at meanwhile."""
        action, admitted = self.spec.action, self._admitted
        if action is None or admitted is None or (self._card is None and self.spec.recheck is None):
            return None
        why = action.forbids(session=self.session, references=admitted.references)
        return None if why is None else self._rejected(why)

    def refuse_arguments(self, problems: Sequence[tuple[str, str]]) -> Reply:
        """Returns the refusal of arguments that break a rule."""
        self._record.invalid()
        return invalid_request(self.name, problems)

    def _select(self) -> Reply | None:
        """Takes the targets from a selection, where the call presents one."""
        assert self.session is not None
        self._token = self.args.get(self.spec.selection or "")
        if self._token is None:
            return None
        try:
            self._selected = self.session.tickets.selected(self._token, action=self.name, ids=self._targets)
        except TicketRefused:
            return self._refused(Verdict("refuse", ("SELECTION_INVALID",), options=_NO_CHOICE))
        self._aim(list(self._selected.ids))
        return None

    def _aim(self, targets: list[Any]) -> None:
        """Lets the call touch these ids."""
        if targets == self._targets:
            return
        self._targets = targets
        sent = self.args.get(self.spec.targets or "")
        kind = next((k for k in (tuple, set, frozenset) if isinstance(sent, k)), list)
        known = {id_key(jsonable(v)): v for v in sent} if isinstance(sent, list | tuple | set | frozenset) else {}
        self.changes[self.spec.targets or ""] = kind(known.get(id_key(t), t) for t in targets)

    def _judged(self, session: Session, spec: WriteSpec) -> Verdict:
        self._judged_as, intent = spec, self._intent(spec)
        return session.judge_write(intent, same_turn=self._same_turn, has_approver=self._approve is not None)

    def _intent(self, spec: WriteSpec) -> WriteIntent:
        return spec.intent(self.name, self._targets, self.args, selection=self._selected)

    def _weighed(self) -> Reply | None:
        """Returns the refusal, or nothing where the write may run or a person is to be asked."""
        verdict = self._verdict
        if not verdict.allowed:
            if self._approve is None or not _is_reviewable(verdict):
                return self._refused(verdict)
        elif not self._must_be_asked():
            return self._refused_unnamed()
        elif self._approve is None:
            return self._refused(Verdict("review", ("APPROVAL_STALE",), verdict.reads, ("request_review", "abandon")))
        if self.session is None:
            return guard_failed(self.name)
        self._card = self._asked(self.session)
        return None

    def _refused_unnamed(self) -> Reply | None:
        """Returns the refusal of a call that names no ids, where each id is counted or looked at: it could be all."""
        spec = self.spec
        if self._targets or (spec.max_targets is None and spec.recheck is None):
            return None
        return self.refuse_arguments([(spec.targets or "", "must name at least one id")])

    def _must_be_asked(self) -> bool:
        """Tells whether the author of the write wants a person's word although the evidence is good."""
        approval = self.spec.approval
        if approval is None or approval == "always":
            return approval is not None
        targets = self._targets or ()
        return approval.is_exceeded(len(targets) or None, known=known_with(self._verdict.reads, targets))

    def _asked(self, session: Session) -> Card:
        spec = self.spec
        return make_card(
            session=session, action=self.name, args={**jsonable(dict(self.args)), **self.changes},
            verdict=self._verdict, now=session.tickets.now(), purpose=spec.purpose, targets_arg=spec.targets,
            targets=self._targets, show=spec.show, call_id=self._call_id,
            whole={**whole(dict(self.args)), **self.changes}, returned=self._returned(session),
        )  # fmt: skip

    def before(self) -> Steps:
        """Does what must be done right before the body; returns the refusal where the body may not run."""
        if self._card is not None and (refused := (yield from self._ask(self._card))) is not None:
            return refused
        if (refused := self._refused_unnamed()) is not None:
            return refused
        if self.spec.recheck is not None:
            refused = yield from self._look_again(self.spec.recheck)
            if refused is not None:
                return refused
        if (refused := self._granted_no_more()) is not None:
            return refused
        if not self._are_as_judged():
            return self._refused(Verdict("refuse", ("GUARD_FAILED",), options=_NO_CHOICE))
        if self._token is not None and self.session is not None:
            try:
                self.session.tickets.spend(self._token, action=self.name)
            except TicketRefused:
                return self._refused(Verdict("refuse", ("SELECTION_INVALID",), options=_NO_CHOICE))
        self._record.intent(self._verdict, self._targets)
        return None

    def _ask(self, card: Card) -> Steps:
        """Puts the card to whoever decides, and holds the call to what was decided."""
        assert self._approve is not None
        assert self.session is not None
        lapses_at = self.session.tickets.now() + timedelta(seconds=TTL_S)
        ask(self.session, card.question, until=card.expires_at)
        decision, why = None, ""
        try:
            decision = answered(self.session, (yield Step(self._approve, replace(card))), card, lapses_at=lapses_at)
        except (TicketRefused, ApprovalStale, InvalidInput) as error:
            why = str(error)
        if decision is None:
            _log.warning("the answer to the question about %s counts for nothing: %s", printable_name(self.name), why)
            return self._stale()
        self._record.approval(decision.kind, decision.by)
        match decision.kind:
            case "abandon":
                return self._refused(self._stopped(_NO_CHOICE), note="It was decided not to run it.")
            case "retry_with_deadline":
                options = ("retry_with_deadline", "abandon")
                return self._refused(self._stopped(options), note="Read again first.", deadline_s=decision.deadline_s)
            case "approve":
                return None if self._still_stands(card) else self._stale()
            case _:
                return self._narrowed(decision) if self._still_stands(card) else self._stale()

    def _still_stands(self, card: Card) -> bool:
        """Judges the write anew: what was decided on must be what stands now, arguments, ids and evidence."""
        assert self.session is not None
        if not self._are_as_judged():
            return False
        if self.spec.independent is None:
            self._verdict = self._judged(self.session, self.spec)
        return self._asked(self.session).question[0] == card.question[0]

    def _are_as_judged(self) -> bool:
        """Tells whether the ids that the body would get are those that were judged: foreign code ran meanwhile."""
        name = self.spec.targets
        if name is None or name in self.changes:
            return True
        sent = self.args.get(name)
        return (None if sent is None else targets_of(sent)) == self._targets

    def _narrowed(self, decision: Decision) -> Reply | None:
        """Lets the write touch what was decided on, and no more."""
        assert self.session is not None
        if decision.ids is not None:
            known = {key for read in self._verdict.reads for key in read.ids}
            wanted = list({id_key(i): i for i in decision.ids}.values())
            if self._targets and not id_key_set(wanted) <= id_key_set(self._targets):
                return self._stale()
            if not self._targets and {str(i) for i in known} & {str(i) for i in wanted if id_key(i) not in known}:
                return self._stale()
        else:
            wanted = self._returned(self.session)
        if not wanted or (self.spec.max_targets is not None and len(wanted) > self.spec.max_targets):
            return self._stale()
        approved = id_key_set(wanted)
        self._unapproved = [t for t in self._targets or () if id_key(t) not in approved]
        self._aim(wanted)
        if self.spec.independent is None:
            self._verdict = self._judged(self.session, replace(self.spec, allow_returned_targets=True))
        waived = REVIEWABLE if decision.ids is not None else frozenset({"EVIDENCE_WEAK"})
        return None if waived.issuperset(self._verdict.codes) else self._stale()

    def _returned(self, session: Session) -> list[Any]:
        """Returns what may be touched where only what was returned may be: of those that are named, or of one resource.

        Ids of several resources are no list of what one write touches: 7 of the one is not 7 of the other.
        """
        if self.spec.independent is not None:
            return []
        reach = session.reach(self._intent(self.spec))
        if self._targets:
            return [target for target in self._targets if id_key(target) in reach.ids]
        if len(reach.resources) != 1:
            return []
        results = [session.result(read.id) for read in self._verdict.reads]
        return [i for result in results if result is not None for i in result.ids]

    def _stopped(self, options: Any) -> Verdict:
        return Verdict("refuse", self._verdict.codes or ("APPROVAL_STALE",), self._verdict.reads, options)

    def _stale(self) -> Reply:
        codes = (*self._verdict.codes, "APPROVAL_STALE") if self._verdict.codes else ("APPROVAL_STALE",)
        return self._refused(Verdict("review", codes, self._verdict.reads, ("request_review", "abandon")))

    def _look_again(self, recheck: Callable[[Any], Any]) -> Steps:
        """Keeps the targets that still hold. What could not be looked at does not."""
        held: list[bool] = []
        for step in [Step(recheck, target) for target in self._targets or ()]:
            fault = None
            try:
                held.append((yield step) is True)
            except Exception as error:  # noqa: BLE001 - the author's own code: whatever it raises, the target does not hold
                fault = kind_of(error)
                held.append(False)
            if fault is not None:
                _log.warning("the recheck of %s failed with %s", printable_name(self.name), fault)
        self.left_out += [target for target, holds in zip(self._targets or (), held, strict=True) if not holds]
        if not any(held):
            return self._refused(Verdict("refuse", ("RECHECK_FAILED",), options=_NO_CHOICE))
        if self.left_out:
            self._aim([target for target, holds in zip(self._targets or (), held, strict=True) if holds])
        if self.spec.independent is None and self.session is not None:
            now = self._judged(self.session, self._judged_as)
            if not set(now.codes) <= set(self._verdict.codes):
                return self._refused(now)
        return None

    def _refused(self, verdict: Verdict, *, note: str = "", deadline_s: float | None = None) -> Reply:
        action = self.spec.action
        if action is not None and action.question and REVIEWABLE.issuperset(verdict.codes):
            self._record.refused(verdict, outcome="undetermined")
            return outcome_reply(Outcome.undetermined(verdict.codes))
        self._record.refused(verdict)
        return refusal(self.name, verdict, has=self._has, note=note, deadline_s=deadline_s)

    def perform(self) -> Outcome:
        """Does what the action of the call says. It stands in the place of a body."""
        action, admitted = self.spec.action, self._admitted
        assert action is not None
        assert admitted is not None
        return action.perform(admitted, session=self.session, targets=self._targets)

    async def aperform(self) -> Outcome:
        """As `perform`, without blocking."""
        action, admitted = self.spec.action, self._admitted
        assert action is not None
        assert admitted is not None
        return await action.aperform(admitted, session=self.session, targets=self._targets)

    def done(self, value: Any) -> Reply:
        """Writes down that the body returned, and makes its reply: a partial one where targets were left out."""
        if isinstance(value, Outcome):
            return self._came_of(value)
        count = None if self._targets is None else len(self._targets)
        open_ones = [(t, "RECHECK_FAILED") for t in self.left_out] + [(t, "NOT_APPROVED") for t in self._unapproved]
        self._record.outcome("partial" if open_ones else "done", done=count, not_done=len(open_ones))
        if not open_ones:
            return Reply(value=value, passes=True)
        kinds = {code for _, code in open_ones}
        document = {
            "status": "partial",
            "done": count,
            "not_done": len(open_ones),
            "left_out": [
                {"target": safe_id(target, n), "code": code} for n, (target, code) in enumerate(open_ones[:_LISTED], 1)
            ],
            "message": " ".join(text for code, text in _LEFT_OUT.items() if code in kinds),
            "result": jsonable(value),
        }
        return Reply(content=dumps(document), artifact={"unabridged": {"status": "partial"}})

    def _came_of(self, outcome: Outcome) -> Reply:
        """Writes down what came of an action, and tells it."""
        if self.left_out:
            changed = [TargetOutcome(t, "changed", "target_changed") for t in self.left_out]
            outcome = outcome_of([*outcome.targets, *changed])
        self._record.outcome(outcome.code or outcome.status, done=outcome.done, not_done=outcome.not_done)
        return outcome_reply(outcome)

    def ended(self, outcome: str) -> None:
        """Writes down that the body brought nothing: `failed` or `cancelled`."""
        self._record.outcome(outcome)


def _is_reviewable(verdict: Verdict) -> bool:
    """A routine continuation is no question for a person: the agent goes on by itself."""
    return REVIEWABLE.issuperset(verdict.codes) and "continue_read" not in verdict.options
