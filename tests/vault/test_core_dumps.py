"""Tests that no process, and none that it starts, leaves a core file."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

PR_GET_DUMPABLE = 3  # linux/prctl.h

SAYS = """
import ctypes, resource, subprocess, sys
from vault.core_dumps import disable_core_dumps
{first}
print(ctypes.CDLL(None).prctl({option}, 0, 0, 0, 0), *resource.getrlimit(resource.RLIMIT_CORE))
sys.stdout.flush()
subprocess.run(["sh", "-c", "ulimit -S -c; ulimit -H -c"], check=True)
"""

DIES = """
import os, resource, signal
from vault.core_dumps import disable_core_dumps
resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2)
secret = "-".join(["amaranthine", "zephyr", "core"])
{first}
os.kill(os.getpid(), signal.SIGSEGV)
"""


def python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_no_core_is_allowed_and_nobody_of_the_same_user_may_look_in():
    said = python(SAYS.format(first="disable_core_dumps(); disable_core_dumps()", option=PR_GET_DUMPABLE))
    assert said.stdout.split() == ["0", "0", "0", "0", "0"], said.stderr


def test_without_it_the_process_would_be_dumpable():
    assert python(SAYS.format(first="", option=PR_GET_DUMPABLE)).stdout.split()[0] == "1"


@pytest.mark.parametrize("first", ["disable_core_dumps()", ""], ids=["with it", "the control"])
def test_a_process_that_crashes_leaves_a_core_only_without_it(first, tmp_path):
    """The kernel's exit status says whether it made one."""
    process = subprocess.Popen([sys.executable, "-c", DIES.format(first=first)], cwd=tmp_path)
    _, status = os.waitpid(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert os.WIFSIGNALED(status)
    assert os.WCOREDUMP(status) == (first == "")


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
