"""Tests of what the programs of all backends share: exit statuses, readiness, and an orderly end on SIGTERM."""

import signal
import subprocess
import sys

import pytest

from sandbox.kinds.common.backend import program
from sandbox.kinds.common.state_kind import FOLDERS, ROOT

KEEPER = """
import subprocess, sys
sys.path.insert(0, sys.argv[1])
from sandbox.kinds.common.backend.program import run, serve, stop
def keep():
    process = subprocess.Popen([sys.executable, "-c", sys.argv[2]])
    try:
        serve(process)
    finally:
        stop(process)
        print("stopped", flush=True)
def fail():
    raise ValueError("a private text")
sys.exit(run({"keep": keep, "fail": fail}, sys.argv[3:]))
"""
SLOW_TO_END = r"""
import os, signal, sys, time
def end(*_):
    os.write(1, b"ending\n")  # print may still be at work on "started", and is not reentrant
    time.sleep(0.5)
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
print("started", flush=True)
time.sleep(600)
"""


def start(child, *words):
    command = [sys.executable, "-I", "-S", "-c", KEEPER, str(ROOT), child, *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize(("words", "status"), [((), 2), (("toast",), 2), (("fail",), 1), (("keep", "more"), 1)])
def test_a_command_line_without_a_result_has_an_exit_status_that_says_so(words, status):
    with start("", *words) as process:
        assert (process.wait(), process.stdout.read()) == (status, "")


def test_a_failure_is_named_by_its_class_alone():
    with start("", "fail") as process:
        assert process.communicate() == ("", "ValueError\n")


def test_a_process_that_ends_by_itself_with_an_error_is_a_failure():
    with start("raise SystemExit(3)", "keep") as process:
        assert process.communicate() == ("ready\nstopped\n", "BackendFailed\n")
        assert process.returncode == 1


def test_sigterm_stops_the_process_and_a_second_one_does_not_interrupt_that():
    with start(SLOW_TO_END, "keep") as process:
        assert {process.stdout.readline(), process.stdout.readline()} == {"ready\n", "started\n"}
        process.terminate()
        assert process.stdout.readline() == "ending\n"
        process.terminate()
        assert process.communicate() == ("stopped\n", "")
        assert process.returncode == 0


def test_a_process_that_does_not_end_is_forced(monkeypatch):
    monkeypatch.setattr(program, "STOP_SECONDS", 0.1)
    deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint(1, flush=True)\ntime.sleep(600)"
    with subprocess.Popen([sys.executable, "-c", deaf], stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"1\n"
        with pytest.raises(subprocess.TimeoutExpired):
            program.stop(process, force=signal.SIGTERM)
        program.stop(process)
        assert process.returncode == -signal.SIGKILL


def test_a_process_that_ends_or_takes_too_long_does_not_come_up():
    with subprocess.Popen(["true"]) as process, pytest.raises(program.BackendFailed, match="did not come up"):
        program.await_up(process, lambda: False)
    with subprocess.Popen(["sleep", "600"]) as process:
        program.await_up(process, lambda: True, 0)
        with pytest.raises(program.BackendFailed, match="did not come up"):
            program.await_up(process, lambda: False, 0.02)
        program.stop(process)
        assert process.returncode == -signal.SIGTERM


def test_the_first_program_that_is_installed_is_taken():
    assert program.installed(("no-such-program", "true")).endswith("/true")
    with pytest.raises(program.BackendFailed, match="none of no-such-program is installed"):
        program.installed(("no-such-program",))


PROGRAMS = sorted({*FOLDERS.glob("*/backend/service.py"), *FOLDERS.glob("*/backend/cluster.py")})


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.parts[-3])
def test_every_program_starts_from_its_path_alone(path):
    done = subprocess.run([sys.executable, "-I", "-S", path, "toast"], capture_output=True, cwd="/", check=False)
    assert (done.returncode, done.stdout, done.stderr) == (2, b"", b"")
