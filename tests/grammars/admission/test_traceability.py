"""Tests of what free parameters lack for a task to be traced from a part of its text."""

import pytest

from grammars.admission.coverage import check
from grammars.admission.traceability import enough, lacks
from grammars.language.load import parse

PLENTY = [f"name{number:04}x" for number in range(1024)]


def test_a_task_needs_eight_choices_for_each_recipient_of_its_life_and_512_at_least():
    assert [enough(months) for months in (1, 4, 6)] == [512, 640, 960]
    assert enough() == enough(4)


@pytest.mark.parametrize(
    ("counts", "clauses"),
    [
        ((640, 640, 640), []),
        ((1024, 1024, 1024, 2), []),
        ((1024, 1024), ["free parameters with 640 choices: 2, and 3 are needed"]),
        ((1024, 1024, 639), ["free parameters with 640 choices: 2, and 3 are needed"]),
        ((), ["free parameters with 640 choices: 0, and 3 are needed"]),
    ],
)
def test_three_parameters_with_enough_choices_are_needed(counts, clauses):
    free = {f"part_{place}": [f"{place}{name}" for name in PLENTY[:count]] for place, count in enumerate(counts)}
    assert lacks(free) == clauses


def test_choices_that_stand_in_another_one_are_counted_by_parameter():
    free = {"a": PLENTY, "b": PLENTY, "c": [*PLENTY[:1022], "amber-record", "amber-records"]}
    assert lacks(free) == ["choices of c that stand in another one: 1"]


@pytest.mark.parametrize(
    ("names", "counts"),
    [(3, {}), (2, {"free parameters with 640 choices: 2, and 3 are needed": 2})],
)
def test_the_coverage_of_a_template_counts_the_skeletons_whose_tasks_lack_something(small, names, counts):
    lists = {letter: "[" + ", ".join(f"{letter}{number}x" for number in range(60)) + "]" for letter in "ab"}
    desk = f"desk: {{compose: [{', '.join(['[a, b]'] * names)}], with: '-', free: true}}"
    text = small.replace("    parameters:\n", f"    parameters:\n      {desk}\n", 1)
    (note,) = check(parse({"small.yaml": text.replace("out/{name}.txt", "out/{desk}/{name}.txt")}, lists))
    assert note.lacks == counts
    assert note.free == 10 * names
