"""Tests of mutations of databases, keys and graphs, on what their readers write down."""

from __future__ import annotations

import pytest

from sandbox.kinds.graph import proposed_mutations as memory
from sandbox.kinds.postgres import proposed_mutations as postgres
from sandbox.kinds.redis import proposed_mutations as redis
from sandbox.servers.registry import SERVERS
from verifiers.states.graph.examples import memory_graph
from verifiers.states.postgres.examples import postgres_database
from verifiers.states.redis.examples import redis_keys
from verifiers.tree import FileTree

from .builders import mistakes_of

MODULES = {"memory": memory, "postgres": postgres, "redis": redis}


STOCK = [["id", "integer primary key"], ["item", "text"], ["price", "numeric"]]


def shop(stock, **more):
    tables = {"stock": STOCK, "other": [["x", "integer"]], **{name: [["what", "text"]] for name in more}}
    return postgres_database(tables, {"stock": stock, "other": [["1"]], **more}).states["postgres"]


def test_typical_mutations_of_tables_follow_from_what_the_solution_changed():
    before = shop([["1", "Ada", "5"], ["2", "Bob", "6"], ["3", "Cy", "7"]])
    after = shop([["1", "Ada", "9"], ["3", "Cy", "7"]], log=[["Done"]])
    expected = {
        *("left-out", "row-left-out", "row-doubled", "row-not-removed", "wrong-row"),
        *("off-by-one", "wrong-case", "other-table-touched"),
    }
    assert mistakes_of(postgres, "postgres", before, after) == expected


def test_typical_mutations_of_keys_follow_from_what_the_solution_changed():
    start = {"kept": ("string", "1"), "gone": ("zset", {"a": "1"}), "queue": ("list", ["a", "b"])}
    done = {
        "kept": ("string", "1"),
        "queue": ("list", ["a", "b", "c"]),
        "user:1": ("hash", {"name": "Ann"}),
        "rank": ("zset", {"ann": "2"}),
    }
    before = redis_keys(start).states["redis"]
    after = redis_keys(done, left={"user:1": 1000}).states["redis"]
    kinds = mistakes_of(redis, "redis", before, after)
    assert {"left-out", "never-runs-out", "last-left-out", "one-too-many", "other-end"} <= kinds
    assert {"off-by-one", "wrong-case", "not-removed", "other-key-touched"} <= kinds


def test_typical_mutations_of_a_graph_follow_from_what_the_solution_changed():
    ann = ("Ann", "person", ["likes tea"])
    before = memory_graph([ann, ("Old", "x", [])], [("Ann", "has", "Old")]).states["memory"]
    after = memory_graph([("Ann", "person", ["is 40"]), ("Bern", "city", [])], [("Ann", "in", "Bern")]).states["memory"]
    expected = {
        *("left-out", "wrong-case", "wrong-type", "not-observed", "not-forgotten"),
        *("unrelated", "wrong-direction", "still-related", "not-removed"),
    }
    assert mistakes_of(memory, "memory", before, after) == expected


@pytest.mark.parametrize("server", MODULES)
def test_an_unread_state_gives_no_mutation(server):
    assert list(MODULES[server].mistakes(FileTree({}), FileTree({}))) == []
    seeds = SERVERS[server].seed({})
    assert list(MODULES[server].mistakes(seeds, seeds)) == []
