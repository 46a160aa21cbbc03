"""Evaluating a predicate over a frozen state: a verdict and the whole evidence tree.

1. Every operand is evaluated, also where an earlier one has decided, so that the evidence is whole.
2. A probe that could not be made for a reason of ours is *unknown*: a missing view, a missing program, or a defect in
   the probe itself. Unknown is never a pass and never silently a fail.
3. A state that is wreckage (a corrupt database, a broken repository) counts against whoever wrecked it: its probes
   are false, and under an odd number of *not*s they are true, since otherwise breaking a database would be a way to
   prove that a row is not in it.
"""

from __future__ import annotations

from verifiers.catalogue import CATALOGUE
from verifiers.context import Context
from verifiers.errors import Lacking, Spoiled, VerifierError
from verifiers.predicate import AllOf, AnyOf, Not, Predicate, Probe
from verifiers.verdict import Evidence, Verdict, all_of, any_of
from verifiers.views import Views


def evaluate(predicate: Predicate, views: Views) -> Evidence:
    """Evaluate a parsed predicate; never raises for what a state holds."""
    with Context(views) as context:
        return _node(predicate, context, Verdict.FALSE)


def _node(predicate: Predicate, context: Context, spoiled: Verdict) -> Evidence:
    """Evaluate one node; `spoiled` is the value that counts against the state here."""
    match predicate:
        case Probe():
            return _probe(predicate, context, spoiled)
        case Not(operand):
            child = _node(operand, context, spoiled.negated())
            return Evidence("not", child.verdict.negated(), children=(child,))
        case AllOf(operands):
            children = tuple(_node(operand, context, spoiled) for operand in operands)
            return Evidence("all", all_of([child.verdict for child in children]), children=children)
        case AnyOf(operands):
            children = tuple(_node(operand, context, spoiled) for operand in operands)
            return Evidence("any", any_of([child.verdict for child in children]), children=children)


def _probe(probe: Probe, context: Context, spoiled: Verdict) -> Evidence:
    try:
        holds, found = CATALOGUE[probe.name].probe(context, **probe.arguments)
        verdict = Verdict.TRUE if holds else Verdict.FALSE
    except Lacking as error:
        verdict, found = Verdict.FALSE, str(error)
    except Spoiled as error:
        verdict, found = spoiled, f"{error}, which counts against the state"
    except VerifierError as error:
        verdict, found = Verdict.UNKNOWN, str(error)
    except Exception as error:  # a defect of ours must neither pass nor fail anybody
        verdict, found = Verdict.UNKNOWN, f"the probe itself broke ({type(error).__name__}): this is a defect of ours"
    return Evidence(probe.name, verdict, probe.arguments, found)
