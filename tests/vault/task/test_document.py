"""Tests of task documents: accepted as a whole, or refused with the wrong place."""

import copy
import json
import pickle
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from vault.errors import Malformed
from vault.task.document import SCHEMA, SPEC_VERSION, Task
from vault.task.variant import filled


def changed(document: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """Copy a document with the value at `a.b.c` set, or taken out where the value is `...`."""
    copied = copy.deepcopy(document)
    *way, last = path.split(".")
    part = copied
    for step in way:
        part = part.setdefault(step, {})
    if value is ...:
        del part[last]
    else:
        part[last] = value
    return copied


def test_a_task_is_read_from_bytes_and_from_plain_values_alike(document):
    task = Task.parse(json.dumps(document, indent=2).encode())
    assert task == Task.parse(document)
    assert task.document == document
    assert task.servers == ("filesystem", "git", "sqlite")
    assert task.available_tools == tuple(document["available_tools"])
    assert (task.id, task.max_steps, task.spec) == ("t-abcdefghijklmnop", 12, SPEC_VERSION)
    assert task.faults == ()
    assert task.free == {}


def test_the_schema_is_a_schema_and_names_every_field_of_a_task():
    Draft202012Validator.check_schema(SCHEMA)
    fields = {name for name in Task.__dataclass_fields__ if not name.startswith("_")}
    assert set(SCHEMA["properties"]) == fields | {"schema"}


def test_nobody_can_change_a_task_after_it_was_read(document):
    task = Task.parse(document)
    before = task.canonical()
    document["goal"] = "another"
    task.document["goal"] = "another"
    task.initial_state["filesystem"]["files"]["x"] = "y"
    with pytest.raises(AttributeError):
        task.goal = "another"
    assert task.canonical() == before == Task.parse(task.document).canonical()


def test_numbers_that_are_equal_make_the_same_task(document):
    assert Task.parse(changed(document, "max_steps", 12.0)) == Task.parse(document)
    assert isinstance(Task.parse(changed(document, "max_steps", 12.0)).max_steps, int)


def test_a_repr_shows_the_id_and_the_server_and_nothing_else(document):
    faults = [{"tool": "git.git_log", "call": 1, "error": "a heron in the way"}]
    task = Task.parse(changed(document, "faults", faults))
    assert repr(task) == "Task(id='t-abcdefghijklmnop', server='filesystem')"
    assert "heron" not in repr(task.faults)


def test_a_task_survives_the_way_to_another_process(document):
    assert pickle.loads(pickle.dumps(Task.parse(document))) == Task.parse(document)


TOOLS = [f"filesystem.tool_{n}" for n in range(19)]
FAULT = {"tool": "git.git_log", "call": 1, "error": "busy"}
FREE = {"who": {"from": ["ann", "bob"]}}
WRONG: dict[str, tuple[str, Any, str]] = {
    "no goal": ("goal", ..., r"\$: it lacks goal"),
    "an empty goal": ("goal", "", r"\$\.goal: it has 0 characters; needed are at least 1"),
    "an unknown key": ("hint", "heron", r"\$: it may not have hint"),
    "an unknown key in a fault": ("faults", [{**FAULT, "heron": 1}], r"\$\.faults\[0\]: it may not have heron"),
    "another schema": ("schema", "quarterturn/task/v2", r"\$\.schema: it must be 'quarterturn/task/v1'"),
    "a spec that is no version": ("spec", "1.0", r"\$\.spec"),
    "a spec with a zero in front": ("spec", "1.01.0", r"\$\.spec"),
    "an id of another alphabet": ("id", "t-ABCDEFGHIJKLMNOP", r"\$\.id: the text does not match"),
    "an id with a line break at its end": ("id", "t-abcdefghijklmnop\n", r"\$\.id"),
    "an unknown category": ("category", "heron", r"\$\.category: it must be one of single-tool, composition, recovery"),
    "an unknown difficulty": ("difficulty", "brutal", r"\$\.difficulty: it must be one of easy"),
    "steps as text": ("max_steps", "12", r"\$\.max_steps: it must be of type integer"),
    "steps as a truth value": ("max_steps", True, r"\$\.max_steps: it must be of type integer"),
    "no steps": ("max_steps", 0, r"\$\.max_steps: it must be at least 1"),
    "eleven tools": ("available_tools", TOOLS[:11], r"\$\.available_tools: it has 11 items; needed are at least 12"),
    "nineteen tools": ("available_tools", TOOLS, r"\$\.available_tools: it has 19 items; allowed are at most 18"),
    "a tool twice": ("available_tools", [*TOOLS[:12], TOOLS[0]], r"\$\.available_tools: an item stands there twice"),
    "a tool without a server": ("available_tools", [*TOOLS[:12], "heron"], r"\$\.available_tools\[12\]"),
    "a tool in wire form": ("available_tools", [*TOOLS[:12], "git__log"], r"\$\.available_tools\[12\]"),
    "a tool too long for the wire": ("available_tools", [*TOOLS[:12], f"{'s' * 20}.{'t' * 43}"], r"\[12\].*64"),
    "a server without a tool": ("server", "github", r"\$\.server: no listed tool"),
    "a state that never runs": ("initial_state.github", {}, r"\$\.initial_state\.github: no listed tool"),
    "a state that is text": ("initial_state.git", "heron", r"\$\.initial_state\.git: it must be of type object"),
    "a fault of an unlisted tool": ("faults", [{**FAULT, "tool": "git.heron"}], r"\$\.faults\[0\]\.tool: .*not listed"),
    "two faults for one call": ("faults", [FAULT, {**FAULT, "error": "x"}], r"\$\.faults\[1\]: another fault"),
    "a fault that nobody meets": ("faults", [{**FAULT, "call": 13}], r"\$\.faults\[0\]\.call: .*beyond max_steps"),
    "a fault at call 0": ("faults", [{**FAULT, "call": 0}], r"\$\.faults\[0\]\.call: it must be at least 1"),
    "a parameter that is not explained": ("goal", "for {{who}}", r"\$\.goal: \{\{who\}\} is not explained"),
    "such a parameter in a key": ("initial_state.filesystem.{{who}}", 1, r"\{\{who\}\} is not explained"),
    "a parameter that stands nowhere": ("free", FREE, r"\$\.free\.who: \{\{who\}\} stands nowhere"),
    "two predicates at the top": ("success_predicate", {"all": [], "not": {}}, r"\$\.success_predicate: it has 2 keys"),
    "a predicate that is a list": ("success_predicate", [], r"\$\.success_predicate: it must be of type object"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_task_that_is_wrong_is_refused_at_the_place_that_is_wrong(document, name):
    path, value, message = WRONG[name]
    with pytest.raises(Malformed, match=f"the task is malformed at .*{message}"):
        Task.parse(changed(document, path, value))


def refused(document: dict[str, Any]) -> Malformed | None:
    try:
        Task.parse(document)
    except Malformed as refusal:
        return refusal
    return None


SECRET = "a heron by the weir"
JUNK = st.recursive(
    st.sampled_from([SECRET, None, 7, True, 1e9]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)


@given(field=st.sampled_from(sorted(SCHEMA["properties"])), junk=JUNK)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_refusal_quotes_a_field(document, field, junk):
    refusal = refused({**document, field: junk})
    assert "heron by" not in f"{refusal!r} {refusal and refusal.__context__!r}"


def test_free_parameters_may_stand_anywhere_and_are_filled_everywhere(document):
    document |= {"free": FREE, "goal": "Write to {{who}}, and {{who}} only."}
    document["initial_state"]["filesystem"]["files"] = {"{{who}}.txt": "for {{who}}"}
    task = Task.parse(document)
    variant = task.filled({"who": "bob", "unused": "x"})
    assert variant.goal == "Write to bob, and bob only."
    assert variant.initial_state["filesystem"]["files"] == {"bob.txt": "for bob"}
    assert variant.free == {}
    assert variant.id == task.id


def test_a_variant_takes_only_values_that_the_task_lists(document):
    task = Task.parse(document | {"free": FREE, "goal": "for {{who}}"})
    for values in ({}, {"who": "eve"}):
        with pytest.raises(Malformed, match="a value for 'who' out of the 2"):
            task.filled(values)


def test_a_variant_never_makes_two_keys_one(document):
    document["initial_state"]["filesystem"]["files"] = {"{{who}}.txt": "1", "bob.txt": "2"}
    with pytest.raises(Malformed, match=r"\$\.free\.who\.from: a choice stands elsewhere"):
        Task.parse(document | {"free": FREE})
    with pytest.raises(Malformed, match="two keys"):
        filled({"{{who}}.txt": 1, "bob.txt": 2}, {"who": "bob"})


def test_a_value_may_not_bring_another_parameter_in(document):
    free = {"who": {"from": ["ann", "{{who}}"]}}
    with pytest.raises(Malformed, match=r"\$\.free\.who\.from"):
        Task.parse(document | {"free": free, "goal": "for {{who}}"})


@pytest.mark.parametrize(
    ("choices", "sentence"),
    [
        (["Ann Lee", "ann lee"], "a choice is another one"),
        (["ann", "ann-lee"], "a choice is another one, or a part of one"),
        (["ann", "--"], "a choice needs a letter"),
        (["ann", "Read text file"], "a choice stands elsewhere"),
    ],
)
def test_choices_that_could_be_taken_for_each_other_are_refused(document, choices, sentence):
    with pytest.raises(Malformed, match=rf"\$\.free\.who\.from: {sentence}"):
        Task.parse(document | {"free": {"who": {"from": choices}}, "goal": "for {{who}}. READ_TEXT_FILE"})


def test_only_a_task_of_many_variants_names_a_key(document):
    with pytest.raises(Malformed, match=r"\$\.variant_key: with fewer than 2\^20"):
        Task.parse(document | {"free": FREE, "goal": "for {{who}}", "variant_key": "0" * 64})
    wide = {name: {"from": [f"{name}-{n}" for n in range(1024)]} for name in ("who", "where")}
    task = Task.parse(document | {"free": wide, "goal": "for {{who}} in {{where}}"})
    assert task.keyed("0" * 64).variant_key == "0" * 64
    assert task.keyed("0" * 64).base().goal == "for who-0 in where-0"
    with pytest.raises(Malformed, match="names a variant key already"):
        task.keyed("0" * 64).keyed("0" * 64)


def test_a_task_of_a_megabyte_is_refused(document):
    with pytest.raises(Malformed, match="bytes; 262144 are allowed"):
        Task.parse(changed(document, "initial_state.filesystem.files.big", "x" * 1_000_000))


def test_an_old_promise_is_read_without_the_rules_of_today(document):
    old = Task.parse(document).canonical().replace(b'"max_steps":12', b'"max_steps":900')
    assert Task.trusted(old).max_steps == 900
    with pytest.raises(Malformed):
        Task.parse(old)
