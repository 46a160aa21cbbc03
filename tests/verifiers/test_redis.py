"""Tests of the Redis predicates, on documents as their reader writes them."""

import pytest

from verifiers.formats.snapshot import FILE
from verifiers.language.verdict import Verdict
from verifiers.states.redis.examples import redis_keys
from verifiers.tree import FileTree, JudgeInput, Node

from .builders import Asked

asked = Asked("redis")


def holds(keys, name, /, **arguments):
    return asked(redis_keys(keys), name, **arguments)


def test_a_key_of_another_type_makes_it_false():
    keys = {"k": ("string", "a")}
    assert holds(keys, "stringEquals", key="k", value="a")
    for name, arguments in {
        "listEquals": {"values": ["a"]},
        "setEquals": {"members": ["a"]},
        "hashEquals": {"fields": {"a": "a"}},
        "sortedSetEquals": {"scores": {"a": 1}},
        "setContains": {"member": "a"},
    }.items():
        assert not holds(keys, name, key="k", **arguments)


def test_the_order_of_a_list_counts_and_that_of_a_set_does_not():
    assert not holds({"k": ("list", ["a", "b"])}, "listEquals", key="k", values=["b", "a"])
    assert holds({"k": ("set", ["a", "b"])}, "setEquals", key="k", members=["b", "a"])
    assert not holds({"k": ("set", ["a", "b", "c"])}, "setEquals", key="k", members=["b", "a"])


def test_a_score_is_a_number_and_a_field_is_a_text():
    assert holds({"k": ("zset", {"m": "3"})}, "scoreEquals", key="k", member="m", score=3.0)
    assert holds({"k": ("zset", {"m": "1e+20"})}, "scoreEquals", key="k", member="m", score=1e20)
    assert not holds({"k": ("zset", {"m": "3"})}, "scoreEquals", key="k", member="n", score=3)
    assert not holds({"k": ("hash", {"f": "05"})}, "hashFieldEquals", key="k", field="f", value="5")


@pytest.mark.parametrize(
    ("text", "pointer", "value", "same"),
    [
        ('{"a": {"b": 1}}', "/a/b", 1.0, True),
        ('{"a": {"b": 1}}', "/a/c", 1, False),
        ('{"a": 1}', "", {"a": 1}, True),
        ("no json", "", "no json", False),
        ("[" * 100_000, "", [], False),
    ],
)
def test_a_document_in_a_string_is_followed(text, pointer, value, same):
    assert holds({"k": ("string", text)}, "jsonEquals", key="k", pointer=pointer, value=value) is same


@pytest.mark.parametrize(
    ("left", "arguments", "there"),
    [
        (None, {"expires": False}, True),
        (None, {"expires": True}, False),
        (3_590_000, {"expires": True}, True),
        (3_590_000, {"expires": True, "seconds": 3600}, True),
        (3_590_000, {"expires": True, "seconds": 7200}, False),
        (3_590_000, {"expires": True, "seconds": 60}, False),
        (3_590_000, {"expires": False}, False),
    ],
)
def test_a_key_that_runs_out_was_given_about_that_long(left, arguments, there):
    views = redis_keys({"k": ("string", "a")}, left={"k": left} if left else None)
    assert asked(views, "expires", key="k", **arguments) is there


@pytest.mark.parametrize(
    ("left", "there"), [(3_561_000, True), (3_600_000, True), (3_540_000, False), (3_601_000, False)]
)
def test_no_more_of_a_keys_time_is_gone_than_passed_since_the_worlds_start(left, there):
    views = redis_keys({"k": ("string", "a")}, left={"k": left}, passed=39_000)
    assert asked(views, "expires", key="k", expires=True, seconds=3600) is there


@pytest.mark.parametrize(
    "content",
    [
        b"[]",
        b'{"keys": []}',
        b'{"keys": {"k": 5}}',
        b'{"keys": {"k": {"type": "string", "value": 5, "left": null}}}',
        b'{"keys": {"k": {"type": "zset", "value": {"a": "x"}, "left": null}}}',
        b'{"wreckage": "gone"}',
    ],
)
def test_wreckage_counts_against_the_agent_on_either_side_of_a_not(content):
    views = JudgeInput({"redis": FileTree({FILE: Node("file", content)})})
    asked.wins_nothing(views, "keyExists", key="k")
    assert asked.denied(JudgeInput({"redis": FileTree({})}), "keyExists", key="k") is Verdict.UNKNOWN
