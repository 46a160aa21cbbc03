"""Tests that no process that can open the key ring has loaded a parser of submitted states."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.judge.process import READER
from sandbox.kinds.registry import KINDS
from verifiers.states import READERS

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
MAY_READ = ("extras/import/", "sandbox/judge/reader.py", "sandbox/mutations/", "verifiers/")
CHANGES = ("/apply_mutation.py", "/proposed_mutations.py", "/twins.py")
"""Where readers may be imported: in what only a reader process loads, or the converter of other benchmarks' tasks,
which judges states that it makes itself and opens no home."""

KEY_HOLDERS = (
    "quarterturn.cli.daily.grammar",
    "quarterturn.cli.setup.home",
    "quarterturn.cli.daily.task",
    "quarterturn.cli.daily.trial_text",
    "quarterturn.cli.setup.demo",
    "quarterturn.submissions.service",
    "rotation.generation.import_tasks",
    "quarterturn.runs.jobs",
    "quarterturn.runs.private_runs",
    "quarterturn.runs.task_trial",
    "quarterturn.http.app",
    "quarterturn.tasks.given_states",
    "quarterturn.app",
    "rotation.runs.official",
    "sandbox.runs.prover",
    "sandbox.runs.run",
    "sandbox.attacks",
)
"""What the command line, the workers and the service run as; an import of one that is gone fails the test."""


@pytest.mark.slow
def test_a_process_that_can_open_the_key_ring_has_loaded_no_reader():
    program = "import importlib, json, sys; [importlib.import_module(name) for name in sys.argv[1:]]; "
    program += "print(json.dumps(sorted(sys.modules)))"
    command = [sys.executable, "-I", "-c", program, *KEY_HOLDERS]
    loaded = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    assert "vault.keys.ring" in loaded, "it could open one"
    assert sorted(set(READERS) & set(loaded)) == []
    changing = tuple(name.replace("/", ".").removesuffix(".py") for name in CHANGES)
    assert not [
        name
        for name in loaded
        if name.startswith("sandbox.mutations.") or (name.startswith("sandbox.kinds.") and name.endswith(changing))
    ]


def test_each_state_kind_has_the_modules_that_only_a_reader_process_loads():
    for kind in KINDS:
        assert all((ROOT / f"sandbox/kinds/{kind}{name}").is_file() for name in CHANGES), kind


def test_readers_are_imported_by_what_only_a_reader_process_loads():
    offenders = []
    last_words = re.compile("|".join({module.rpartition(".")[2] for module in READERS}))
    rooms = (ROOT / room for room in ("grammars", "quarterturn", "rotation", "sandbox", "vault"))
    for folder in (*rooms, *ROOT.glob("extras/*/quarterturn_*")):
        for path in folder.rglob("*.py"):
            name, text = path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
            if not name.startswith(MAY_READ) and not name.endswith(CHANGES) and last_words.search(text):
                offenders += [f"{name} imports {module}" for module in imported(text) & set(READERS)]
    assert offenders == []


def imported(text: str) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


def test_the_fork_servers_of_readers_and_judges_are_the_only_ones_who_load_them(judging, left):
    judging.check(left(), left)
    assert READER.pid is not None
    assert b"sandbox.judge.reader" in Path(f"/proc/{READER.pid}/cmdline").read_bytes()
    variables = Path(f"/proc/{READER.pid}/environ").read_bytes().strip(b"\0").split(b"\0")
    assert {word.partition(b"=")[0] for word in variables} == {b"PATH", b"LC_ALL"}
