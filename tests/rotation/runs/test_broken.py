"""Tests of the evidence that a task is broken: what cannot stand in a release is refused without quoting the task."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from rotation.errors import NotAllowed
from rotation.runs.broken import evidence_of
from sandbox.errors import Malformed
from vault.task.document import Task
from verifiers.language.verdict import Verdict

from ..conftest import SINGLE, document

CALL = {"tool": "filesystem.write_file", "arguments": {"path": "/data/files/a", "content": "x"}}
STATE = {"filesystem": {}}


@dataclass
class StubProver:
    """Judges every solution alike, and gives a state or raises."""

    verdict: Verdict = Verdict.FALSE
    state: Any = None

    def prove(self, *_: Any) -> Any:
        return SimpleNamespace(verdict=self.verdict)

    def mutated(self, *_: Any) -> Any:
        return []

    def end_state(self, *_: Any) -> Any:
        if self.state is None:
            raise Malformed("there is no file secret.txt")
        return self.state


@pytest.fixture
def task(benchmark_home):
    """Add a task with a solution and no mutant, and give a function that proves it again."""

    def add(answer=None):
        parsed = Task.parse(document(999, SINGLE))
        solution = {"name": "direct", "calls": [CALL], "answer": answer}
        names = {"skeleton": "s", "template": "t"}
        provenance = {"solutions": [solution], "mutants": []}
        benchmark_home.vault.add(parsed, provenance, author="ada", public_grammar=True, **names)
        return lambda prover: evidence_of(parsed.id, benchmark_home.vault, prover, who="ada")

    return add


def test_a_wrong_verdict_is_given_as_a_line_says_it_and_the_opening_is_logged(benchmark_home, task):
    line = task("done")(StubProver(state=STATE))
    assert line == {"solution": "reference", "calls": [CALL], "answer": "done", "state": STATE, "verdict": False}
    assert [(entry.who, entry.why) for entry in benchmark_home.vault.access_log()] == [
        ("ada", "withdraw as broken: prove it again")
    ]


@pytest.mark.parametrize("verdict", [Verdict.TRUE, Verdict.UNKNOWN])
def test_where_nothing_is_wrong_the_next_step_is_named(task, verdict):
    with pytest.raises(NotAllowed, match=r"is not broken as far as execution shows: .*--cause leak"):
        task()(StubProver(verdict, STATE))


@pytest.mark.parametrize(
    ("prover", "answer"),
    [
        (StubProver(), None),
        (StubProver(state={"filesystem": {"secret.txt": {"data": "x" * (1 << 20)}}}), None),
        (StubProver(state=STATE), "secret.txt " * 100),
    ],
)
def test_what_no_release_can_hold_is_refused_and_not_quoted(task, prover, answer):
    with pytest.raises(NotAllowed, match=r"release.*--cause leak") as raised:
        task(answer)(prover)
    assert "secret" not in str(raised.value)
