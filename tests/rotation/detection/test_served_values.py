"""Tests of the `foreign` field of case files: what is read of it, and what is refused in one sentence."""

import json
from typing import Any

import pytest

from quarterturn.findings import case_file_scan
from rotation.detection.statistics import case_files
from rotation.detection.statistics.served_values import dated, served_values
from rotation.errors import Malformed

from .echo_worlds import EchoWorld, rows
from .worlds import World, lines, play

NAME: dict[str, Any] = {
    "parameter": "name",
    "choices": 512,
    "own": {"3": [1, 2]},
    "said": [7, 9],
    "elsewhere": {"7": ["bob|1"]},
    "drawn": [7, 8],
}


def test_months_are_rotations_or_counted_from_the_newest():
    (plain,) = dated(served_values([NAME]), 2)
    assert plain.own == {3: (1, 2)}
    (written,) = dated(served_values([NAME | {"own": {"3": ["2027-01"], "4": ["2026-12"]}}]), 5)
    assert written.own == {3: (5,), 4: (4,)}
    (earlier,) = dated(served_values([NAME]), 4)
    assert earlier.own == {3: (1, 2)}


def test_a_choice_may_have_an_empty_list_of_months_or_sources():
    (read,) = served_values([NAME | {"own": {"3": [2], "4": []}, "elsewhere": {"7": ["bob|1"], "9": []}}])
    assert read.own == {3: (2,), 4: ()}
    assert read.elsewhere == {7: ("bob|1",), 9: ()}


def test_amounts_may_have_many_choices():
    (read,) = served_values([NAME | {"choices": 10**9, "said": [10**9 - 1], "own": {str(10**9 - 1): [1]}}])
    assert (read.said, read.own) == ({10**9 - 1}, {10**9 - 1: (1,)})


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "has to be a list of at most 64 parameters"),
        ([NAME] * 2, "has a parameter twice"),
        ([{key: value for key, value in NAME.items() if key != "drawn"}], "has to have parameter, choices, own, said"),
        ([NAME | {"parameter": ""}], "'parameter' in 'foreign' has to be a text"),
        ([NAME | {"choices": True}], "'choices' of 'name' in 'foreign' has to be a whole number from 1"),
        ([NAME | {"parameter": "digits", "choices": 0}], "'choices' of 'digits' in 'foreign' has to be a whole number"),
        ([NAME | {"said": [512]}], "'said' of 'name' in 'foreign' has to list choices from 0 to 511"),
        ([NAME | {"drawn": 5}], "'drawn' of 'name' in 'foreign' has to list choices from 0 to 511"),
        ([NAME | {"own": [1]}], "'own' of 'name' in 'foreign' has to map choices to lists"),
        ([NAME | {"own": {"03": [1]}}], "has to map choices to lists, unlike '03'"),
        ([NAME | {"own": {"9" * 40: [1]}}], "has to map choices to lists, unlike '9999"),
        ([NAME | {"own": {"3": ["2027"]}}], "a month in 'foreign' has to be a whole number or YYYY-MM, unlike '2027'"),
        (
            [NAME | {"elsewhere": {"7": ["bob"]}}],
            "a source in 'foreign' has to be written submitter|month, unlike 'bob'",
        ),
        ([NAME | {"elsewhere": {"7": ["|1"]}}], "a source in 'foreign' has to be written submitter|month, unlike '|1'"),
        ([NAME | {"own": {"3": ["2027-13"]}}], "has to be a whole number or YYYY-MM, unlike '2027-13'"),
        ([NAME | {"own": {"3": ["2027-00"]}}], "has to be a whole number or YYYY-MM, unlike '2027-00'"),
        ([NAME | {"elsewhere": {"7": [5]}}], "a source in 'foreign' has to be written submitter|month, unlike 5"),
    ],
)
def test_another_form_is_refused_with_file_and_line(tmp_path, given, said):
    path = tmp_path / "case.jsonl"
    plain = [json.loads(line) for line in lines(play(World(submitters=2, rotations=1, cohort=1), 1))]
    path.write_text("".join(json.dumps(row) + "\n" for row in [plain[0], plain[1] | {"foreign": given}]))
    with pytest.raises(Malformed, match=r"case\.jsonl, line 2: ") as refused:
        case_files.read(path)
    assert said in str(refused.value)


def test_only_what_the_test_reads_is_kept_in_memory(tmp_path):
    path = tmp_path / "case.jsonl"
    plain = json.loads(next(iter(lines(play(World(submitters=1, rotations=1, cohort=1), 1)))))
    quiet = NAME | {"said": []}
    later = plain | {"rotation": 2, "submission": "later", "foreign": [quiet]}
    made = [plain | {"foreign": [NAME, quiet | {"parameter": "else"}]}, later, later | {"task_id": "alone"}]
    path.write_text("".join(json.dumps(row) + "\n" for row in made))
    said, later, alone = case_files.read(path).said
    assert [(one.parameter, one.drawn, one.elsewhere) for one in said.values] == [("name", {7, 8}, {7: ("bob|1",)})]
    assert [(one.own, one.drawn, one.elsewhere) for one in later.values] == [({3: (1, 2)}, set(), {})]
    assert alone.values == ()


def test_a_parameter_keeps_its_number_of_choices(tmp_path):
    path = tmp_path / "case.jsonl"
    plain = json.loads(next(iter(lines(play(World(submitters=2, rotations=1, cohort=1), 1)))))
    other = plain | {"submitter": "else", "submission": "else", "foreign": [NAME | {"choices": 600}]}
    path.write_text("".join(json.dumps(row) + "\n" for row in (plain | {"foreign": [NAME]}, other)))
    with pytest.raises(Malformed, match="line 2: 'name' in 'foreign' had another number of choices before"):
        case_files.read(path)


def test_lines_with_foreign_give_echoes_and_change_no_other_test(tmp_path):
    world = EchoWorld(submitters=6, live=40, months=3, known=0.5, repeated=0.5)
    bare = [
        {"rotation": row.month, "submission": f"{row.submitter}-{row.month}", "submitter": row.submitter,
         "task_id": f"t{row.task:03}", "server": "git", "family": f"f{row.task % 4}",
         "first_active_rotation": row.task // 10 - 2, "passed": (row.task + row.month) % 3 > 0,
         "tool_calls": 1 + row.task % 6, "max_steps": 9, "foreign": row.foreign}
        for row in rows(world, 1)
    ]  # fmt: skip
    found = {}
    for name, drop in (("with", ()), ("without", ("foreign",))):
        kept = [{key: value for key, value in row.items() if key not in drop} for row in bare]
        (tmp_path / "spring.jsonl").write_text("".join(json.dumps(row) + "\n" for row in kept))
        scanned = case_file_scan.scan([tmp_path / "spring.jsonl"], tmp_path / name)
        found[name] = (tmp_path / name).read_text().splitlines()
        assert bool(scanned.combined) == (name == "with")
    echoes = [json.loads(line) for line in found["with"] if '"echo"' in line]
    assert [line for line in found["with"] if '"echo"' not in line] == found["without"]
    assert {(line["rotation"], line["subject"]) for line in echoes} >= {(month, "s00") for month in (2, 3)}
    assert all(line["p_adj"] <= 0.01 for line in echoes if line["subject"] == "s00")
    assert all(line["p_adj"] > 0.01 for line in echoes if line["subject"] != "s00")
