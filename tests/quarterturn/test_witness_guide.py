"""The guide to witnesses: every command of it is run, in its order, in a network where its port is free."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "run-a-witness.md"
PATH = {"PATH": f"{Path(sys.prefix) / 'bin'}{os.pathsep}{os.environ['PATH']}"}

pytestmark = [pytest.mark.own_network, pytest.mark.slow]


def blocks(kind: str) -> list[str]:
    found = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    return [text for name, text in found if name == kind]


def said(command: str, folder: Path) -> str:
    words = shlex.split(command)
    done = subprocess.run(words, cwd=folder, env=os.environ | PATH, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout[-500:]}\n{done.stderr[-500:]}"
    return done.stdout


@contextmanager
def serving(command: str, folder: Path) -> Iterator[None]:
    words, pipe = shlex.split(command), subprocess.PIPE
    with subprocess.Popen(words, cwd=folder, env=os.environ | PATH, stderr=pipe, text=True) as server:
        try:
            assert server.stderr
            assert server.stderr.readline() == "witnessing at http://127.0.0.1:8703\n"
            yield
        finally:
            server.send_signal(signal.SIGTERM)


def test_the_guide_to_witnesses_works_line_by_line(stocked: Path) -> None:
    folder = stocked.parent
    shutil.copy(stocked / "public" / "log.vkey", folder / "log.vkey")
    key, serve, work, audit = blocks("")
    (policy,), (table,) = blocks("text"), blocks("toml")
    vkey = said(key, folder).strip()
    (stocked / "policy").write_text(policy.replace("VKEY", vkey))
    settings = stocked / "quarterturn.toml"
    assert '[ledger]\npolicy = ""\n' in settings.read_text()
    settings.write_text(settings.read_text().replace('[ledger]\npolicy = ""\n', table))
    turn, checkpoint, proof = work.splitlines()
    with serving(serve, folder):
        said(turn, folder)
        assert "\u2014 witness.example/one " in said(checkpoint, folder)
        assert "Cosigned by one: order and time are their word too." in said(proof, folder)
        said(turn, folder)  # a month later
    assert "these witnesses together: one." in said(audit, folder)
    assert len(list((folder / "witnessed").glob("*[0-9a-f]"))) == 1
