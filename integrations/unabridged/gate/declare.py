"""What a tool's author declares: the effect of a tool, and what follows from it (`DESIGN.md`, Effects).

Four closed kinds. A tool that nobody declared has the kind that fails closed both ways.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal

from unabridged.actions.approvals import Threshold
from unabridged.contract import InvalidInput, json_equal
from unabridged.contract.asked import is_place, is_size, may_be_all, size_in
from unabridged.evidence import Selected, WriteIntent

from .arguments import jsonable, scoped
from .judges import check_judge

if TYPE_CHECKING:
    from unabridged.actions import Action

_DEADLINE: Final = "deadline_s"
HIDDEN: Final = "<hidden>"
MAX_DEADLINE_S: Final = 300.0
_LONGEST_NAME: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSpec:
    """A tool that leaves evidence.

    Args:
        resource: the name under which its reads stand in the ledger, whatever a returned result says.
        judge: turns the tool's value into a result, `(value, call) -> ReadResult`, or a profile that judges it as one
            page. `call.result(records, *reasons)` makes a result. Without a judge a bare value is `Unknown`.
        exhaustive: the author's own statement that a value is always the whole; recorded as declared.
        intent: `inventory`, `sample` or `lookup`.
        key: for a lookup, the argument (and record field) that names the record.
        filters: renames arguments to filter fields.
        not_filters: arguments that are no filters, besides the well-known ones.
        id: the field of a record that holds its id.
        fields: the record fields that a model may see; all when not given.
        deadline: adds an optional, capped argument `deadline_s`.
    """

    effect: Literal["read"] = "read"
    resource: str
    judge: Any = None
    exhaustive: bool = False
    intent: Literal["inventory", "sample", "lookup"] = "inventory"
    key: str | None = None
    filters: Mapping[str, str] | None = None
    not_filters: Sequence[str] = ()
    id: str = "id"
    fields: Sequence[str] | None = None
    deadline: bool = False
    _aliases: Mapping[str, str] = field(default_factory=dict, init=False, repr=False, compare=False)
    """Other names of arguments, as the schema of the tool tells them, each with that of the parameter."""

    _hidden: frozenset[str] = field(default=frozenset(), init=False, repr=False, compare=False)
    """Filters whose values no model may see, since the framework or the author gave them."""

    def __post_init__(self) -> None:
        if not isinstance(self.resource, str) or not 0 < len(self.resource) <= _LONGEST_NAME:
            raise InvalidInput(field="resource", rule=f"must be a name of 1 to {_LONGEST_NAME} characters")
        if self.intent not in {"inventory", "sample", "lookup"}:
            raise InvalidInput(field="intent", rule="must be one of inventory, sample, lookup")
        check_judge(self.judge)
        if self.key is not None and self.intent != "lookup":
            raise InvalidInput(field="key", rule="goes with intent='lookup'")
        if len(set((self.filters or {}).values())) < len(self.filters or {}):
            raise InvalidInput(field="filters", rule="must rename no two arguments to one field")
        for name in ("fields", "not_filters"):
            if isinstance(getattr(self, name), str):
                raise InvalidInput(field=name, rule="must be a list of names")

    def under(self, aliases: Mapping[str, str]) -> ReadSpec:
        """Returns the declaration for a tool whose arguments have other names, too: one filter has one name."""
        if not aliases:
            return self
        known = copy.copy(self)
        told = self.takes()
        object.__setattr__(known, "_aliases", {a: n for a, n in aliases.items() if a not in told})
        return known

    def hiding(self, filters: Mapping[str, Any], *, args: Mapping[str, Any], given: Mapping[str, Any]) -> ReadSpec:
        """Returns the declaration for a read in whose scope stands what the model did not send and may not see.

        Args:
            filters: the scope of the read.
            args: the arguments of the call.
            given: the arguments that the framework or the author gave.
        """
        if not given:
            return self
        told = self.filters_of({name: value for name, value in args.items() if name not in given})
        names = (n for n, v in filters.items() if n not in told and any(json_equal(v, g) for g in given.values()))
        hiding = copy.copy(self)
        object.__setattr__(hiding, "_hidden", frozenset(names))
        return hiding

    @property
    def withholds(self) -> dict[str, Any] | None:
        """What no model may see of its reads, by names alone; nothing where a model may see everything."""
        if self.fields is None and not self._hidden:
            return None
        fields = None if self.fields is None else list(self.fields)
        return {"fields": fields, "hidden": sorted(self._hidden)}

    def withholding(self, told: Mapping[str, Any]) -> ReadSpec:
        """Returns the declaration for a read of which another process told what no model may see."""
        known = copy.copy(self)
        object.__setattr__(known, "fields", told["fields"])
        object.__setattr__(known, "_hidden", frozenset(told["hidden"]))
        return known

    def shown(self, filters: Mapping[str, Any]) -> dict[str, Any] | None:
        """Returns the filters of a read as a model may see them; nothing where it may see all of them."""
        if self._hidden.isdisjoint(filters):
            return None
        return {name: HIDDEN if name in self._hidden else value for name, value in filters.items()}

    def filters_of(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the filters that a call's arguments state: what the model sent, but for nulls and sizes.

        The key of a lookup is always one of them, whatever it is called: without it the read would speak of everything.
        """
        renames = self.filters or {}
        if self._aliases:
            args = {self._aliases.get(name, name): value for name, value in args.items()}
        return {
            renames.get(name, name): value
            for name, value in args.items()
            if value is not None and (name in renames or name == self.key or self._is_filter(name, value))
        }

    def _is_filter(self, name: str, value: Any) -> bool:
        """Tells whether an argument of this name says what is read, and not how much (`DESIGN.md`, Effects)."""
        return not (name in self.not_filters or name == _DEADLINE or is_size(name) or is_place(name, value))

    def size_of(self, args: Mapping[str, Any]) -> int | None:
        """Returns how many records a call asked for, where it said so."""
        return size_in(self._paging(args))

    def asks_for_all(self, args: Mapping[str, Any]) -> bool:
        """Tells whether a call asked for all of its scope: from the first page on, and for a record by its key.

        What ends at a later page is not the whole, nor is what nobody knows the size of, and a lookup without its key
        would speak of every record.
        """
        if self.key is not None and args.get(self.key) is None:
            return False
        origin = getattr(getattr(self.judge, "walk", None), "origin", None)
        return may_be_all(self._paging(args), origin=origin)

    def _paging(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the arguments that are neither declared filters nor a key, under all of their names."""
        told = {*(self.filters or ()), *(() if self.key is None else (self.key,))}
        others = {n: v for n, v in args.items() if told.isdisjoint((n, self._aliases.get(n, n)))}
        return {**others, **{self._aliases[n]: v for n, v in others.items() if n in self._aliases}}

    @property
    def key_filter(self) -> str | None:
        """The filter that holds the key of a lookup."""
        return None if self.key is None else (self.filters or {}).get(self.key, self.key)

    def takes(self) -> frozenset[str]:
        """Returns the names of arguments that the declaration speaks of."""
        return frozenset({*(self.filters or ()), *self.not_filters, *(() if self.key is None else (self.key,))})

    def may_be_complete(self) -> bool:
        """Tells whether the declaration alone lets a bare value become complete."""
        if self.intent == "sample":
            return False
        if self.judge is None or callable(self.judge):
            return self.judge is not None or self.exhaustive
        from unabridged.reading.value import can_be_whole

        return can_be_whole(self.judge)


@dataclass(frozen=True, slots=True)
class FromArgument:
    """Stands in the filters of a `relies_on` entry for what a call sends in one of its arguments.

    So a write in one tenant relies on the reads of that tenant: `{"resource": "accounts", "filters": {"tenant":
    FromArgument("tenant")}}`. Where a call sends nothing the filter falls away, and only wider reads will do.
    """

    name: str

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise InvalidInput(field="relies_on", rule="must take a filter from a named argument")


def _filled(entry: Any, args: Mapping[str, Any]) -> Any:
    """Returns an entry of `relies_on` with the arguments of a call in place of what stands for them."""
    if not isinstance(entry, Mapping) or not isinstance(entry.get("filters"), Mapping):
        return entry
    filters = {
        name: _given(args.get(value.name)) if isinstance(value, FromArgument) else scoped(value, sent=value)
        for name, value in entry["filters"].items()
        if not isinstance(value, FromArgument) or args.get(value.name) is not None
    }
    return {**entry, "filters": filters}


def _given(value: Any) -> Any:
    return scoped(value, sent=jsonable(value))


def _kept(entry: Any) -> Any:
    """Returns an entry of `relies_on` that does not change with the object that its author gave."""
    if not isinstance(entry, Mapping) or not isinstance(entry.get("filters"), Mapping):
        return entry
    return {**entry, "filters": dict(entry["filters"])}


def _is_open(entry: Any) -> bool:
    filters = entry.get("filters") if isinstance(entry, Mapping) else None
    return isinstance(filters, Mapping) and any(isinstance(v, FromArgument) for v in filters.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteSpec:
    """A tool whose calls are judged before they run.

    Args:
        relies_on: the reads that are its evidence, as names or `{"resource", "filters"}`, a filter's value also
            `FromArgument(name)`; without it the write may rely on every inventory read.
        targets: the argument that holds the ids that are touched.
        independent: why the write relies on nothing; the reason is kept.
        destructive: the write cannot be taken back.
        require: what the evidence must be, `complete` by default.
        max_age_s: how old the evidence may be, in seconds.
        allow_returned_targets: lets a partial read be enough for the ids it returned.
        recheck: looks at one target right before the write, `(id) -> bool`, sync or async; the write goes ahead for
            those that still hold. Goes with `targets`, and a call must name at least one then.
        selection: the argument that takes the token of a selection; the ids come from it then. Goes with `targets`.
        approval: when a person is asked although the evidence is good: `always`, or over a `Threshold`.
        show: the arguments whose values may stand on the card that a person decides on.
        purpose: what the write is for, in a few plain words; it stands on the card.
        max_targets: how many ids one call may touch; it must name at least one then.
        action: the contract of the write, where it has one; see `write_spec`.
    """

    effect: Literal["write"] = "write"
    relies_on: Sequence[Any] | None = None
    targets: str | None = None
    independent: str | None = None
    destructive: bool = False
    require: str | Sequence[str] = "complete"
    max_age_s: float | None = None
    allow_returned_targets: bool = False
    recheck: Callable[[Any], Any] | None = None
    selection: str | None = None
    approval: Literal["always"] | Threshold | None = None
    show: Sequence[str] = ()
    purpose: str | None = None
    max_targets: int | None = None
    action: Action | None = None
    is_plain: bool = field(default=True, init=False, repr=False, compare=False)
    """Whether nothing but the verdict stands between a call and its body."""
    _demands: WriteIntent | None = field(default=None, init=False, repr=False, compare=False)
    """What every call demands, checked once; nothing where a call's arguments have a part in it."""

    def __post_init__(self) -> None:
        if self.independent is not None and (not isinstance(self.independent, str) or not self.independent.strip()):
            raise InvalidInput(field="independent", rule="must say why the write relies on nothing")
        if self.independent is not None and self.relies_on is not None:
            raise InvalidInput(field="independent", rule="contradicts relies_on")
        if self.targets is not None and (not isinstance(self.targets, str) or not self.targets):
            raise InvalidInput(field="targets", rule="must be the name of the argument that holds the ids")
        self._check_beyond()
        if isinstance(self.relies_on, str):
            object.__setattr__(self, "relies_on", (self.relies_on,))
        if isinstance(self.relies_on, Mapping):
            raise InvalidInput(field="relies_on", rule="must be a list of names or of {resource, filters}")
        if self.independent is None:
            demands = self._checked({})
            object.__setattr__(self, "_demands", None if self.is_open else demands)
        object.__setattr__(self, "show", tuple(self.show))
        if self.relies_on is not None:
            object.__setattr__(self, "relies_on", tuple(map(_kept, self.relies_on)))

    def _check_beyond(self) -> None:
        """Checks what is asked for beyond the evidence."""
        beyond = (self.recheck, self.selection, self.approval, self.max_targets, self.action)
        object.__setattr__(self, "is_plain", all(each is None for each in beyond))
        if self.recheck is not None and not callable(self.recheck):
            raise InvalidInput(field="recheck", rule="must be a function of one target")
        for name in ("recheck", "selection", "max_targets"):
            if getattr(self, name) is not None and self.targets is None:
                raise InvalidInput(field=name, rule="goes with targets")
        if self.selection is not None and (not isinstance(self.selection, str) or not self.selection):
            raise InvalidInput(field="selection", rule="must be the name of the argument that takes the token")
        if self.selection is not None and self.independent is not None:
            raise InvalidInput(field="selection", rule="contradicts independent")
        if not (self.approval is None or self.approval == "always" or isinstance(self.approval, Threshold)):
            raise InvalidInput(field="approval", rule="must be 'always' or a Threshold")
        if isinstance(self.show, str):
            raise InvalidInput(field="show", rule="must be a list of names")
        most = self.max_targets
        if most is not None and (isinstance(most, bool) or not isinstance(most, int) or most < 1):
            raise InvalidInput(field="max_targets", rule="must be a number of at least 1")

    @property
    def is_open(self) -> bool:
        """Whether a call's arguments have a part in what it relies on."""
        return any(map(_is_open, self.relies_on or ()))

    def intent(
        self,
        tool: str,
        targets: Sequence[Any] | None,
        args: Mapping[str, Any] = MappingProxyType({}),
        *,
        selection: Selected | None = None,
    ) -> WriteIntent:
        """Returns what one call of the write wants, for the guard."""
        return (self._demands or self._checked(args)).aimed_at(targets, tool=tool, selection=selection)

    def _checked(self, args: Mapping[str, Any]) -> WriteIntent:
        return WriteIntent(
            tool="declared",
            relies_on=None if self.relies_on is None else [_filled(entry, args) for entry in self.relies_on],
            require=self.require,
            max_age_s=self.max_age_s,
            allow_returned_targets=self.allow_returned_targets,
            destructive=self.destructive,
            recheck=self.recheck is not None,
        )

    def takes(self) -> frozenset[str]:
        """Returns the names of the arguments that have a part in the judgement of a call."""
        filters = [e["filters"] for e in self.relies_on or () if _is_open(e)]
        names = {v.name for each in filters for v in each.values() if isinstance(v, FromArgument)}
        return frozenset({*names, *(n for n in (self.targets, self.selection) if n is not None)})

    def resources(self) -> tuple[str, ...]:
        """Returns the names of the resources that the write relies on."""
        entries = self.relies_on or ()
        return tuple(e if isinstance(e, str) else str(e.get("resource")) for e in entries)


@dataclass(frozen=True, slots=True, kw_only=True)
class NeutralSpec:
    """A tool with no effect and no evidence: a calculator, a clock, a hand-off."""

    effect: Literal["neutral"] = "neutral"


@dataclass(frozen=True, slots=True, kw_only=True)
class UndeclaredSpec:
    """A tool that nobody declared: its call is judged as a write, and its result is recorded as an unknown read.

    Args:
        destructive: its annotations say that it may destroy something, and so it is judged.
    """

    effect: Literal["undeclared"] = "undeclared"
    destructive: bool = False

    def intent(self, tool: str) -> WriteIntent:
        """Returns what the call wants: the strictest plain write."""
        return WriteIntent(tool=tool, destructive=self.destructive)


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowUpSpec:
    """The toolkit's own tools that go on with a recorded read: `continue_read` asks again, `count_read` does not."""

    effect: Literal["follow_up"] = "follow_up"
    asks_again: bool = True


Spec = ReadSpec | WriteSpec | NeutralSpec | UndeclaredSpec | FollowUpSpec
NEUTRAL: Final = NeutralSpec()
UNDECLARED: Final = UndeclaredSpec()


def check_arguments(spec: Spec, declared: Container[str], *, tool: str) -> None:
    """Refuses a declaration that names an argument which the tool does not have: it would be judged without it.

    Args:
        spec: the declaration.
        declared: the names of the tool's arguments.
        tool: its name, which the error tells.

    Raises:
        InvalidInput: the declaration names another.
    """
    if (
        isinstance(spec, ReadSpec)
        and spec.key not in {None, *(spec.filters or {}).values()}
        and spec.key not in declared
    ):
        raise InvalidInput(field=f"{tool}.key", rule="must be an argument of the tool")
    if not isinstance(spec, WriteSpec):
        return
    if spec.targets is not None and spec.targets not in declared:
        raise InvalidInput(field=f"{tool}.targets", rule="must be an argument of the tool")
    if spec.selection is not None and spec.selection not in declared:
        raise InvalidInput(field=f"{tool}.selection", rule="must be an argument of the tool")
    if any(name not in declared for name in spec.takes() - {spec.targets, spec.selection}):
        raise InvalidInput(field=f"{tool}.relies_on", rule="must take a filter from an argument of the tool")
