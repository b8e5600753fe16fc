"""An action as its author declares it: what it is for, what it takes and gives, what it needs, and who may start it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from pydantic import BaseModel

from unabridged.contract import InvalidInput, id_key

from .approvals import Threshold
from .authority import EFFECTS, WRITES, Authorize, Effect, is_allowed
from .data_map import data_map
from .executing import executor_of
from .failures import Diagnostics, check_codes
from .fields import Shape
from .inputs import REQUEST, Input, Problem
from .outcomes import Outcome
from .outputs import Output
from .performing import Performance, arun, run
from .references import ReferenceKind, kind_of, problems_of, resolve
from .requests import Admitted, InvalidRequest, Rejected, Request
from .values import as_json

if TYPE_CHECKING:
    from unabridged.evidence import Session

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_\-]{0,63}\Z")
_VERB: Final = re.compile(r"[a-z][a-z_]{0,39}\Z")
_HARMLESS: Final = "it changes nothing"
_TARGETS: Final = ("list", "set", "text", "integer", "uuid", "choice")


@dataclass(frozen=True, eq=False)
class Action:
    """A narrow contract of one thing that an agent may have done.

    Starting it, what its executor needs, and what the agent learns are three controls: `authorize`, the executor's own
    credentials and references, and `output`.

    Args:
        name: the name of the tool that the agent sees.
        purpose: what it is for, in one line.
        verb: what it does, in a word, such as `archive`.
        effect: `read`, `draft`, `change`, `send` or `destroy`, each granted by itself.
        input: the fields that the agent gives; each of a closed form (see `fields`).
        output: the fields that the agent learns; without it that it was done.
        errors: the codes that the executor may answer beside `BUILT_IN_CODES`.
        references: the fields that take a reference, each with the kind of thing that it stands for.
        lookups: what the executor looks up by itself, in words; for the data map.
        never: names of fields that cross neither way.
        executor: what does it; also a function of one `Command`.
        authorize: who may start it, `(principal, session, action, references) -> bool`; nobody when not given.
        rules: names of rules that the input's validators raise as `PydanticCustomError`.
        once: whether the same arguments in one session mean the same thing, to be done once. If false each call is a
            thing of its own, and a retry after a part was done repeats that part.
        question: whether it answers a question; it then answers `undetermined` on evidence that is not complete.
        diagnostics: is given what the executor raised; nobody else is.
        relies_on: the reads that are its evidence; see `WriteSpec`, as for all that follows.
        targets: the field that holds the ids that are touched.
        selection: the field that takes the token of a selection.
        max_targets: how many records it may touch at most. A write without `targets` must say so.
        independent: why it relies on nothing. What only looks or drafts, and is no question, relies on nothing unless
            it says on what.
        destructive: whether it cannot be taken back; so is each whose effect is `destroy`.
        require: what the evidence must be.
        max_age_s: how old the evidence may be, in seconds.
        allow_returned_targets: lets a partial read be enough for the ids it returned.
        recheck: looks at one target right before, `(id) -> bool`.
        approval: when a person is asked although the evidence is good.
        show: the fields whose values may stand on the card that a person decides on.

    Raises:
        InvalidInput: the declaration breaks a rule; names the field and the rule.
    """

    name: str
    _: KW_ONLY
    purpose: str
    verb: str
    effect: Effect
    input: type[BaseModel]
    output: type[BaseModel] | None = None
    errors: Sequence[str] = ()
    references: Mapping[str, ReferenceKind | str] = field(default_factory=dict)
    lookups: Sequence[str] = ()
    never: Sequence[str] = ()
    executor: Any = field(repr=False)
    authorize: Authorize | None = field(default=None, repr=False)
    rules: Sequence[str] = ()
    once: bool = True
    question: bool = False
    diagnostics: Diagnostics | None = field(default=None, repr=False)
    relies_on: Sequence[Any] | None = None
    targets: str | None = None
    selection: str | None = None
    max_targets: int | None = None
    independent: str | None = None
    destructive: bool = False
    require: str | Sequence[str] = "complete"
    max_age_s: float | None = None
    allow_returned_targets: bool = False
    recheck: Callable[[Any], Any] | None = field(default=None, repr=False)
    approval: Literal["always"] | Threshold | None = None
    show: Sequence[str] = ()
    inputs: Input = field(init=False, repr=False)
    reducer: Output | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        put = object.__setattr__
        self._check_words()
        put(self, "errors", check_codes(self.errors))
        put(self, "references", {name: kind_of(kind) for name, kind in dict(self.references).items()})
        for name in ("lookups", "never", "show", "rules"):
            put(self, name, _texts(name, getattr(self, name)))
        put(self, "executor", executor_of(self.executor))
        if self.authorize is not None and not callable(self.authorize):
            raise InvalidInput(field="authorize", rule="must be a function of principal, session, action, references")
        tokens = frozenset({*self.references, *(() if self.selection is None else (self.selection,))})
        put(self, "inputs", Input(self.input, tokens=tokens, rules=self.rules))
        put(self, "reducer", None if self.output is None else Output(self.output))
        put(self, "destructive", self.destructive or self.effect == "destroy")
        self._check_evidence()
        if self._is_harmless:
            put(self, "independent", _HARMLESS)
        self._check_targets()
        self._check_crossing()

    def data_map(self) -> dict[str, Any]:
        """Returns what crosses in which direction, as JSON; see `unabridged actions`."""
        return data_map(self)

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("an action cannot be pickled: it holds its executor; import it where it is needed")

    def _check_words(self) -> None:
        if not isinstance(self.name, str) or not _NAME.match(self.name):
            raise InvalidInput(field="name", rule="must be a name: letters, digits, _ and -, 64 at most")
        if not isinstance(self.verb, str) or not _VERB.match(self.verb):
            raise InvalidInput(field="verb", rule="must be one word in small letters")
        if not _is_line(self.purpose):
            raise InvalidInput(field="purpose", rule="must be one line of 1 to 200 characters")
        if self.effect not in EFFECTS:
            raise InvalidInput(field="effect", rule=f"must be one of {', '.join(EFFECTS)}")
        if self.question and self.effect != "read":
            raise InvalidInput(field="question", rule="goes with effect 'read': an answer changes nothing")

    def _check_evidence(self) -> None:
        if self.independent is not None and not _is_line(self.independent):
            raise InvalidInput(field="independent", rule="must say why the action relies on nothing")
        if self.independent is not None and (self.relies_on is not None or self.selection is not None):
            raise InvalidInput(field="independent", rule="contradicts relies_on and selection")
        for name in ("recheck", "selection"):
            if getattr(self, name) is not None and self.targets is None:
                raise InvalidInput(field=name, rule="goes with targets")
        if self.recheck is not None and not callable(self.recheck):
            raise InvalidInput(field="recheck", rule="must be a function of one target")
        if not (self.approval is None or self.approval == "always" or isinstance(self.approval, Threshold)):
            raise InvalidInput(field="approval", rule="must be 'always' or a Threshold")

    def _check_targets(self) -> None:
        most = self.max_targets
        if most is not None and (isinstance(most, bool) or not isinstance(most, int) or most < 1):
            raise InvalidInput(field="max_targets", rule="must be a number of at least 1")
        if self.targets is None:
            if self.is_write and most is None:
                raise InvalidInput(field="max_targets", rule="must say how many a write without targets may touch")
            return
        if self.targets not in self.input.model_fields or self.targets in (*self.references, self.selection):
            raise InvalidInput(field="targets", rule="must be a field of the input that holds ids")
        if self.inputs.shape.top(self.targets).type not in _TARGETS:
            raise InvalidInput(field="targets", rule="must be an id or a list of ids")

    def _check_crossing(self) -> None:
        declared = self.input.model_fields
        if not set(self.show) <= set(declared):
            raise InvalidInput(field="show", rule="must name fields of the input")
        for name in self.show:
            if name in self.references or name == self.selection:
                raise InvalidInput(field="show", rule="must name no field that holds a token")
            if any(f.sensitivity == "secret" for f in self.inputs.shape.below(name)):
                raise InvalidInput(field="show", rule="must name no field that is secret")
        shapes: tuple[Shape, ...] = (self.inputs.shape, *(() if self.reducer is None else (self.reducer.shape,)))
        if any(shape.names & set(self.never) for shape in shapes) or set(self.show) & set(self.never):
            raise InvalidInput(field="never", rule="names a field that the input or the output has")

    @property
    def _is_harmless(self) -> bool:
        """Whether nothing is lost where it runs on evidence that is not complete."""
        declared = (self.relies_on, self.selection, self.independent)
        return not self.is_write and not self.question and declared == (None, None, None)

    @property
    def is_write(self) -> bool:
        """Whether it changes something: `change`, `send` and `destroy`."""
        return self.effect in WRITES

    @property
    def most_targets(self) -> int | None:
        """How many records it may touch at most, by its own bound or by that of its field."""
        if self.max_targets is not None or self.targets is None:
            return self.max_targets
        most = self.inputs.shape.top(self.targets).bounds.get("max_length")
        return most if self._takes_many else 1

    @property
    def _takes_many(self) -> bool:
        return self.targets is not None and self.inputs.shape.top(self.targets).type in ("list", "set")

    def targets_of(self, args: Mapping[str, Any]) -> list[Any]:
        """Returns the ids that arguments name; none where they name none."""
        found = None if self.targets is None else args.get(self.targets)
        if found is None:
            return []
        return list(found) if isinstance(found, list | tuple) else [found]

    def request(self, *whole: Any, **named: Any) -> Request:
        """Returns a request of this action from named fields.

        Raises:
            InvalidRequest: a field is not declared, missing, or breaks its rule; or a mapping was passed on whole.
        """
        checked = None if whole else self.inputs.check(named)
        whole, named = (), {}
        if checked is None:
            raise InvalidRequest(problems=((REQUEST, "is made from named fields, not from an object passed on whole"),))
        if checked.fields is None:
            rejected = Rejected("invalid_request", checked.problems, checked.unnamed)
            raise InvalidRequest(problems=rejected.all_problems)
        return Request(self.name, checked.values)

    def admit(self, args: Mapping[str, Any] | Request, *, session: Session | None) -> Admitted | Rejected:
        """Returns what may be performed, or why it may not: strict input, then references, then authority.

        Nothing is run, spent or kept, and nothing is raised.

        Args:
            args: the arguments as they were sent, or a request.
            session: the session, or nothing.
        """
        if isinstance(args, Request):
            if args.action != self.name:
                return Rejected("invalid_request", ((REQUEST, "is one of another action"),))
            args = args.args
        if not isinstance(args, Mapping):
            return Rejected("invalid_request", ((REQUEST, "must be an object"),))
        checked = self.inputs.check(args)
        del args
        if checked.fields is None:
            return Rejected("invalid_request", checked.problems, checked.unnamed)
        problems = self._aim(checked.values)
        if problems:
            return Rejected("invalid_request", problems)
        found = resolve(session, self.kinds, checked.values, action=self.name)
        if found.flawed:
            return Rejected("reference_invalid", problems_of(found))
        forbidden = self.forbids(session=session, references=found.values)
        if forbidden is not None:
            return forbidden
        return Admitted(checked.values, checked.fields, found.values, self, _digest(session))

    def forbids(self, *, session: Session | None, references: Mapping[str, Any]) -> Rejected | None:
        """Returns that the action may not be started now, or nothing where `authorize` lets it."""
        is_granted = is_allowed(self.authorize, session=session, action=self, references=references)
        return None if is_granted else Rejected("forbidden")

    @property
    def kinds(self) -> Mapping[str, ReferenceKind]:
        """The fields that take a reference, each with its kind."""
        return {name: kind_of(kind) for name, kind in self.references.items()}

    def _aim(self, values: Mapping[str, Any]) -> tuple[Problem, ...]:
        """Returns what is wrong with the targets: an empty list means everything to many tools."""
        if self.targets is None:
            return ()
        named = self.targets_of(values)
        if not named:
            by_selection = self.selection is not None and values.get(self.selection) is not None
            given = values.get(self.targets) is not None
            return () if by_selection and not given else ((self.targets, "must name at least one"),)
        most = self.most_targets
        return () if most is None or len(named) <= most else ((self.targets, f"must have {most} entries at most"),)

    def takes_targets(self, admitted: Admitted, targets: Sequence[Any]) -> bool:
        """Tells whether ids are such as the input lets in; those of a selection come from what was read."""
        if self.targets is None:
            return True
        if self.most_targets is not None and len(targets) > self.most_targets:
            return False
        known = {id_key(t) for t in self.targets_of(admitted.args)}
        if known.issuperset(map(id_key, targets)):
            return True
        if known or (not self._takes_many and len(targets) != 1):
            return False  # more than was asked for
        sent = {**admitted.args, self.targets: list(targets) if self._takes_many else targets[0]}
        flawed = (f"{self.targets}[", f"{self.targets}.") if self._takes_many else (self.targets,)
        return not any(name.startswith(flawed) for name, _ in self.inputs.check(as_json(sent)).problems)

    def perform(self, admitted: Admitted, *, session: Session | None, targets: Sequence[Any] | None = None) -> Outcome:
        """Runs an admitted action and returns what came of it.

        What was done in this session with the same arguments is not done again. What may have been done is not either,
        unless the executor is idempotent.

        Args:
            admitted: what `admit` of this action returned.
            session: the session that it was admitted in.
            targets: what is touched, where that is less than was asked for, or comes from a selection.

        Raises:
            InvalidInput: this action did not admit it, or in another session.
        """
        performance = self._performance(admitted, session, targets)
        del admitted, targets
        return run(_admitted(performance), self.executor)

    async def aperform(
        self, admitted: Admitted, *, session: Session | None, targets: Sequence[Any] | None = None
    ) -> Outcome:
        """As `perform`, without blocking."""
        performance = self._performance(admitted, session, targets)
        del admitted, targets
        return await arun(_admitted(performance), self.executor)

    def resolve(
        self, admitted: Admitted, *, session: Session | None, done: bool, targets: Sequence[Any] | None = None
    ) -> int:
        """Notes what a person or a look at the provider found out about what may have happened.

        What was done is then `already_done`, and what was not may be done. It is for the code around an agent: no agent
        is offered it. An attempt that still runs must not be resolved.

        Args:
            admitted: what `admit` returns for the same arguments.
            session: the session.
            done: whether it was done.
            targets: which targets; all of them when not given.

        Returns:
            Of how many targets it was open.

        Raises:
            InvalidInput: this action did not admit it, or in another session.
            LedgerUnavailable: it cannot be noted.
        """
        performance = self._performance(admitted, session, targets)
        del admitted, targets
        return _admitted(performance).resolve(done=done)

    def _performance(
        self, admitted: Admitted, session: Session | None, targets: Sequence[Any] | None
    ) -> Performance | None:
        if not isinstance(admitted, Admitted) or admitted.by is not self or admitted.session != _digest(session):
            return None
        return Performance(self, admitted, session=session, targets=targets)


def _digest(session: Session | None) -> str | None:
    return None if session is None else session.key.digest


def _admitted(performance: Performance | None) -> Performance:
    """Returns a performance; raises where there is none, since no frame holds a value any more."""
    if performance is None:
        raise InvalidInput(field="admitted", rule="must be what this action admitted in this session")
    return performance


def _is_line(text: object) -> bool:
    return isinstance(text, str) and 0 < len(text.strip()) <= len(text) <= 200 and text.isprintable()


def _texts(name: str, given: Any) -> tuple[str, ...]:
    found = () if isinstance(given, str) else tuple(given)
    if isinstance(given, str) or not all(map(_is_line, found)):
        raise InvalidInput(field=name, rule="must be a list of short texts")
    return found
