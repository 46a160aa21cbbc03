"""The guide to the service: each of its commands is run, in order, from an empty folder."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from quarterturn.wiring import House

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "run-the-service.md"
BLOCK = re.compile(r"^```(\w*)\n(.*?)\n```$", re.MULTILINE | re.DOTALL)
PHRASE = "test-phrase"
EXAMPLE = "postgresql://quarterturn@db.example/quarterturn"

pytestmark = [pytest.mark.box, pytest.mark.slow]


class Desk:
    """A folder in which commands are typed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        path = f"{Path(sys.prefix) / 'bin'}{os.pathsep}{os.environ['PATH']}"
        self.environment = os.environ | {"PATH": path, "QUARTERTURN_PASSPHRASE": PHRASE}

    def run(self, command: str) -> str:
        done = subprocess.run(
            ["bash", "-c", command], cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{command}\n{done.stdout[-500:]}\n{done.stderr[-500:]}"
        return done.stdout

    @contextmanager
    def kept(self, command: str, *until: str) -> Iterator[None]:
        """Keep a command running for the block, once it has said all of this, in whichever order."""
        process = subprocess.Popen(
            ["bash", "-c", f"exec env {command}"],
            cwd=self.folder, env=self.environment, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        alarm = threading.Timer(1800, process.kill)
        alarm.start()
        try:
            missing = set(until)
            while missing:
                line = process.stderr.readline()
                assert line, f"{command} ended before it said {missing}"
                missing -= {words for words in missing if words in line}
            yield
            process.send_signal(signal.SIGTERM)
            process.stderr.read()
        finally:
            process.kill()
            process.wait()
            alarm.cancel()
            process.stderr.close()


def test_the_guide_to_the_service_works_line_by_line(tmp_path, stock, postgres):
    begin, serve, tokens, backup, restore, moved = (
        block for language, block in BLOCK.findall(PAGE.read_text(encoding="utf-8")) if not language
    )
    desk = Desk(tmp_path)
    for command in begin.splitlines():
        said = desk.run(command)
    assert re.search(r"clock +the turn of \d{4}-\d\d is (overdue since|due on) .*. Too few reviewed tasks", said)
    house = House(tmp_path / "home", PHRASE.encode())
    stock(house, 4)
    house.close()
    with desk.kept(serve, "serving", " is done: "):
        token, _, listed = (desk.run(command) for command in tokens.splitlines())
        assert re.fullmatch(r"qt_\w{36}\n", token)
        assert "mara  maintainer: " in listed
        desk.run(backup)
    for command in restore.splitlines():
        desk.run(command)
    assert "24 tasks are live" not in desk.run("quarterturn doctor --home again")
    with postgres.empty() as url:
        put, work = (command.replace(EXAMPLE, url) for command in moved.splitlines())
        assert "is as it was on" in desk.run(put)
        assert not (tmp_path / "moved" / "quarterturn.db").exists()
        with desk.kept(work, "working on"):
            pass
