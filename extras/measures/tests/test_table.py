"""Tests of the table of measures and its reference page."""

from __future__ import annotations

from pathlib import Path

import pytest

from quarterturn_measures.measures import reference
from quarterturn_measures.measures.failure_class import TITLES
from quarterturn_measures.measures.figures import shares
from quarterturn_measures.measures.played_task import Reference, TaskMeasures, measure_task
from quarterturn_measures.measures.table import COMPARISONS, MEASURES, measured
from sandbox.results.interval import NOTHING
from sandbox.results.score import Result
from sandbox.transcript import ToolCall

from .failures import FAILURES, Case

AXES = ("success_rate", "efficiency", "hallucinated_tool_rate", "recovery_rate")
PAGE = Path(__file__).parents[3] / "docs/reference/measures.md"


def of(case: Case, number: int, skeleton: str) -> TaskMeasures:
    run = case.run()
    result = Result.of(run, run=1, cohort="dev", server="a", skeleton=skeleton)
    solutions = [[ToolCall(call.tool, call.arguments) for call in solution] for solution in case.solutions]
    named = {name: getattr(result, name) for name in Result.__slots__} | {"task": f"t-{number}"}
    return measure_task(Result(**named), run, Reference(solutions))


@pytest.fixture(scope="module")
def failures() -> list[TaskMeasures]:
    cases = [case for cases in FAILURES.values() for case in cases]
    return [of(case, number, f"s-{number // 2}") for number, case in enumerate(cases)]


def test_the_page_is_the_table():
    assert PAGE.read_text(encoding="utf-8") == reference.page()
    assert set(reference.EVIDENCE) == set(TITLES)


def test_every_definition_is_whole_and_named_once():
    every = [*MEASURES, *COMPARISONS]
    assert len({definition.name for definition in every}) == len(every)
    for definition in every:
        assert all((definition.title, definition.definition, definition.counts, definition.source, definition.span))
    assert {definition.name for definition in every if definition.before_retirement} == set(AXES)
    judged = {measure.name for measure in MEASURES if measure.judged}
    assert judged == {name for name in measured([]) if name.startswith("claim")} | {"fairness"}


def test_every_measure_of_nothing_is_null():
    assert set(measured([]).values()) == {NOTHING}
    assert set(shares([], TITLES, lambda _: None).values()) == {NOTHING}
    unseen = [TaskMeasures(of(FAILURES["no_tools_called"][0], 1, "s").result)]  # as of a release: nobody sees its calls
    figures = measured(unseen)
    assert figures["success_rate"].n == 1
    assert {figures[measure.name] for measure in MEASURES if not measure.before_retirement} == {NOTHING}


def test_figures_have_intervals_around_them(failures):
    for name, figure in measured(failures).items():
        assert figure.value is None or figure.low - 1e-9 <= figure.value <= figure.high + 1e-9, name
    shared = shares(failures, TITLES, lambda task: task.failure.primary if task.failure else None)
    assert sum(figure.value for figure in shared.values()) == pytest.approx(1)
    assert {figure.n for figure in shared.values()} == {len(failures)}


def test_tasks_of_one_skeleton_are_no_independent_evidence(failures):
    alone = [of(case, number, f"s-{number}") for number, case in enumerate(FAILURES["no_tools_called"])]
    alike = [of(case, number, "s") for number, case in enumerate(FAILURES["no_tools_called"])]
    apart, together = measured(alone)["node_f1"], measured(alike)["node_f1"]
    assert (apart.value, apart.n) == (together.value, together.n) == (0, 6)
    assert together.high > apart.high
