"""Tests of free parameters: tasks drawn with choices left open, and refused where anything depends on them."""

import json
from random import Random

import pytest

from grammars.admission.existing_tasks import TaskIndex
from grammars.admission.gates import admit
from grammars.draw.sample import draw, sample, skeletons
from grammars.draw.variants import base, further
from grammars.errors import Malformed
from grammars.language.load import parse
from vault.task.document import Task
from vault.task.variant import bits, filled, words

LISTS = {
    "first": "[" + ", ".join(f"a{number}x" for number in range(60)) + "]",
    "second": "[" + ", ".join(f"b{number}y" for number in range(60)) + "]",
}
TWO = "desk: {compose: [first, second], with: '-', free: true}\n      drawer: {compose: [first, second], free: true}"


def variant_of(small, *changes, parameters=TWO):
    """Make the small grammar with a file at a place of two free parts, and with further changes."""
    text = small.replace("    parameters:\n", f"    parameters:\n      {parameters}\n", 1)
    text = text.replace("out/{name}.txt", "out/{desk} {drawer}/{name}.txt")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    return parse({"small.yaml": text}, LISTS)


def for_all_skeletons(grammar):
    for skeleton in skeletons(grammar):
        for seed in range(5):
            draw(grammar, skeleton, skeleton.difficulties[0], Random(seed))


def test_free_parameters_stay_open_in_goal_predicate_solution_and_mutants_alike(small):
    grammar = variant_of(small, ("of {name}", "of {name} for {desk}"))
    draft = next(d for d in (sample(grammar, Random(seed)) for seed in range(20)) if "low" in d.skeleton)
    assert "for {{desk}}" in draft.task["goal"]
    for part in (draft.task["success_predicate"], draft.provenance["solutions"], draft.provenance["mutants"]):
        assert "out/{{desk}} {{drawer}}/" in json.dumps(part)
    assert draft.provenance["parameters"]["desk"] == "{{desk}}"
    assert bits(Task.parse(draft.task).free) == 20
    assert "{{" not in json.dumps([base(draft).task, base(draft).provenance])


def test_no_choice_stands_in_another_or_in_the_task(small):
    task = Task.parse(sample(variant_of(small), Random(3)).task)  # which refuses such choices
    plain = [tuple(words(one)) for choices in task.free.values() for one in choices]
    assert len(set(plain)) == len(plain) == 2048


def test_the_same_seed_gives_the_same_choices_and_the_rest_is_drawn_as_if_nothing_were_free(small, grammar):
    free = variant_of(small)
    one, again = (json.dumps([d.task, d.provenance]) for d in (sample(free, Random(5)), sample(free, Random(5))))
    assert one == again
    bound = variant_of(small, parameters="desk: {choice: [d1]}\n      drawer: {choice: [d2]}")
    open_, plain = sample(free, Random(5)), sample(bound, Random(5))
    assert open_.skeleton == plain.skeleton
    assert open_.provenance["bits"] == plain.provenance["bits"]  # another value is no other instance


def test_the_gates_play_the_base_and_three_variants_of_a_drawn_task(small, prover):
    draft = sample(variant_of(small), Random(1))
    assert len(further(draft)) == 3
    admission = admit(draft, prover, TaskIndex())
    assert admission.ok, admission.failed


@pytest.mark.parametrize(
    ("what", "old", "new"),
    [
        ("sorted", '"=path", text: "=text"}}]', '"=[path, \'out/b\'].sort()[0]", text: "=text"}}]'),
        ("measured", "max_steps: 3", 'max_steps: "=size(desk)"'),
        ("cut", '"=path", text: "=text"}}]', "\"=path.replace('{', '(')\", text: \"=text\"}}]"),
        ("compared", '"lines != 2"', "\"lines != 2 && desk.startsWith('{')\""),
        ("changed", 'phrase: "the high ones of {name}"', 'phrase: "the high ones of {desk.upperAscii()}"'),
        ("changed", 'phrase: "the low ones of {name}"', 'phrase: "{desk} has the low ones of {name}"'),
    ],
)
def test_whatever_depends_on_the_value_is_refused_with_template_and_parameter(small, what, old, new):
    grammar = variant_of(small, (old, new))
    with pytest.raises(Malformed, match=r"small\.yaml: filesystem/note:.*the parameter 'desk' is not free"):
        for_all_skeletons(grammar)


def test_a_parameter_that_stands_inside_a_word_could_not_be_found_again_and_is_refused(small):
    grammar = variant_of(small, ("{desk} {drawer}/{name}", "{desk} {drawer}s/{name}"))
    with pytest.raises(Malformed, match="'drawer' stands inside a longer word"):
        sample(grammar, Random(0))


def test_an_unused_free_parameter_is_no_choice_of_its_tasks(small):
    grammar = variant_of(small, ("out/{desk} {drawer}/{name}.txt", "out/{desk}/{name}.txt"))
    assert list(sample(grammar, Random(0)).task["free"]) == ["desk"]
    assert further(sample(grammar, Random(0))) == []


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ("desk: {integer: [1, 9], free: true}", "parameters.desk.free: only text can be free, so one of choice, code,"),
        ("desk: {name: person, free: true}", "only text can be free"),
        ("desk: {choice: first, free: no}", "parameters.desk.free: `true` is expected here"),
        ("Desk: {choice: first, free: true}", "the name of a free parameter is small letters"),
        ("desk: {rows: 2, columns: {one: {choice: first, free: true}}}", "columns.one.free: a column is not free"),
        ("desk: {compose: first}", "parameters.desk.compose: a list of at least two dictionaries"),
        ("desk: {compose: [first, third]}", "there is no dictionary 'third'"),
        ("desk: {compose: [[first, second], first], free: true}", "parameters.desk.compose: a list of at least two"),
        ("desk: {compose: [[first, second], [first, third]], free: true}", "there is no dictionary 'third'"),
        ("desk: {compose: [[first, second], [second, first]]}", "there is no dictionary ['first', 'second']"),
        ("desk: {compose: [first, second], with: 3}", "parameters.desk.with: text is expected here"),
    ],
)
def test_a_mistake_is_one_sentence_with_file_template_and_field(small, parameters, sentence):
    with pytest.raises(Malformed, match=r"small\.yaml: template note: parameters") as refused:
        variant_of(small, parameters=f"{parameters}\n      drawer: {{choice: first}}")
    assert sentence in str(refused.value)


@pytest.mark.parametrize(
    ("choices", "sentence"),
    [
        ('{choice: ["x-{drawer}", b], free: true}', "plain text, none of them free itself"),
        ("{choice: [{name: a}, {name: b}], free: true}", "plain text, none of them free itself"),
        ("{choice: [out, only], free: true}", "there are not two choices that occur nowhere else in the task"),
    ],
)
def test_choices_that_cannot_be_told_apart_are_refused_when_drawn(small, choices, sentence):
    grammar = variant_of(small, parameters=f"desk: {choices}\n      drawer: {{compose: [first, second], free: true}}")
    with pytest.raises(Malformed, match=sentence):
        sample(grammar, Random(0))


def test_a_value_may_be_several_free_names_that_are_joined_to_one(small):
    two = "desk: {compose: [[first, second], [second, first]], with: '-', free: true}\n      drawer: {choice: [d]}"
    draft = sample(variant_of(small, parameters=two), Random(4))
    assert "out/{{desk_1}}-{{desk_2}} d/" in json.dumps(draft.provenance["solutions"])
    assert draft.provenance["parameters"]["desk"] == "{{desk_1}}-{{desk_2}}"
    free = Task.parse(draft.task).free
    assert {name: len(choices) for name, choices in free.items()} == {"desk_1": 1024, "desk_2": 1024}
    assert all(choice.startswith("a") for choice in free["desk_1"])
    assert all(choice.startswith("b") for choice in free["desk_2"])
    assert f"out/{free['desk_1'][0]}-{free['desk_2'][0]} d/" in json.dumps(base(draft).task)


def test_what_depends_on_one_of_several_joined_names_is_refused_with_its_own_name(small):
    two = "desk: {compose: [[first, second], [second, first]], with: '-', free: true}\n      drawer: {choice: [d]}"
    cut = ("max_steps: 3", "max_steps: \"=desk.endsWith('}') ? 3 : 4\"")
    with pytest.raises(Malformed, match="the parameter 'desk_2' is not free"):
        for_all_skeletons(variant_of(small, cut, parameters=two))


def test_other_dictionaries_change_no_later_draw_of_a_stream(small):
    wider = TWO.replace("[first, second], with: '-'", "[[first, second], [second, first]], with: '-'")
    streams = [(variant_of(small), Random(6)), (variant_of(small, parameters=wider), Random(6))]
    kept = [[sample(grammar, dice) for _ in range(4)] for grammar, dice in streams]
    for one, other in zip(*kept, strict=True):
        parameters = [draft.provenance["parameters"] | {"desk": "", "drawer": ""} for draft in (one, other)]
        assert (one.skeleton, parameters[0]) == (other.skeleton, parameters[1])


def test_another_assignment_than_the_one_tried_gives_the_same_task_too(small):
    """Admission proves one assignment; this takes all corners of the choices."""
    grammar = variant_of(small)
    skeleton = skeletons(grammar)[0]
    draft = draw(grammar, skeleton, skeleton.difficulties[0], Random(2)).draft
    free = {name: choice["from"] for name, choice in draft.task["free"].items()}
    for desk in (free["desk"][0], free["desk"][-1]):
        for drawer in (free["drawer"][0], free["drawer"][-1]):
            values = {"desk": desk, "drawer": drawer}
            task = Task.parse(draft.task).filled(values).document
            call = filled(draft.provenance["solutions"][0], values)["calls"][0]
            assert task["success_predicate"]["all"][0]["filesystem.fileTextEquals"]["path"] in call["arguments"]["path"]
