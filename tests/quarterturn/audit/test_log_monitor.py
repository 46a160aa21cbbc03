"""Tests of `log monitor`: it follows a log in a folder or on a web server, and exits with 1 on a fault."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from vault.ledger.signatures.note import Signer
from vault.ledger.statements import leaf
from vault.ledger.write.append import LogWriter

from ..loopback import Request, serving

pytestmark = pytest.mark.slow

LOG = Signer("bench.example/log", Ed25519PrivateKey.from_private_bytes(bytes(range(32))))
TASKS = [f"t-{letter * 16}" for letter in "abcd"]
LEAVES = [leaf.commit(task, bytes([n] * 32), spec="1.0.0", provenance=bytes(32), public_grammar=False)
          for n, task in enumerate(TASKS)]  # fmt: skip


@pytest.fixture
def writer(tmp_path: Path) -> LogWriter:
    made = LogWriter(tmp_path / "log", tmp_path / "head" / "signed", LOG, LOG.name)
    made.append(LEAVES[:2], 0)
    return made


@pytest.fixture
def served(writer: LogWriter) -> Iterator[str]:
    def reply(request: Request) -> None:
        file = writer.folder / request.path.removeprefix("/")
        request.answer(*(200, file.read_bytes()) if file.is_file() else (404,))

    with serving(reply) as url:
        yield url


@pytest.fixture
def monitor(say, tmp_path):
    (tmp_path / "log.vkey").write_text(LOG.verifier.vkey)

    def given(source, *options):
        return say("log", "monitor", source, "--key", tmp_path / "log.vkey", "--state", tmp_path / "kept", *options)

    return given


@pytest.mark.parametrize("how", ["folder", "served"])
def test_a_log_is_followed_as_it_grows(how, monitor, writer, served, tmp_path) -> None:
    source = writer.folder if how == "folder" else served
    first = monitor(source)
    assert (first.code, first.out.strip()) == (0, "2 leaves, all promises kept")
    writer.append(LEAVES[2:], 2)
    assert monitor(source, "--json").data == {"size": 4, "alarms": [], "news": []}
    assert json.loads((tmp_path / "kept").read_text())["head"] == writer.note()


def test_another_history_is_a_no_and_what_was_kept_stays(monitor, writer, tmp_path) -> None:
    monitor(writer.folder)
    kept = (tmp_path / "kept").read_bytes()
    other = LogWriter(tmp_path / "other", tmp_path / "hidden" / "signed", LOG, LOG.name)
    other.append(LEAVES[1:], 0)
    said = monitor(tmp_path / "other")
    assert said.code == 1
    assert "there are two histories" in said.out
    assert said.out.count(LOG.name) >= 2
    assert (tmp_path / "kept").read_bytes() == kept
    evidence = monitor(tmp_path / "other", "--json").data["evidence"]
    assert evidence["expected"] != evidence["found"]
    assert [f"    expected {evidence['expected']}", f"    found {evidence['found']}"] == said.out.splitlines()[-3:-1]


def test_a_log_that_was_followed_and_is_gone_is_a_no(monitor, writer, tmp_path) -> None:
    assert monitor(tmp_path / "nothing").code == 3, "at the first look it is a place that was never a log"
    assert monitor(writer.folder).code == 0
    said = monitor(tmp_path / "nothing")
    assert said.code == 1
    assert "cannot be read" in said.out
    assert said.out.splitlines()[1:] == ["    at checkpoint"]
    assert monitor(tmp_path / "nothing", "--json").data == {
        "size": None,
        "alarms": [said.out.splitlines()[0]],
        "news": [],
        "evidence": {"where": "checkpoint", "expected": None, "found": None},
    }


def test_a_server_that_is_not_there_is_unavailable(monitor) -> None:
    said = monitor("http://127.0.0.1:1")
    assert said.code == 6
    assert "cannot be reached" in said.err


def test_a_file_that_is_no_state_is_malformed(monitor, writer, tmp_path) -> None:
    (tmp_path / "kept").write_text("{}")
    said = monitor(writer.folder)
    assert said.code == 2
    assert "--state" in said.err
