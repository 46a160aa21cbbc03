"""Tests of the yield of a template, counted draw by draw."""

from types import SimpleNamespace

from quarterturn.cli.daily.task_text import yield_lines
from rotation.generation.yield_stats import YieldStats


def fared(template, *, survived=(), made=10, shut=None):
    draft = SimpleNamespace(id="t-x", template=template)
    gate = SimpleNamespace(number=shut, name="mutants fail", detail="mutants.late gets true")
    gates = () if shut is None else (gate,)
    evidence = {"mutation": {"made": made, "survived": list(survived)}}
    return draft, SimpleNamespace(ok=shut is None, failed=gates, evidence=evidence)


def test_a_template_is_broken_when_more_than_one_draw_in_twenty_stays_out():
    tally = YieldStats()
    for _ in range(19):
        tally.count(*fared("git/glance"))
    tally.count(*fared("git/glance", shut=4))
    assert not tally.templates["git/glance"].broken
    tally.count(*fared("git/glance", shut=4), "glance.yaml")
    assert tally.templates["git/glance"].broken
    assert list(yield_lines(tally)) == [
        "21 drawn, 19 admitted; gate 4 mutants fail rejected 2; 100.0% of the mutated states fail",
        "git/glance is broken: 2 of 21 draws were rejected, the last at gate 4 (mutants fail): glance.yaml: "
        "git/glance: "
        "mutants.late gets true",
    ]


def test_the_mutation_score_is_the_share_of_mutated_states_that_fail():
    tally = YieldStats()
    assert tally.mutation_score is None
    tally.count(*fared("git/glance", made=30))
    tally.count(*fared("sqlite/ask", survived=["row too many"], made=10))
    assert tally.mutation_score == 1 - 1 / 40
    data = tally.as_json()
    assert data["templates"]["sqlite/ask"]["mutation_score"] == 0.9
    assert data["templates"]["git/glance"]["mutation_score"] == 1
    assert "sqlite/ask: 1 of 10 mutated states pass unnoticed" in list(yield_lines(tally))
