"""Tests that no process, and none that it starts, leaves a core file."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

SAYS = """
import ctypes, resource, subprocess, sys
from vault.core_dumps import disable_core_dumps
disable_core_dumps()
disable_core_dumps()
print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0), *resource.getrlimit(resource.RLIMIT_CORE))  # PR_GET_DUMPABLE
sys.stdout.flush()
subprocess.run(["sh", "-c", "ulimit -S -c; ulimit -H -c"], check=True)
"""


def python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_no_core_is_allowed_and_nobody_of_the_same_user_may_look_in():
    said = python(SAYS)
    assert said.stdout.split() == ["0", "0", "0", "0", "0"], said.stderr


def test_the_command_line_closes_itself_before_it_takes_a_passphrase():
    code = """
import ctypes, os
from quarterturn.cli.terminal import secrets
seen = []
real = secrets._taken
secrets._taken = lambda name: (seen.append(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0)), real(name))[1]
from quarterturn.cli import run
run(["task", "list", "--home", "/nowhere"])
print(set(seen))
"""
    assert python(code).stdout.strip() == "{0}"
