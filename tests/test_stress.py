"""Tests of the stress runner: it counts who failed, under which condition, and ends its loops."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from . import limits, stress

REPORT = """<testsuites><testsuite>
<testcase classname="test_story" name="test_passes"/>
<testcase classname="test_story" name="test_is_unlucky">{}</testcase>
</testsuite></testsuites>"""


def test_what_failed_how_often_under_which_condition_is_reported(monkeypatch, tmp_path, capsys):
    cores, played = [], iter(["<failure/>", "", "<error/>", None])
    monkeypatch.setattr(stress, "LOOPS", 0)
    monkeypatch.setattr(stress.tempfile, "mkdtemp", lambda prefix: str(tmp_path))

    def play(command, **_):
        cores.append(os.sched_getaffinity(0))
        outcome = next(played)
        if outcome is not None:
            (report,) = [word.partition("=")[2] for word in command if word.startswith("--junitxml=")]
            Path(report).write_text(REPORT.format(outcome))
        return subprocess.CompletedProcess(command, 0 if outcome == "" else 1, b"its output")

    monkeypatch.setattr(stress.subprocess, "run", play)
    all_cores = os.sched_getaffinity(0)
    assert stress.main(["test_story.py", "--rounds", "2"]) == 1
    printed = capsys.readouterr().out
    assert sorted(re.findall(r"^failed (.+)$", printed, re.MULTILINE)) == [
        "1 of 2 times beside 0 busy loops: test_story::test_is_unlucky",
        "1 of 2 times on one core: (the process ended)",
        "1 of 2 times on one core: test_story::test_is_unlucky",
    ]
    assert cores[:2] == [all_cores] * 2
    assert [len(few) for few in cores[2:]] == [1, 1]
    assert os.sched_getaffinity(0) == all_cores
    assert {path.read_bytes() for path in tmp_path.glob("*.txt")} == {b"its output"}
    assert len(list(tmp_path.glob("*.txt"))) == 3


def test_loops_are_gone_after_the_block():
    before = set(limits.descendants(os.getpid()))
    with stress.busy_loops(1):
        loops = set(limits.descendants(os.getpid())) - before
        assert loops
    assert not loops & set(limits.descendants(os.getpid()))
