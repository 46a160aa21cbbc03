"""Tests of the demo's output: one line a step, its details on request, its words whole on a terminal."""

import re
import sys

from quarterturn.cli.setup.demo import failures
from quarterturn.cli.setup.demo_steps import Steps
from quarterturn.cli.terminal.output import Output
from sandbox.results.score import Result, score
from vault.ledger.audit.report import AuditReport
from vault.ledger.audit.verify import Step
from verifiers.language.verdict import Verdict

from ..terminals import environment, on_a_terminal

MEANING = "Each task was committed to in the public log before anybody is served it. " * 3
PROGRAM = f"""
from quarterturn.cli.setup.demo_steps import Steps
from quarterturn.cli.terminal.output import Output
with Steps(Output(as_json=False), 9, verbose=True).step("first set") as step:
    step.meaning = {MEANING!r}
    step.say("a detail with the digest " + "a" * 64)
"""


def play(*, verbose: bool) -> Steps:
    steps = Steps(Output(as_json=False), 2, verbose=verbose)
    for name in ("wall", "tasks"):
        with steps.step(name) as step:
            with step.bar("proving", 2) as advance, step.progress("a long call", 2) as inner:
                advance(1)
                inner(1)
            step.meaning = f"What {name} means."
            step.say(f"a detail of {name}")
    return steps


def test_a_step_is_one_line(capsys):
    steps = play(verbose=False)
    assert capsys.readouterr().err == "1/2 wall       What wall means.\n2/2 tasks      What tasks means.\n"
    assert list(steps.seconds) == ["wall", "tasks"]


def test_details_are_shown_on_request_with_progress_and_times(capsys):
    steps = play(verbose=True)
    assert capsys.readouterr().err.splitlines() == [
        "  proving: 1 of 2",
        "  proving: 2 of 2",
        "1/2 wall       What wall means.",
        "               a detail of wall",
        "  proving: 1 of 2",
        "  proving: 2 of 2",
        "2/2 tasks      What tasks means.",
        "               a detail of tasks",
    ]
    assert re.fullmatch(r"Seconds by step: wall \d+\.\d, tasks \d+\.\d", steps.times())


def test_no_word_is_broken_on_a_terminal():
    code, shown = on_a_terminal(sys.executable, "-c", PROGRAM, env=environment(COLUMNS="50"))
    assert code == 0
    lines = shown.splitlines()
    assert " ".join(line[15:].strip() for line in lines) == f"{MEANING.strip()} a detail with the digest {'a' * 64}"
    assert all(len(line) <= 55 for line in lines if "aaa" not in line)
    assert all(line.startswith(("1/9 first set  ", " " * 15)) for line in lines)


def test_a_demo_whose_oracle_fails_has_failed_and_says_where_to_look():
    good, bad = (AuditReport([Step(1, "files", state, "")]) for state in ("proved", "failed"))
    passes = Result(1, "t-1", "cohort", "git", "composition", Verdict.TRUE, True, 6, 12, 0, 0, "aa")
    breaks = Result(1, "t-2", "cohort", "git", "composition", Verdict.UNKNOWN, False, 0, 12, 0, 0, "bb")
    assert list(failures("bwrap", score([passes]), good, bad)) == []
    oracle, release, tampered = failures("bwrap", score([passes, breaks]), bad, good)
    assert "passed 1 of 2 tasks, and 1 have no verdict" in oracle
    assert " run --as you --box bwrap --limit 1 --trace --agent " in oracle
    assert "no" in release
    assert "byte" in tampered
