"""Tests of the Redis server's state: the document that is loaded, and its reader's document mutated."""

import json

import pytest

from sandbox.errors import Malformed
from sandbox.kinds.common.check import check
from sandbox.kinds.redis.apply_mutation import mutate
from sandbox.kinds.redis.kind import STATE, seed
from verifiers.states.redis.examples import redis_keys

from .holding import holds_in

KEYS = {"a": ("string", "1"), "l": ("list", ["x"])}
TREE = redis_keys(KEYS).states["redis"]


def test_a_state_is_the_document_whatever_the_order_of_its_keys():
    state = {"strings": {"b": "2", "a": "ü"}, "sorted_sets": {"z": {"m": 1.5}}}
    check(STATE, state, "the state")
    assert json.loads(seed(state)["seed.json"].data) == state
    assert seed(state) == seed({"sorted_sets": {"z": {"m": 1.5}}, "strings": {"a": "ü", "b": "2"}})


@pytest.mark.parametrize(
    "state",
    [
        {"strings": {"a": 1}}, {"strings": {"": "x"}}, {"lists": {"a": []}}, {"sets": {"a": ["x", "x"]}},
        {"hashes": {"a": {}}}, {"sorted_sets": {"a": {"m": "1"}}}, {"streams": {}},
    ],
)  # fmt: skip
def test_values_that_redis_cannot_hold_are_refused(state):
    with pytest.raises(Malformed):
        check(STATE, state, "the state")


def test_a_key_holds_one_thing():
    with pytest.raises(Malformed, match="the key 'a' twice"):
        seed({"strings": {"a": "1"}, "lists": {"a": ["1"]}})
    with pytest.raises(Malformed, match="surrogate"):
        seed({"strings": {"a": "\ud800"}})


holds = holds_in("redis")


def test_each_change_changes_one_thing():
    assert holds(mutate(TREE, {"key": "a", "put": {"string": "2"}}), "stringEquals", key="a", value="2")
    assert holds(mutate(TREE, {"key": "z", "put": {"zset": {"m": 1}}}), "scoreEquals", key="z", member="m", score=1)
    assert not holds(mutate(TREE, {"key": "a", "delete": True}), "keyExists", key="a")
    assert holds(mutate(TREE, {"key": "a", "rename": "A"}), "stringEquals", key="A", value="1")
    assert holds(mutate(TREE, {"key": "l", "copy": "m"}), "keyCount", count=3)
    expiring = mutate(TREE, {"key": "a", "expire": 60})
    assert holds(expiring, "expires", key="a", expires=True, seconds=60)
    assert holds(mutate(expiring, {"key": "a", "persist": True}), "expires", key="a", expires=False)
    assert holds(TREE, "stringEquals", key="a", value="1"), "the original stays as it was"


@pytest.mark.parametrize(
    "change", [{"key": "gone", "delete": True}, {"key": "a"}, {"key": "a", "delete": True, "copy": "b"}]
)
def test_a_change_of_what_is_not_there_is_refused(change):
    with pytest.raises(Malformed, match="the redis change"):
        mutate(TREE, change)


def test_a_change_needs_a_state_that_was_read_back():
    with pytest.raises(Malformed, match="needs a state that was read back"):
        mutate(seed({}), {"key": "a", "delete": True})
