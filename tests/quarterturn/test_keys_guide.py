"""Runs the guide to keys: every command, in its order, with a token and SSH keys of the test's own."""

from __future__ import annotations

import shlex

import pytest

from quarterturn.cli.terminal.secrets import NEXT_PASSPHRASE, PASSPHRASE, PIN

from ..ssh_keys import make_ssh_key
from .guides import GuideShell, commands

PAGE = "keep-the-keys.md"

pytestmark = [pytest.mark.slow, pytest.mark.needs("softhsm", "age")]


@pytest.fixture
def shell(tmp_path, say, monkeypatch):
    """Give a shell with three people's SSH keys and a folder for tokens."""
    for name in ("ada", "bob", "cyd"):
        make_ssh_key(tmp_path / name)
    (tmp_path / "tokens").mkdir()
    (tmp_path / "softhsm").write_text(f"directories.tokendir = {tmp_path}/tokens\nobjectstore.backend = file\n")
    monkeypatch.setenv("SOFTHSM2_CONF", str(tmp_path / "softhsm"))
    monkeypatch.setenv("HOME", str(tmp_path))
    return GuideShell(tmp_path, say, monkeypatch)


def test_the_guide_to_the_keys_works_line_by_line(shell, say, monkeypatch):
    present, following = "test-first", "test-next"
    assert len(commands(PAGE)) == 15
    for command in commands(PAGE):
        words = shlex.split(command)
        if words[1:4] == ["keys", "remove", "passphrase"]:
            present, following = following, "test-of-bob"
        for name, value in ((PASSPHRASE, present), (NEXT_PASSPHRASE, following), (PIN, "test-pin")):
            monkeypatch.setenv(name, value)
        said = shell.type(command)
        assert "remove" not in words or "fresh one" in said
        locks = "the key ring opens with next or pkcs11 or custodians or passphrase or command"
        assert "doctor" not in words or locks in said

    for secret in ({PASSPHRASE: "test-of-bob"}, {PASSPHRASE: "test-next"}, {PIN: "test-pin"}, {}):
        for name, value in secret.items():
            monkeypatch.setenv(name, value)
        assert say("task", "list", "--home", "home").code == 0
