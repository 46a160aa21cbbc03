"""Tests of the near-duplicate search between tasks."""

import json
from concurrent.futures import ThreadPoolExecutor
from random import Random
from threading import Barrier

import pytest

from grammars.admission.duplicates import THRESHOLD, Neighbours, Sketch, wording
from grammars.draw.sample import draw
from grammars.language.derivation import skeletons

from ...shipped import shipped


@pytest.fixture(scope="module")
def task():
    grammar = shipped("sqlite")
    skeleton = next(one for one in skeletons(grammar) if one.template == "archive")
    return draw(grammar, skeleton, "medium", Random(5)).draft.task


def test_a_task_with_another_id_is_found_again(task):
    neighbours = Neighbours()
    neighbours.add("one", Sketch.of(task))
    near = neighbours.join("two", Sketch.of({**task, "id": "t-other"}))
    assert (near.name, near.similarity) == ("one", 1.0)


def test_a_task_in_a_few_other_words_is_found_again(task):
    neighbours = Neighbours()
    neighbours.add("one", Sketch.of(task))
    reworded = {**task, "goal": task["goal"].replace("table", "relation").upper()}
    near = neighbours.join("two", Sketch.of(reworded))
    assert near is not None
    assert THRESHOLD <= near.similarity < 1


def test_a_near_task_does_not_join_and_nothing_is_near_itself(task):
    neighbours = Neighbours()
    assert neighbours.join("one", Sketch.of(task)) is None
    assert neighbours.join("two", Sketch.of(task)).name == "one"
    assert neighbours.join("three", Sketch.of(task)).name == "one"
    assert neighbours.join("one", Sketch.of(task)) is None


def test_of_two_concurrent_twins_one_is_admitted(task):
    neighbours, start = Neighbours(), Barrier(8)

    def joins(name):
        sketch = Sketch.of(task)
        start.wait()
        return neighbours.join(name, sketch)

    with ThreadPoolExecutor(8) as threads:
        said = list(threads.map(joins, "abcdefgh"))
    assert said.count(None) == 1


def test_case_signs_and_the_names_of_free_values_do_not_make_another_wording():
    said = wording({"goal": "Move {{folder}}/a-1.txt to {{other}}, please."})
    assert said == wording({"goal": "move {{here}} / A 1 txt\nto {{there}}: please!"})
    assert said != wording({"goal": "Move {{folder}}/a-2.txt to {{other}}, please."})
    assert said != wording({"goal": "Move a-1.txt to {{other}}, please."})


def test_a_sketch_is_the_same_every_time_and_shows_no_word(task):
    sketch = Sketch.of(json.loads(json.dumps(task)))
    assert sketch == Sketch.of(task)
    assert task["goal"].split()[0] not in repr(sketch)
    assert len(sketch.data) % 8 == 0
