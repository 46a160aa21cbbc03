"""The guide to the keys: every command of it is run, in its order, with a token and with people of the test's own."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from quarterturn.cli.secrets import NEXT_PASSPHRASE, PASSPHRASE, PIN

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "keep-the-keys.md"

pytestmark = pytest.mark.slow


def commands() -> list[str]:
    blocks = re.findall(r"^```\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    return [line for block in blocks for line in block.splitlines()]


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """A folder with three people's SSH keys and a place for tokens."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for name in ("ada", "bob", "cyd"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / name], check=True)
    (tmp_path / "tokens").mkdir()
    (tmp_path / "softhsm").write_text(f"directories.tokendir = {tmp_path}/tokens\nobjectstore.backend = file\n")
    monkeypatch.setenv("SOFTHSM2_CONF", str(tmp_path / "softhsm"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_guide_to_the_keys_works_line_by_line(desk, say, monkeypatch):
    present, following = "test-first", "test-next"
    assert len(commands()) == 15
    for command in commands():
        words = shlex.split(command)
        if words[0] != "quarterturn":
            done = subprocess.run(words, capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"{command}\n{done.stderr}"
            continue
        if words[1:4] == ["keys", "remove", "passphrase"]:
            present, following = following, "test-of-bob"
        for name, value in ((PASSPHRASE, present), (NEXT_PASSPHRASE, following), (PIN, "test-pin")):
            monkeypatch.setenv(name, value)
        said = say(*words[1:])
        assert said.code == 0, f"{command}\n{said.err}"
        assert "remove" not in words or "fresh one" in said.out
        locks = "the key ring opens with next or pkcs11 or custodians or passphrase or command"
        assert "doctor" not in words or locks in said.out

    for secret in ({PASSPHRASE: "test-of-bob"}, {PASSPHRASE: "test-next"}, {PIN: "test-pin"}, {}):
        for name, value in secret.items():
            monkeypatch.setenv(name, value)
        assert say("task", "list", "--home", "home").code == 0
