"""Runs the guide to judged claims: every command, in its order, with the loopback model as the judge."""

from __future__ import annotations

import json

import pytest

from sandbox.claim_judge.loopback_model import LoopbackModel
from sandbox.judge_check.cases import injected, shipped

from .guides import HOW_TO, ROOT, GuideShell, blocks, commands

PAGE = "let-a-model-judge-claims.md"
DRAFT = ROOT / "examples" / "judged" / "tasks.jsonl"


@pytest.mark.box
@pytest.mark.full
def test_the_guide_to_judged_claims_works_line_by_line(home, say, monkeypatch):
    shell = GuideShell(home.parent, say, monkeypatch)
    (tables,) = blocks(PAGE, "toml")
    with LoopbackModel() as model:
        with (home / "quarterturn.toml").open("a") as file:
            file.write("\n" + tables.replace("http://127.0.0.1:8000/v1", model.url))
        for name in ("dev", "private"):
            (shell.folder / f"{name}.key").touch(0o600)
            (shell.folder / f"{name}.key").write_text(f"test-{name}\n")
        assert len(commands(PAGE)) == 6
        said = [shell.type(command) for command in commands(PAGE)]
        assert "The judge is over every bar" in said[3]
        assert "the coverage is 1, and 3/4 is asked for" in said[4]
        for mutant in json.loads(DRAFT.read_text())["provenance"]["mutants"]:
            tried = shell.type(f"quarterturn task try {DRAFT} --mutant {mutant['name']} --home home", code=1)
            assert "Verdict: false" in tried
    unjudged = shell.type(f"quarterturn task try {DRAFT} --home {home.parent / 'none'}", code=1)
    assert "claims are judged by a language model, and none was asked" in unjudged


def test_the_guide_counts_the_corpus_and_shows_the_example():
    page = (HOW_TO / PAGE).read_text(encoding="utf-8")
    assert f"{len(injected(shipped()))} wrong answers" in page
    (claims,) = [json.loads(block) for block in blocks(PAGE, "json")]
    draft = json.loads(DRAFT.read_text())["task"]["success_predicate"]["all"][0]
    assert claims["answer.claims"]["claims"][0] == draft["answer.claims"]["claims"][0]
