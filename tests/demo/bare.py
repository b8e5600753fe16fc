"""An agent loop without a framework: the tools, the gate and the scripted model, so that the errand is tested alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from unabridged import session
from unabridged.demo.errand import Errand
from unabridged.demo.hasty import Say
from unabridged.demo.runs import Answer, RunOutcome, Step
from unabridged.evidence import Session
from unabridged.gate import Gate, Reply, continue_read, declarations, run_action

_MOST_TURNS = 200

Tool = Callable[[Mapping[str, Any]], str]


def run(errand: Errand, *, guarded: bool, model: str | None) -> RunOutcome:
    """Is a `Runner`."""
    assert model is None
    if not guarded:
        tools: dict[str, Tool] = {tool.__name__: _plain(tool) for tool in errand.plain}
        text, steps = _loop(errand, tools)
        return RunOutcome(Answer(text), steps)
    specs = declarations(reads=errand.reads)
    with session("errand", principal=errand.principal) as evidence:
        tools = {
            tool.__name__: _gated(tool, Gate(tool.__name__, specs.of(tool.__name__)), evidence)
            for tool in errand.guarded
        }
        for action in errand.actions:
            tools[action.name] = lambda args, action=action: run_action(action, args, session=evidence).content
        tools["continue_read"] = lambda args: _continued(evidence, args)
        text, steps = _loop(errand, tools)
        return RunOutcome(Answer.of(evidence.judge_answer(text)), steps)


def _loop(errand: Errand, tools: Mapping[str, Tool]) -> tuple[str, list[Step]]:
    steps: list[Step] = []
    for _ in range(_MOST_TURNS):
        move = errand.next_move(steps)
        if isinstance(move, Say):
            return move.text, steps
        steps += [Step(call.tool, call.args, tools[call.tool](call.args)) for call in move]
    raise AssertionError("the model does not come to an end")


def _plain(tool: Callable[..., Any]) -> Tool:
    return lambda args: str(tool(**args))


def _gated(tool: Callable[..., Any], gate: Gate, evidence: Session) -> Tool:
    def call(args: Mapping[str, Any]) -> str:
        entered = gate.enter(args, session=evidence)
        if isinstance(entered, Reply):
            return entered.content
        with entered.scope():
            value = tool(**args)
        reply = gate.leave(entered, value)
        return reply.content if not reply.passes else value if isinstance(value, str) else json.dumps(value)

    return call


def _continued(evidence: Session, args: Mapping[str, Any]) -> str:
    step = continue_read(evidence, args["handle"])
    return step.content if isinstance(step, Reply) else step.finish(step.resume.read()).content
