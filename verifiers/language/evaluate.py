"""Evaluator of predicates over the normal forms of a frozen state: gives a verdict and the whole evidence tree.

1. Every operand is evaluated, even if an earlier one has decided the result, so that the evidence is complete.
2. A probe that could not be made for a reason of ours is *unknown*: a state that was not handed over, or a predicate
   that cannot be evaluated. Unknown is never a pass and never silently a fail.
3. A corrupt state (a broken database or repository) counts as corrupted by the agent: its probes are false, and under
   an odd number of *not*s they are true, since otherwise breaking a database would prove that a row is not in it.
4. A probe that crashes is evaluated on the untouched state too. If it works there, the final state is what breaks it
   and counts against the agent; if it crashes there as well, or the untouched state was not given, the probe is
   *unknown* and its evidence is marked as broken.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from verifiers.budget import ReadingBudget
from verifiers.errors import CorruptState, TargetMissing, VerifierError
from verifiers.language.catalogue import CATALOGUE
from verifiers.language.predicate import AllOf, AnyOf, Not, Predicate, Probe
from verifiers.language.verdict import Evidence, Verdict, all_of, any_of
from verifiers.normal_form import NormalState
from verifiers.predicates import namespaces
from verifiers.predicates.context import Context
from verifiers.predicates.own_predicates import OwnPredicateBroke, OwnResult
from verifiers.quoting import sentence


def evaluate(
    predicate: Predicate,
    states: Mapping[str, NormalState],
    answer: str | None = None,
    baseline: Mapping[str, NormalState] | None = None,
    replies: Mapping[str, str | None] | None = None,
    *,
    own_results: Sequence[Mapping[str, OwnResult]] = (),
    budget: ReadingBudget | None = None,
) -> Evidence:
    """Judge a parsed predicate; never raises because of what the normal forms hold.

    Args:
        predicate: the parsed predicate.
        states: the normal form of each namespace; probes of one that is not there are unknown.
        answer: the text that the agent gave at the end, or None where it gave none.
        baseline: the normal forms of the state as the agent found it, with which the frame compares, and which tell a
            probe that is broken from one that a state breaks; without them, either kind is unknown.
        replies: what a language model replied of each claim about the answer; None where none was asked.
        own_results: the results of own predicates of added servers by their keys, on the states and on the untouched
            ones; without one, such a predicate is unknown.
        budget: what judging may cost; it says afterwards what judging took.
    """
    none: Mapping[str, OwnResult] = {}
    on_states, on_seed, *_ = (*own_results, none, none)
    seed = None if baseline is None else Context(baseline, "", own_results=on_seed, baseline=baseline)
    context = Context(states, answer, replies, on_states, budget=budget, baseline=baseline)
    return _node(predicate, _Bench(context, seed), Verdict.FALSE)


@dataclass(frozen=True, slots=True)
class _Bench:
    """The state that is judged, and the untouched one where it was given."""

    context: Context
    seed: Context | None


def _node(predicate: Predicate, bench: _Bench, spoiled: Verdict) -> Evidence:
    """Evaluate one node; `spoiled` is the value that counts against the state here."""
    match predicate:
        case Probe():
            return _probe(predicate, bench, spoiled)
        case Not(operand):
            child = _node(operand, bench, spoiled.negated())
            return Evidence("not", child.verdict.negated(), children=(child,), broken=child.broken)
        case AllOf(operands):
            children = tuple(_node(operand, bench, spoiled) for operand in operands)
            verdict = all_of([child.verdict for child in children])
            return Evidence("all", verdict, children=children, broken=any(child.broken for child in children))
        case AnyOf(operands):
            children = tuple(_node(operand, bench, spoiled) for operand in operands)
            verdict = any_of([child.verdict for child in children])
            return Evidence("any", verdict, children=children, broken=any(child.broken for child in children))


def _probe(probe: Probe, bench: _Bench, spoiled: Verdict) -> Evidence:
    broken = False
    try:
        verdict, observation = _asked(probe, bench.context, spoiled)
    except MemoryError:  # it says how much this process may have, and nothing about the state
        raise
    except Exception as error:  # a defect of ours must neither pass nor fail anybody
        kind = str(error) if isinstance(error, OwnPredicateBroke) else type(error).__name__
        if bench.seed is not None and _can_be_asked(probe, bench.seed):
            observation = (
                f"the probe breaks on this state ({kind}) and not on the untouched one, which counts against it"
            )
            verdict = spoiled
        else:
            verdict, broken = Verdict.UNKNOWN, True
            observation = f"the probe itself broke ({kind}): this is a defect of ours"
    return Evidence(probe.name, verdict, probe.arguments, sentence(observation), broken=broken)


def _asked(probe: Probe, context: Context, spoiled: Verdict) -> tuple[Verdict, str]:
    """Evaluate one probe on one state; raises only for a defect of ours."""
    try:
        namespace = probe.name.partition(".")[0]
        view = context.as_registered(namespace, namespaces.registered(namespace))
        holds, observation = CATALOGUE[probe.name].probe(view, **probe.arguments)
    except TargetMissing as error:
        return Verdict.FALSE, str(error)
    except CorruptState as error:
        return spoiled, f"{error}, which counts against the state"
    except VerifierError as error:
        return Verdict.UNKNOWN, str(error)
    return (Verdict.TRUE if holds else Verdict.FALSE), observation


def _can_be_asked(probe: Probe, seed: Context) -> bool:
    try:
        return _asked(probe, seed, Verdict.FALSE)[0] is not Verdict.UNKNOWN
    except MemoryError:
        raise
    except Exception:
        return False
