"""Tests that no text of a private task is printed anywhere (`test_hygiene` looks at disks and processes)."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from grammars.language.grammar import Draft
from quarterturn.app import Application
from quarterturn.home.home import create
from quarterturn.settings import BenchmarkSettings, Settings
from rotation.month.sets import DEMO, Stratum
from sandbox.servers.registry import SERVERS
from vault.errors import VaultError
from vault.task.document import Task

WORDS = GOAL, STATE = "amaranthine-zephyr-goal", "amaranthine-zephyr-state"


def document(stratum: Stratum, number: int) -> dict[str, Any]:
    """Write a task by hand, with unique words in its goal and in its state."""
    letters = random.Random(f"{stratum} {number}")
    servers = dict.fromkeys([stratum.server, "filesystem"])
    tools = [f"{server}.{name}" for server in servers for name in SERVERS[server].tools]
    task: dict[str, Any] = {
        "schema": "quarterturn/task/v1",
        "spec": "1.0.0",
        "id": "t-" + "".join(letters.choice("abcdefghijklmnopqrstuvwxyz234567") for _ in range(16)),
        "server": stratum.server,
        "category": stratum.category,
        "difficulty": stratum.difficulty,
        "max_steps": 8,
        "goal": f"For {GOAL}, make the folder number-{number}.",
        "initial_state": {"filesystem": {"files": {"notes.txt": f"{STATE}\n"}}},
        "available_tools": [tools[0], *[tool for tool in tools[1:] if tool.startswith("filesystem.")][:13]][:14],
        "success_predicate": {"filesystem.directoryExists": {"path": f"number-{number}"}},
    }
    if stratum.category == "recovery":
        task["faults"] = [{"tool": tools[0], "call": 1, "error": "try again"}]
    return task


SAYINGS: list[Callable[[Any], str]] = [repr, str, "{}".format, "{!r}".format]


@pytest.mark.slow
def test_nothing_that_holds_a_task_shows_it(tmp_path: Path) -> None:
    create(tmp_path / "home", Settings(benchmark=BenchmarkSettings(first_month="2026-12")), None)
    with closing(Application(tmp_path / "home", None)) as house:
        for stratum in DEMO.per_cohort:
            plain = document(stratum, 1)
            task, names = Task.parse(plain), {"skeleton": f"s/{stratum}", "template": "t"}
            draft = Draft(plain, names | {"note": STATE})
            record = house.home.vault.add(task, {"note": STATE}, author="ada", public_grammar=False, **names)
            opened = house.home.vault.open(task.id, who="tester", why="secrecy")
            for thing in (task, draft, record, opened, house, [task], {"task": task}):
                for say in SAYINGS:
                    assert not [word for word in WORDS if word in say(thing)], stratum


@pytest.mark.parametrize(
    "spoil",
    [
        {"goal": 3},
        {"max_steps": GOAL},
        {"category": GOAL},
        {"available_tools": [GOAL] * 12},
        {"initial_state": {"filesystem": GOAL}},
        {"success_predicate": GOAL},
        {"id": GOAL},
        {"spec": GOAL},
    ],
    ids=lambda spoil: next(iter(spoil)),
)
def test_a_refusal_quotes_nothing_of_the_task(spoil: dict[str, Any]) -> None:
    with pytest.raises(VaultError) as error:
        Task.parse(document(Stratum("filesystem", "single-tool", "easy"), 1) | spoil)
    assert not [word for word in WORDS if word in str(error.value) + repr(error.value)]
