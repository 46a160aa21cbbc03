"""Tests of coverage and runway: skeletons counted per template, and how many months the unseen ones last."""

import pytest

from grammars.admission.coverage import check, runway
from grammars.errors import Malformed as GrammarMalformed
from grammars.language.load import parse
from verifiers.errors import Malformed


def test_a_template_is_counted_by_its_poorest_skeleton(grammar):
    (note,) = check(grammar, seen={"filesystem/note:low"})
    assert (note.template, note.category) == ("filesystem/note", "single-tool")
    assert note.skeletons == {"easy": 1, "hard": 2}
    assert note.unseen == 1
    # 3 names, 3 line counts (one of them excluded), 4 * 10^7 secrets: a little under 28.4 bits
    assert 26.5 < note.bits <= 28.5
    assert (note.phrasings, note.solutions, note.mutants) == (3, 1, 2)
    assert note.steps == pytest.approx(1 / 3)
    assert note.tries >= 1
    assert (note.several_servers, note.conditional) == (0, 0)


def test_a_predicate_with_a_wrong_argument_is_found_before_anything_runs(small):
    wrong = small.replace('{path: "=path", text: "=text"}}]\n    mutants', '{path: "=path", text: 3}}]\n    mutants')
    with pytest.raises(Malformed, match=r"^small\.yaml: filesystem/note: predicate[^\n]*text[^\n]*$"):
        check(parse({"small.yaml": wrong}, {}))


def test_a_template_that_cannot_be_drawn_from_is_reported(small):
    with pytest.raises(GrammarMalformed, match="max_steps"):
        check(parse({"small.yaml": small.replace("max_steps: 3", "max_steps: 0")}, {}))


def test_live_and_seen_skeletons_are_counted_apart_and_what_is_left_lasts_for_months(grammar):
    (note,) = check(grammar, seen={"filesystem/note:low"}, live={"filesystem/note:low", "filesystem/note:high"})
    assert (note.unseen, note.live, note.seen) == (0, 1, 1)
    (fresh,) = check(grammar)
    assert runway([fresh], {"single-tool": 4, "composition": 0}) == {"single-tool": 0.5}


def test_a_template_whose_draws_are_nearly_one_task_is_found_out(small):
    poor = small.replace("[100, 40000000]", "[7, 7]").replace("[50000000, 900000000]", "[8, 8]")
    poor = poor.replace("{choice: [apple, pear, plum]}", "{choice: [apple]}").replace("lines != 2", "lines == 3")
    poor = poor.replace("{integer: {easy: [1, 3], hard: [4, 9]}}", "{integer: [3, 3]}")
    (note,) = check(parse({"small.yaml": poor}, {}))
    assert note.near > 0
    assert note.bits == 0
