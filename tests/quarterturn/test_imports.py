"""Tests of what a verb loads: a command that computes nothing answers at once, as its modules are most of its time."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

LOADED = """
import contextlib, io, json, sys
from quarterturn.cli import run
with contextlib.redirect_stdout(io.StringIO()):
    code = run(sys.argv[1:])
loaded = [name for name in sys.modules if name.partition(".")[0] not in sys.stdlib_module_names]
print(json.dumps([code, loaded]))
"""
LIBRARIES = {"cel", "httpx2", "mcp", "numpy", "prompt_toolkit", "rich"}


MOST = {  # modules outside of the standard library, which has others in each version of Python
    "--version": 95,
    "--help": 150,
    "leaderboard --help": 150,
    "server list": 310,
    "turn status --home": 465,
    "turn plan --home": 525,
    "leaderboard --home": 525,
}
SAMPLED_BY_OTHERS = ("leaderboard --help", "turn status --home", "turn plan --home")


@pytest.mark.slow
@pytest.mark.parametrize(
    "verb", [pytest.param(verb, marks=[pytest.mark.full] * (verb in SAMPLED_BY_OTHERS)) for verb in MOST]
)
def test_a_verb_loads_no_more_modules_than_it_needs(verb, live):
    words = [*verb.split(), *([live] if verb.endswith("--home") else [])]
    done = subprocess.run([sys.executable, "-c", LOADED, *words], capture_output=True, text=True, check=True)
    code, loaded = json.loads(done.stdout)
    assert code == 0, done.stderr
    assert len(loaded) <= MOST[verb]
    assert not [name for name in loaded if name.startswith("quarterturn_")], "an extra is loaded by its own verbs alone"
    assert ("sqlalchemy" in loaded) == (live in words)
    assert not LIBRARIES & set(loaded)
