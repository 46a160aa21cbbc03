"""Tests of generated mutants: each conjunct broken fails, and each typical mutation is made."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sandbox.errors import Malformed
from sandbox.kinds.common.texts import other, wrong
from sandbox.kinds.files import proposed_mutations as filesystem
from sandbox.kinds.forge import proposed_mutations as github
from sandbox.kinds.git import proposed_mutations as git
from sandbox.kinds.sqlite import proposed_mutations as sqlite
from sandbox.mutations.make import mutants
from sandbox.mutations.mutators import mutate
from sandbox.servers.registry import SERVERS
from verifiers.language import predicate
from verifiers.language.catalogue import CATALOGUE
from verifiers.language.in_process import judge
from verifiers.language.verdict import Verdict
from verifiers.states.files.examples import files
from verifiers.states.git.examples import repository
from verifiers.states.sqlite.examples import database
from verifiers.tree import FileTree

from .builders import mistakes_of


def mutated(views, mutant):
    states = dict(views.states)
    for server, change in mutant.changes:
        states[server] = mutate(server, states[server], change)
    return replace(views, states=states, answer=views.answer if mutant.answer is None else mutant.answer)


@pytest.mark.parametrize("name", [name for name, entry in CATALOGUE.items() if not entry.needs_baseline])
def test_every_predicate_can_be_broken_where_it_holds(name):
    entry = CATALOGUE[name]
    holds = entry.example.holds()
    parsed = predicate.parse({name: dict(entry.example.arguments)})
    assert judge(parsed, holds).verdict is Verdict.TRUE
    broken = [one for one in mutants(parsed, {}, holds.states, holds.answer) if one.kind == "broken"]
    assert len(broken) == 1
    assert judge(parsed, mutated(holds, broken[0])).verdict is Verdict.FALSE


def test_an_any_is_broken_whole_and_a_not_is_left_to_people():
    one, two = {"filesystem.fileExists": {"path": "a"}}, {"answer.equals": {"text": "yes"}}
    views = replace(files({"a": "1"}), answer="yes")
    parsed = predicate.parse({"all": [{"any": [one, two]}, {"not": {"filesystem.fileExists": {"path": "b"}}}]})
    (broken,) = (m for m in mutants(parsed, views.states, views.states, "yes") if m.kind == "broken")
    assert len(broken.changes) == 1
    assert broken.answer is not None
    assert judge(parsed, mutated(views, broken)).verdict is Verdict.FALSE


def test_typical_mutations_of_files_follow_from_what_the_solution_changed():
    before = files({"keep.txt": "k", "edit.txt": "Old 1\n", "gone.txt": "g"}).states["filesystem"]
    after = files({"keep.txt": "k", "edit.txt": "New 2\nand\n", "new/a.txt": "x"}).states["filesystem"]
    expected = {
        *("left-out", "wrong-place", "wrong-case", "off-by-one", "last-line-left-out"),
        *("first-and-last-line-swapped", "other-file-lost"),
    }
    assert mistakes_of(filesystem, "filesystem", before, after) == expected


def test_typical_mutations_of_tables_follow_from_what_the_solution_changed():
    base = ["CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, n INT)", "CREATE TABLE other (x)"]
    base += ["INSERT INTO t VALUES (1, 'Ada', 5), (2, 'Bob', 6), (3, 'Cy', 7)", "INSERT INTO other VALUES (1)"]
    done = ["UPDATE t SET n = 9 WHERE id = 1", "DELETE FROM t WHERE id = 2", "CREATE TABLE log (what TEXT)"]
    done += ["INSERT INTO log VALUES ('Done')"]
    before, after = database(base).states["sqlite"], database(base + done).states["sqlite"]
    expected = {
        *("left-out", "row-left-out", "row-not-removed", "wrong-row", "row-too-many"),
        *("off-by-one", "wrong-case", "other-table-touched"),
    }
    assert mistakes_of(sqlite, "sqlite", before, after) == expected


def test_typical_mutations_of_repositories_follow_from_what_the_solution_changed():
    start = [("main", "Begin", {"a": "1"}), ("stable", "Begin", {"a": "1"})]
    before = repository(start).states["git"]
    steps = [*start, ("main", "Go on", {"a": "2"}), ("spare", "Begin", {"a": "1"})]
    after = repository(steps, tags={"v1": "main"}).states["git"]
    expected = {"left-out", "commit-too-many", "wrong-message", "other-branch-touched"}
    assert mistakes_of(git, "git", before, after) == expected


def test_nothing_was_changed_so_hardly_anything_can_be_wrong():
    same = files({"a.txt": "Text 1"}).states["filesystem"]
    assert [name for name, _ in filesystem.mistakes(same, same)] == ["other-file-lost a.txt"]
    assert list(sqlite.mistakes(FileTree({}), FileTree({}))) == []


@pytest.mark.parametrize("text", ["Ada", "7", "one\ntwo\n", "é"])
def test_a_wrong_text_is_another_text(text):
    assert all(mistake != text for _, mistake in wrong(text))
    assert text.strip().casefold() not in {other(text).strip().casefold(), ""}


def test_typical_mutations_of_a_forge_follow_from_what_the_solution_changed():
    server = SERVERS["github"]
    commits = [{"branch": "main", "message": "Begin", "files": {"a": "1"}}]
    site = {"commits": commits, "issues": [{"title": "Menu"}, {"title": "Other"}]}
    before = after = server.seed({"users": [{"login": "ada"}], "repositories": {"ada/site": site}})
    for change in (
        {"issue": {"number": 1, "state": "closed", "labels": ["bug"]}},
        {"comment": {"number": 1, "body": "Done"}},
        {"new_issue": {"title": "New 2", "labels": ["bug"]}},
        {"commit": {"branch": "main", "files": {"a": "2"}, "message": "More"}},
        {"branch": {"name": "fix", "at": "main~1"}},
    ):
        after = mutate("github", after, {"repository": "ada/site", **change})
    assert mistakes_of(github, "github", before, after) == {
        *("left-out", "state", "labels", "comment", "made", "wrong-case", "off-by-one"),
        *("commit-too-many", "another-one-changed"),
    }


def test_a_row_too_many_is_a_row_more_or_no_mutant_at_all():
    base = ["CREATE TABLE t (code TEXT PRIMARY KEY, n INT)", "INSERT INTO t VALUES ('a', 7)"]
    before, after = database([base[0]]).states["sqlite"], database(base).states["sqlite"]
    change = dict(sqlite.mistakes(before, after))["row-too-many t"]
    with pytest.raises(Malformed):
        mutate("sqlite", after, change)
