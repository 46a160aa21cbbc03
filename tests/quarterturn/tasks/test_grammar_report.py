"""Tests of the grammar verbs: counted for a home, watched beside an editor, imported and drawn from."""

import dataclasses
import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from grammars.language.load import LIBRARY
from quarterturn.cli.daily import grammar_text
from quarterturn.tasks import grammar_report
from rotation.generation import shipped_dev_sets
from rotation.generation.grammars import shipped_grammar

from ...patience import PATIENCE


def some(server: str, folder: Path, *templates: str) -> Path:
    """Return a shipped grammar with a few of its templates, since drawing from each takes time."""
    folder.mkdir()
    for name in ("grammar", *templates):
        shutil.copy(LIBRARY / server / f"{name}.yaml", folder)
    return folder


@pytest.fixture
def mine(tmp_path):
    folder = some("sqlite", tmp_path / "mine", "archive", "ask")
    text = (folder / "archive.yaml").read_text().replace("is getting long", "has grown too long for anybody")
    (folder / "archive.yaml").write_text(text)
    return folder


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.parametrize(
    ("chosen", "least"),
    [(("glance", "branch-from"), 1), pytest.param((), 12, marks=pytest.mark.exhaustive)],
    ids=["two", "all"],
)
def test_a_shipped_grammar_has_months_left_in_a_new_home(home, say, tmp_path, chosen, least):
    source = some("git", tmp_path / "some", *chosen) if chosen else "git"
    data = say("grammar", "check", source, "--home", home, "--json").data
    assert data["server"] == "git"
    assert data["runway_months"]["composition"] > least
    assert {one["live"] + one["near"] for one in data["templates"]} == {0}
    names = tuple(one["template"] for one in data["templates"])
    assert {name.removeprefix("git/") for name in names} >= {*chosen}
    dev = {draft.skeleton for draft in shipped_dev_sets.public()}
    public = {name for name in dev if name.startswith(tuple(f"{name}:" for name in names))}
    assert sum(one["seen"] for one in data["templates"]) == len(public) >= 1  # everybody knows those of a dev set


@pytest.mark.full
@pytest.mark.slow
def test_used_skeletons_of_a_home_are_counted(home, monkeypatch, opened):
    house = opened(home)
    grammar = shipped_grammar("git")
    tag = house.home.vault.tag("skeleton", "git/glance:staged")
    monkeypatch.setattr(house.benchmark.months, "taken", lambda: {tag: "cohort-2026-12"})
    used = house.tasks.known_tasks.used(grammar)
    assert used.live == {"git/glance:staged"}
    glance = dataclasses.replace(grammar, templates={"glance": grammar.templates["glance"]})
    lines = grammar_text.lines(grammar_report.report(glance, used))
    (line,) = (line for line in lines if line.startswith("git/glance"))
    seen = sum(name.startswith("git/glance:") for name in used.seen)
    assert line.split()[:4] == ["git/glance", str(6 - 1 - seen), "1", str(seen)]


@pytest.mark.full
@pytest.mark.slow
def test_what_the_free_values_of_a_template_lack_is_said_below_the_table_and_in_json(say, tmp_path):
    source = some("sqlite", tmp_path / "some", "set-right")
    file = source / "set-right.yaml"
    text = file.read_text()
    file.write_text(text.replace("[[words, services], [words, words]]", "[words, services]"))
    assert file.read_text() != text
    clause = "free parameters with 640 choices: 2, and 3 are needed"
    data = say("grammar", "check", source, "--json").data
    assert (data["choices_needed"], data["templates"][0]["lacks"]) == (640, {clause: 5})
    (line,) = [line for line in say("grammar", "check", source).out.splitlines() if "lack" in line]
    assert line.startswith("sqlite/set-right: tasks of 5 skeletons lack free values")
    assert line.endswith(clause)
    file.write_text(text)
    assert say("grammar", "check", source, "--json").data["templates"][0]["lacks"] == {}


def replace(file: Path, text: str) -> None:
    """Replace a file atomically: a reader sees the old text or the new one."""
    new = file.with_suffix(".new")
    new.write_text(text)
    new.replace(file)


@pytest.mark.full
@pytest.mark.slow
def test_a_watched_grammar_is_checked_again_when_a_file_changes(tmp_path):
    mine = some("sqlite", tmp_path / "mine", "ask")
    heeding = ["env", "--default-signal=INT"]  # a shell makes its background jobs ignore it
    command = [*heeding, f"{sys.prefix}/bin/quarterturn", "grammar", "check", str(mine), "--watch", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert json.loads(process.stdout.readline())["ok"]
        file = mine / "ask.yaml"
        text = file.read_text()
        replace(file, text.replace("category:", "categorie:", 1))
        said = json.loads(process.stdout.readline())
        assert not said["ok"]
        assert "ask.yaml" in said["data"]["error"]
        replace(file, text)
        assert json.loads(process.stdout.readline())["ok"]
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 130
    finally:
        process.kill()
        process.communicate()


@pytest.mark.full
@pytest.mark.slow
def test_an_imported_grammar_is_sealed_and_drawn_from_and_its_tasks_are_not_public(home, mine, say, opened):
    said = say("grammar", "import", mine, "--as", "ada", "--home", home, "--json")
    assert said.data == {"server": "sqlite", "version": 1, "templates": len(list(mine.glob("*.yaml"))) - 1}
    say("grammar", "import", mine, "--as", "ada", "--home", home).refuses(8, "in force already")
    house = opened(home)
    assert not house.tasks.drawn_grammars("ada")["sqlite"].public
    assert house.tasks.drawn_grammars("ada")["git"].public
    left = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
    assert b"has grown too long for anybody" not in left


def test_a_grammar_that_cannot_be_understood_is_not_imported(home, mine, say):
    (mine / "ask.yaml").write_text("grammar: sqlite\ntemplates: {ask: {category: riddle}}\n")
    say("grammar", "import", mine, "--as", "ada", "--home", home).refuses(2, "ask.yaml")
