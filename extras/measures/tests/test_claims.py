"""Tests of the coverage of claims as a measure: failed runs count, unknown claims count 0, no claims are null."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from quarterturn_measures.measures.claims import claim_coverage, claims_reached
from quarterturn_measures.measures.played_task import Reference, measure_task
from quarterturn_measures.measures.table import MEASURES, measured, shown
from sandbox.claim_judge.exchange import ClaimExchange
from sandbox.results.interval import NOTHING, quantile
from sandbox.results.outcome import TaskRun
from sandbox.results.score import Result
from sandbox.transcript import Transcript
from verifiers.answer.claims import ClaimOutcome
from verifiers.answer.examples import answer_views, reply_of
from verifiers.language.in_process import judge
from verifiers.language.predicate import parse

WRONG, PARTLY, RIGHT = ClaimOutcome


def run_of(*outcomes, answer="it is so", asked=True):
    """Return a run that was judged so on as many claims."""
    names = [f"c{place}" for place in range(len(outcomes))]
    document = {"all": [{"answer.claims": {"claims": [{"id": name, "text": name} for name in names]}}]}
    views = answer_views(answer, **dict(zip(names, outcomes, strict=True))) if asked else answer_views(answer)
    evidence = judge(parse(document), views)
    pairs = zip(names, outcomes, strict=True) if asked and answer else ()
    made = tuple(ClaimExchange(name, "0" * 32, "0" * 64, "ok", reply_of(outcome)) for name, outcome in pairs)
    transcript = Transcript((), answer, "answered")
    return TaskRun("t-1", "composition", 8, evidence.verdict, evidence, transcript, claims=made)


@pytest.mark.parametrize(
    ("run", "share", "reached"),
    [
        (run_of(RIGHT, PARTLY, PARTLY, WRONG), Fraction(1, 2), 0),
        (run_of(RIGHT, RIGHT, RIGHT, WRONG), Fraction(3, 4), 1),
        (run_of(RIGHT, RIGHT, None, PARTLY), Fraction(5, 8), 0),
        (run_of(RIGHT, answer=""), Fraction(0), 0),
        (run_of(RIGHT, asked=False), None, None),
    ],
)
def test_a_run_s_coverage_is_recomputed_from_its_sealed_replies(run, share, reached):
    assert (claim_coverage(run), claims_reached(run)) == (share, reached)


def test_the_measures_of_claims_include_failed_runs_and_are_flagged():
    runs = [replace(run_of(*[RIGHT] * place, *[WRONG] * (4 - place)), task_id=f"t-{place}") for place in range(5)]
    tasks = [
        measure_task(Result.of(run, run=1, cohort="dev", server="a", skeleton=f"s-{place}"), run, Reference(()))
        for place, run in enumerate(runs)
    ]
    figures = measured(tasks)
    values = {name: figures[f"claim_coverage{name}"].value for name in ("", "_q1", "_median", "_q3")}
    assert values == {"": 0.5, "_q1": 0.25, "_median": 0.5, "_q3": 0.75}
    assert (figures["claims_reached"].value, figures["claims_reached"].n) == (0.4, 5)
    judged = [measure.name for measure in MEASURES if measure.judged]
    assert judged == [name for name in figures if name.startswith("claim") or name == "fairness"]
    assert not any(measure.before_retirement for measure in MEASURES if measure.judged)
    assert set(judged) - {"fairness"} <= {
        measure.name for measure in shown({name: figure.n for name, figure in figures.items()})
    }
    assert not set(judged) & {measure.name for measure in shown({"success_rate": 3})}


def test_a_quantile_has_an_interval_of_order_statistics():
    assert quantile([], 0.5) == NOTHING
    alone = quantile([[0.2, 0.4]], 0.5)
    assert (round(alone.value, 9), alone.n, alone.low, alone.high) == (0.3, 2, 0.0, 1.0)
    many = quantile([[place / 100] for place in range(101)], 0.5)
    assert many.value == 0.5
    assert (many.low, many.high) == (0.39, 0.60)  # ranks 40 and 61 of 101
    few = quantile([[0.1], [0.5], [0.9]], 0.25)
    assert few.low == 0.0 <= few.value <= few.high
