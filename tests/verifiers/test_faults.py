"""Tests of three-valued verdicts with faults injected into the readers, under any predicate."""

import itertools
from dataclasses import replace
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verifiers.errors import CorruptState, StateUnavailable, TargetMissing
from verifiers.language.in_process import judge
from verifiers.language.predicate import parse
from verifiers.language.verdict import Verdict
from verifiers.predicates.namespaces import known
from verifiers.states.files import predicates as filesystem
from verifiers.states.readers import read
from verifiers.states.sqlite import tables
from verifiers.states.sqlite.examples import database as sqlite_state
from verifiers.tree import FileTree, JudgeInput, tree_of

NAMES = "abcd"
OURS = [StateUnavailable("x"), OSError(28, "no space"), RecursionError(), KeyError("x"), ValueError("x")]
READ = filesystem.file_data


def probe(name):
    return {"filesystem.fileExists": {"path": name}}


PREDICATES = st.recursive(
    st.sampled_from(NAMES).map(probe),
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3).map(lambda some: {"all": some})
        | st.lists(inner, min_size=1, max_size=3).map(lambda some: {"any": some})
        | inner.map(lambda one: {"not": one})
    ),
    max_leaves=8,
)


def verdict(document, there, faults=None):
    """Evaluate over a state that holds these files, with readers that fail for some paths."""

    def read(context, path):
        if path in (faults or {}):
            raise faults[path]
        return READ(context, path)

    with mock.patch.object(filesystem, "file_data", read):
        return judge(parse(document), JudgeInput({"filesystem": tree_of(dict.fromkeys(there, "x"))})).verdict


@pytest.mark.slow
@settings(max_examples=3 * settings.default.max_examples)
@given(PREDICATES, st.sets(st.sampled_from(NAMES)), st.dictionaries(st.sampled_from(NAMES), st.sampled_from(OURS)))
def test_a_verdict_decided_despite_a_fault_holds_for_every_possible_state(document, there, faults):
    decided = verdict(document, there, faults)
    if decided is not Verdict.UNKNOWN:
        sure = there - faults.keys()
        for more in itertools.product([False, True], repeat=len(faults)):
            assert verdict(document, sure | set(itertools.compress(faults, more))) is decided


@pytest.mark.slow
@settings(max_examples=3 * settings.default.max_examples)
@given(PREDICATES, st.sets(st.sampled_from(NAMES)), st.sets(st.sampled_from(NAMES)))
def test_wreckage_never_helps_and_never_leaves_a_verdict_open(document, there, wrecked):
    left = verdict(document, there, {name: CorruptState("x") for name in wrecked})
    assert left is not Verdict.UNKNOWN
    if left is Verdict.TRUE:
        for more in itertools.product([False, True], repeat=len(wrecked)):
            assert verdict(document, there - wrecked | set(itertools.compress(wrecked, more))) is Verdict.TRUE


@given(PREDICATES, st.sets(st.sampled_from(NAMES)), st.sets(st.sampled_from(NAMES)))
def test_a_missing_part_is_as_if_absent(document, there, lacking):
    assert verdict(document, there, {name: TargetMissing("x") for name in lacking}) is verdict(
        document, there - lacking
    )


ROW = {"sqlite.rowExists": {"table": "t", "where": {"v": 1}}}
SQL = sqlite_state(["CREATE TABLE t (v)", "INSERT INTO t VALUES (1)"])


@pytest.mark.parametrize("error", [OSError(28, "no space"), RecursionError(), KeyError("x")])
def test_a_probe_that_breaks_on_the_untouched_state_too_is_our_defect(monkeypatch, error):
    monkeypatch.setattr(tables.SQLiteDatabase, "rows", mock.Mock(side_effect=error))
    for document in (ROW, {"not": ROW}):
        found = judge(parse(document), replace(SQL, baseline=SQL.states))
        assert (found.verdict, found.broken) == (Verdict.UNKNOWN, True)


def test_a_probe_that_only_the_state_breaks_counts_against_the_state(monkeypatch):
    read = tables.SQLiteDatabase.rows

    def rows(base, table, columns, budget):
        if any(cell == "trap" for row in read(base, table, columns, budget) for cell in row):
            raise RuntimeError
        return read(base, table, columns, budget)

    monkeypatch.setattr(tables.SQLiteDatabase, "rows", rows)
    left = sqlite_state(["CREATE TABLE t (v)", "INSERT INTO t VALUES ('trap')"])
    for document in (ROW, {"not": ROW}, {"all": [ROW, {"not": ROW}]}):
        found = judge(parse(document), replace(left, baseline=SQL.states))
        assert (found.verdict, found.broken) == (Verdict.FALSE, False)
    assert judge(parse(ROW), left).broken, "without the untouched state nobody can tell"
    assert judge(parse(ROW), replace(SQL, baseline=SQL.states)).verdict is Verdict.TRUE


def breaking(error):
    """Make a tree on which every access fails."""
    tree = mock.MagicMock(spec=FileTree)
    tree.items.side_effect = tree.get.side_effect = tree.__iter__.side_effect = tree.__len__.side_effect = error
    return tree


@pytest.mark.parametrize("space", known())
def test_a_state_that_breaks_its_reader_counts_against_the_agent(space):
    assert "broke" in read(space, breaking(KeyError)).unreadable


@pytest.mark.parametrize("space", known())
def test_an_end_of_memory_says_nothing_about_a_state(space):
    with pytest.raises(MemoryError):
        read(space, breaking(MemoryError))


def test_an_end_of_memory_says_nothing_about_a_probe(monkeypatch):
    monkeypatch.setattr(tables.SQLiteDatabase, "rows", mock.Mock(side_effect=MemoryError))
    for seed in (None, SQL.states):
        with pytest.raises(MemoryError):
            judge(parse(ROW), replace(SQL, baseline=seed))
