"""Tests of `watch trace`: what a maintainer reads about a leaked text, and what never stands in it."""

import json
from pathlib import Path

from vault.task.document import Task


def test_a_text_that_was_taken_from_nothing_is_logged_and_nobody_is_named(live, tmp_path, say):
    (tmp_path / "leak.txt").write_text("The quick brown heron.")
    said = say("watch", "trace", tmp_path / "leak.txt", "--as", "ada", "--home", live, "--json")
    assert said.code == 0
    assert said.data["verdict"] == "nothing"
    assert said.data["named"] == []
    log = say("access", "log", "--home", live, "--json").data
    assert f"text/{said.data['sha256']}" in json.dumps(log)


def test_the_guides_command_works_as_it_stands(live, say, monkeypatch):
    page = (Path(__file__).parents[3] / "docs" / "how-to" / "trace-a-leak.md").read_text()
    (words,) = [line.split()[1:] for line in page.splitlines() if line.strip().startswith("quarterturn watch trace")]
    monkeypatch.chdir(live.parent)
    Path("leaked.txt").write_text("The quick brown heron.")
    assert live.name == "home"
    assert say(*words).code == 0


def test_tasks_that_all_are_served_alike_are_marked_in_the_list(live, say):
    rows = say("task", "list", "--home", live, "--json").data
    assert {row["traceable"] for row in rows} == {False}  # made by hand, without free parameters
    assert "not traceable" in say("task", "list", "--home", live).out


def test_a_task_says_whether_it_is_traceable(document):
    from quarterturn.cli.daily.task_text import traceable
    from rotation.month.sets import DEMO

    plain = document(next(iter(DEMO.per_cohort)), 1)
    assert traceable(Task.parse(plain)).startswith("not traceable: 2^20 variants are needed")
    free = {name: {"from": [f"{name} {n}" for n in range(1024)]} for name in ("ledge", "barn")}
    varied = Task.parse({**plain, "free": free, "goal": "{{ledge}}, {{barn}}"}).keyed("0" * 64)
    assert traceable(varied).startswith("yes: each submitter is served their own of 2^20 variants")
