"""Tests of verbs of extras: one that is not installed says so, and no other distribution can take a verb's place."""

from __future__ import annotations

import sys

import pytest

from quarterturn.cli import tree
from quarterturn.cli.terminal.extra_verbs import ATTACK, VERBS
from quarterturn.extras import ENTRY_POINTS


@pytest.fixture
def without(monkeypatch):
    """Play as if verbs were in an extra that is not installed."""
    for verb in VERBS.values():
        monkeypatch.setattr(verb, "extra", "attic")
    tree.cache_clear()
    yield
    tree.cache_clear()


@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
def test_a_verb_whose_extra_is_not_installed_is_not_listed_and_says_how_to_install_it(verb, without, say):
    said = say(*verb.words.split(), "words", "of its own", "--json")
    assert (said.code, said.data["exit"]) == (6, 6)
    assert f"`{verb.words}` is in the extra `quarterturn-attic`, which is not installed: `./run setup`" in said.sentence
    assert f"\n  {verb.name} " not in say(*verb.group.split(), "--help").out


def test_an_option_whose_extra_is_not_installed_says_so(say, monkeypatch):
    monkeypatch.setattr(ATTACK, "extra", "attic")
    say("doctor", "--attack").refuses(6, "`doctor --attack` is in the extra `quarterturn-attic`")


@pytest.mark.parametrize("module", ["quarterturn_attic", "canary", "quarterturn_attic_canary"])
def test_an_extra_that_lies_elsewhere_is_refused_and_not_imported(module, without, say, tmp_path, monkeypatch):
    install(tmp_path, "quarterturn-attic", "export", module)
    monkeypatch.syspath_prepend(tmp_path)
    said = say("export", "harbor", "dev")
    assert said.code == 6
    assert f"not ours: {module}.verbs ({tmp_path}/{module})" in said.sentence
    assert module not in sys.modules


def test_entry_points_of_another_distribution_are_not_read(say, tmp_path, monkeypatch):
    install(tmp_path, "canary", "export", "canary")
    install(tmp_path, "quarterturn-canary", "canary", "canary")
    monkeypatch.syspath_prepend(tmp_path)
    tree.cache_clear()
    assert (say("canary").code, say("export", "--help").code) == (2, 0)
    assert "canary" not in sys.modules


def test_each_verb_of_an_extra_has_the_first_line_of_its_help_in_the_core():
    assert [verb.load().help.partition("\n")[0] for verb in VERBS.values()] == [verb.about for verb in VERBS.values()]


def install(folder, distribution, verb, module):
    """Put a distribution into a folder, with a module that cannot be imported and an entry point to it."""
    (folder / module).mkdir(exist_ok=True)
    (folder / module / "__init__.py").write_text("raise RuntimeError('imported')\n")
    info = folder / f"{distribution.replace('-', '_')}-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[{ENTRY_POINTS}]\n{verb} = {module}.verbs:register\n")
