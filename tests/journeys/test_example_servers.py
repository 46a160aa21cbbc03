"""Plays the example servers that have a grammar: every skeleton is admitted, and agents are scored in both boxes."""

import json
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from grammars.draw.sample import draw, skeletons
from grammars.language.load import load
from vault import strict_yaml
from verifiers.predicates import namespaces

from .test_add_server_guide import KNOWING, knowing_agent
from .test_docs import ROOT, play, workspace

__all__ = ["workspace"]
NAMES = sorted(path.parent.name for path in (ROOT / "examples" / "servers").glob("*/grammar"))
NULL = "examples/agents/null/agent.py"
LEVEL = "medium"
SET = f"""\
[[mix]]
category = "{{}}"
difficulty = "{LEVEL}"
cohort = {{}}
"""


def set_file(name: str) -> tuple[str, int]:
    """Return a set of two cohorts that takes every skeleton of a grammar (an odd one is left over), and its size."""
    grammar = load(ROOT / "examples" / "servers" / name / "grammar")
    per_category = Counter(grammar.templates[skeleton.template].category for skeleton in skeletons(grammar))
    size = sum(count // 2 * 2 for count in per_category.values())
    mix = "".join(SET.format(category, count // 2) for category, count in per_category.items())
    return f'name = "trial"\nsize = {size}\nservers = ["{name}"]\n[cohorts]\nlive = 2\n{mix}', size


@pytest.mark.parametrize("name", NAMES)
def test_an_example_grammar_has_three_templates_and_twelve_skeletons(name: str) -> None:
    grammar = load(ROOT / "examples" / "servers" / name / "grammar")
    assert len(grammar.templates) >= 3
    assert len(skeletons(grammar)) >= 12


@pytest.mark.parametrize("name", NAMES)
def test_each_template_of_an_example_grammar_can_be_drawn_from(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = ROOT / "examples" / "servers" / name
    for table in ("_KINDS", "_OWN", "_ENTRIES"):  # else this process would know the server for good
        monkeypatch.setattr(namespaces, table, dict(getattr(namespaces, table)))
    namespaces.add(name, strict_yaml.read((folder / "server.yaml").read_text(), "server.yaml")["state"]["kind"])
    grammar = load(folder / "grammar")
    one_of_each = {skeleton.template: skeleton for skeleton in skeletons(grammar)}
    for template, skeleton in one_of_each.items():
        drawn = draw(grammar, skeleton, skeleton.difficulties[-1], Random(name))
        assert drawn.draft.provenance["skeleton"] == skeleton.id, template


@pytest.mark.box
@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize("name", NAMES)
def test_an_example_server_is_proven_and_played_in_both_boxes(
    name: str, workspace: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    text, size = set_file(name)
    (workspace / "set.toml").write_text(text)
    source = f"examples/servers/{name}"
    play("quarterturn init --set set.toml --month 2026-12 --home home", capfd)
    play(f"quarterturn server add {source} --box bwrap --home home", capfd)
    play(f"quarterturn grammar import {source}/grammar --as ada --home home", capfd)
    assert f"{size} admitted" in play("quarterturn task admit --as ada --box bwrap --home home", capfd)
    play("quarterturn task review --as grace --home home", capfd)
    play("quarterturn turn run --home home", capfd)
    play("quarterturn server image --home home", capfd)
    agents = {"null": (NULL, 0.0), "knower": (knowing_agent(workspace) / KNOWING.name, 1.0)}
    for box in ("bwrap", "docker"):
        for agent, (program, _) in agents.items():
            words = f"--as {agent}-{box} --set private --box {box} --agent 'python3 {program}'"
            play(f"quarterturn run --home home {words}", capfd)
    scores = json.loads(play("quarterturn leaderboard --home home --json", capfd))["data"]
    rates = {score["submitter"]: score["sealed"]["success_rate"]["value"] for score in scores}
    assert rates == {f"{agent}-{box}": rate for box in ("bwrap", "docker") for agent, (_, rate) in agents.items()}
