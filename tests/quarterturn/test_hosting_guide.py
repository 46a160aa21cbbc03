"""The guide to hosting: every command of it is run, in its order, in a network where its ports are free."""

from __future__ import annotations

import os
import re
import shlex
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "host-an-endpoint.md"

pytestmark = [pytest.mark.own_network, pytest.mark.box, pytest.mark.slow]


def run(command: str, folder: Path) -> subprocess.Popen[str]:
    path = f"{Path(sys.prefix) / 'bin'}{os.pathsep}{os.environ['PATH']}"
    words, pipe = shlex.split(command), subprocess.PIPE
    return subprocess.Popen(
        words, cwd=folder, env=os.environ | {"PATH": path}, stdout=pipe, stderr=subprocess.STDOUT, text=True
    )


def finished(command: str, folder: Path) -> str:
    with run(command, folder) as process:
        said, _ = process.communicate(timeout=3600)
    assert process.returncode == 0, f"{command}\n{said[-1000:]}"
    return said


def wait_until_heard(port: int) -> None:
    for _ in range(6000):
        with socket.socket() as attempt:
            if attempt.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    pytest.fail(f"nobody listens on {port}")


def test_the_guide_to_hosting_works_line_by_line(tmp_path):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / ".venv").symlink_to(sys.prefix)
    commands = re.findall(r"^```\n(.*)\n```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    init, serve, play = commands
    finished(init, tmp_path)
    with run(serve, tmp_path) as server:
        try:
            wait_until_heard(9000)
            said = finished(play, tmp_path)
        finally:
            server.terminate()
    passed = re.search(r"(\d+) of 12 passed", said)
    assert passed, said[-1000:]
    assert int(passed[1]) > 0  # the hosted agent called real tools
    assert "the dev set: 12 of 12" in said
