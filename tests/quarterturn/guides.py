"""Runs the how-to guides: the blocks of a page, and its commands as a reader types them.

A command of ours that ends is played in this process. One that stays is a process, as is every other program.
"""

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

import pytest

from ..patience import PATIENCE
from .conftest import Say

ROOT = Path(__file__).parents[2]
HOW_TO = ROOT / "docs" / "how-to"


def blocks(page: str, language: str = "") -> list[str]:
    """Return the code blocks of a guide in a language; commands stand in blocks without a language."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", (HOW_TO / page).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    return [text for name, text in found if name == language]


def commands(page: str) -> list[str]:
    return [line for block in blocks(page) for line in block.splitlines()]


class GuideShell:
    """A folder in which a guide's commands are run, with the examples and programs that guides use.

    Args:
        folder: the folder; what was there stays.
        say: plays a command of ours in this process.
        monkeypatch: changes what commands see of this process.
        secrets: what is put into the environment for each command, for a command of ours takes it out again.
    """

    def __init__(
        self, folder: Path, say: Say, monkeypatch: pytest.MonkeyPatch, secrets: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        self.folder, self._say, self._patch, self._secrets = folder, say, monkeypatch, secrets
        monkeypatch.chdir(folder)
        monkeypatch.setenv("PATH", f"{Path(sys.prefix) / 'bin'}{os.pathsep}{os.environ['PATH']}")
        (folder / "examples").symlink_to(ROOT / "examples")
        (folder / ".venv").symlink_to(sys.prefix)

    def type(self, command: str, code: int = 0) -> str:
        """Run one command, require its exit code, and give its output."""
        words = shlex.split(command)
        with self._patch.context() as patched:
            for name, value in self._secrets.items():
                patched.setenv(name, value)
            while re.match(r"[A-Z_]+=", words[0]):
                patched.setenv(*words.pop(0).split("=", 1))
            if words[0] == "quarterturn":
                said = self._say(*words[1:])
                found, text = said.code, said.out + said.err
            else:
                done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
                found, text = done.returncode, done.stdout + done.stderr
        assert found == code, f"{command}\n{text[-1000:]}"
        return text

    @contextmanager
    def kept(self, command: str, *says: str) -> Iterator[None]:
        """Keep a command running for the block, once its standard error has shown all these texts."""
        environment = os.environ | self._secrets
        words = ["bash", "-c", f"exec env {command}"]
        process = subprocess.Popen(words, stderr=subprocess.PIPE, env=environment, text=True)
        assert process.stderr is not None
        alarm = threading.Timer(PATIENCE, process.kill)
        alarm.start()
        try:
            missing, said = set(says), ""
            while missing:
                line = process.stderr.readline()
                assert line, f"{command} ended before it said {missing}: {said}"
                said += line
                missing -= {words for words in missing if words in line}
            alarm.cancel()
            yield
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=PATIENCE)
        finally:
            alarm.cancel()
            process.kill()
            process.wait(PATIENCE)
            process.stderr.close()


def heard_at(port: int) -> bool:
    with socket.socket() as attempt:
        return attempt.connect_ex(("127.0.0.1", port)) == 0
