"""Tests of the signer: the process takes statements alone, survives its end in any append, and imports little."""

import hashlib
import itertools
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from vault.errors import Malformed, Refused, Unavailable
from vault.keys import signing
from vault.ledger.signatures.note import Signer, open_note
from vault.ledger.statements import leaf
from vault.ledger.write.append import LogWriter
from vault.ledger.write.log_files import LogFiles
from vault.signer import client, messages
from vault.signer.client import SignerClient, SignerStarter
from vault.signer.messages import Append, read_request
from vault.signer.process import StatementSigner, serve

from ..builders import ORIGIN

KEY = Ed25519PrivateKey.generate()
VERIFIER = Signer(ORIGIN, KEY).verifier
CLOSED = {"do": "put-under", "note": "", "lines": ""}
KILLED_AT_A_RENAME = """
import os, sys
from pathlib import Path
from vault.signer.process import main

number, marker = int(sys.argv[1]), Path(sys.argv[2])
rename = os.rename

def rename_or_die(*args, **how):
    global number
    if number == 0 and not marker.exists():
        marker.touch()
        os.kill(os.getpid(), 9)
    number -= 1
    rename(*args, **how)

os.rename = rename_or_die
main()
"""
"""A signer that is killed before one of its renames, once."""


def commits(start: int, end: int) -> list[bytes]:
    fixed = {"spec": "1.0.0", "provenance": bytes(32), "public_grammar": True}
    names = (f"t-{number:016x}".translate(str.maketrans("0189", "wxyz")) for number in range(start, end))
    return [leaf.commit(name, hashlib.sha256(name.encode()).digest(), **fixed) for name in names]


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    return tmp_path / "public" / "log", tmp_path / "head" / "signed"


@pytest.fixture
def connect(places) -> Iterator[Callable[..., socket.socket]]:
    """Yield what connects to a signer that runs in a thread."""
    signer, threads = StatementSigner(LogWriter(*places, Signer(ORIGIN, KEY), ORIGIN)), []

    def connection(*_log: LogFiles) -> socket.socket:
        ours, theirs = socket.socketpair()
        threads.append(threading.Thread(target=serve, args=(theirs, signer)))
        threads[-1].start()
        return ours

    yield connection
    for thread in threads:
        thread.join()


@pytest.fixture
def log(places, connect) -> Iterator[SignerClient]:
    """Yield a log that a signer in a thread appends to."""
    with closing(SignerClient(*places, ORIGIN, [VERIFIER], connect)) as log:
        yield log


@pytest.fixture
def starter(tmp_path: Path, ring) -> Iterator[SignerStarter]:
    signing.store(tmp_path / "log.key", KEY, ring)
    with closing(SignerStarter(tmp_path / "log.key", ring)) as starter:
        yield starter


@pytest.fixture
def apart(places, starter) -> Iterator[SignerClient]:
    """Yield a log that is signed by a process, which its first use starts."""
    with closing(SignerClient(*places, ORIGIN, [VERIFIER], starter.connect)) as log:
        yield log


@pytest.fixture
def raw(connect) -> Iterator[socket.socket]:
    with connect() as connection:
        yield connection


def test_it_appends_signs_and_publishes(apart):
    head = apart.append(commits(0, 3), 0)
    assert (head.size, apart.size, apart.fsck()) == (3, 3, [])
    assert apart.append(commits(0, 300), 0).size == 300
    assert list(apart.leaves(250, 290)) == commits(250, 290)
    assert open_note(apart.note(), [VERIFIER]).verified


@pytest.mark.parametrize(
    "leaves",
    [
        pytest.param([b"{}"], id="no statement"),
        pytest.param([b"a line of a transcript"], id="text"),
        pytest.param([b"\xff"], id="no text"),
        pytest.param(commits(0, 1), id="twice"),
        pytest.param([*commits(7, 8), *commits(7, 8)], id="twice in one request"),
    ],
)
def test_what_an_audit_would_refuse_is_not_signed(log, leaves):
    log.append(commits(0, 2), 0)
    with pytest.raises((Refused, Malformed)):
        log.append(leaves, 2)
    assert log.size == 2
    assert log.append(commits(2, 4), 2).size == 4, "it goes on"


def test_leaves_that_contradict_the_log_or_leave_a_gap_are_refused(log):
    log.append(commits(0, 3), 0)
    for leaves, start, why in (
        (commits(4, 6), 2, "signed already with other bytes"),
        (commits(4, 5), 4, "leave a gap"),
    ):
        with pytest.raises(Refused, match=why):
            log.append(leaves, start)
    assert log.size == 3


@pytest.mark.parametrize(
    "message",
    [
        {},
        {"do": "sign", "text": "anything"},
        {"do": "append", "start": 0},
        {"do": "append", "start": -1, "leaves": []},
        {"do": "append", "start": True, "leaves": []},
        {"do": "append", "start": 0, "leaves": [7]},
        {"do": "append", "start": 0, "leaves": [], "force": True},
        CLOSED | {"key": "x"},
    ],
)
def test_a_request_that_is_not_of_the_list_gets_one_sentence_and_signs_nothing(raw, places, message):
    messages.send(raw, message)
    reply = messages.receive(raw)
    assert (reply["error"], "neither" in reply["sentence"]) == ("Malformed", True)
    assert not places[1].exists()
    messages.send(raw, Append(0, commits(0, 1)).to_json())
    assert "checkpoint" in messages.receive(raw), "it goes on"


@pytest.mark.parametrize(
    "data",
    [
        b"\x00\x00\x00\x02[]",
        b"\x00\x00\x00\x04null",
        b'\x00\x00\x00\x09{ "do":1}',
        (messages.MAX_MESSAGE_BYTES + 1).to_bytes(4, "big"),
    ],
)
def test_what_is_no_message_ends_the_connection(raw, places, data):
    raw.sendall(data)
    assert messages.receive(raw)["error"] == "Malformed"
    assert messages.receive(raw) is None
    assert not places[1].exists()


def test_lines_that_are_no_signatures_are_not_put_under_a_head(log):
    log.append(commits(0, 1), 0)
    note = log.note()
    for lines in ("a word\n", "\nother text\n\n", "\u2014 name !\n"):
        with pytest.raises(Malformed):
            log.put_under(note, lines)
    assert (log.folder / "checkpoint").read_text() == note


@pytest.mark.slow
def test_killed_at_any_rename_of_an_append_nothing_is_lost_and_nothing_is_there_twice(apart, tmp_path, monkeypatch):
    written = 0
    for number in itertools.count():
        marker = tmp_path / f"killed-{number}"
        program = (sys.executable, "-I", "-c", KILLED_AT_A_RENAME, str(number), str(marker))
        monkeypatch.setattr(client, "PROGRAM", program)
        apart.close()
        written += 3
        assert apart.append(commits(0, written), 0).size == written
        assert (list(apart.leaves(0, written)), apart.fsck()) == (commits(0, written), [])
        if not marker.exists():
            break
    assert number >= 5, "tiles, entries, the head, its copy, the checkpoint"


def test_a_signer_that_ended_is_started_again_and_one_that_cannot_be_is_an_outage(apart, starter, monkeypatch):
    apart.append(commits(0, 1), 0)
    first = starter._process
    first.kill()
    first.wait()
    assert apart.append(commits(0, 2), 0).size == 2
    starter._process.kill()
    monkeypatch.setattr(client, "PROGRAM", (sys.executable, "-c", ""))
    with pytest.raises(Unavailable, match="nothing is lost, call again"):
        apart.append(commits(0, 3), 0)


def test_it_refuses_a_log_that_is_not_what_was_signed_in_the_same_words(apart):
    apart.append(commits(0, 2), 0)
    apart.close()
    (apart.folder / "tile" / "0" / "000.p" / "2").unlink()
    with pytest.raises(Refused, match="do not reach there"):
        apart.append([], 0)


def test_more_than_one_message_holds_is_sent_in_parts(log, monkeypatch):
    leaves = commits(0, 9)
    monkeypatch.setattr(client, "MAX_BATCH_BYTES", 4 * len(leaves[0]))
    assert log.append(leaves, 0).size == 9
    assert sorted(int(path.name) for path in (log.folder / "checkpoints").iterdir()) == [4, 8, 9]


def test_a_request_is_read_as_it_was_written():
    request = Append(3, commits(0, 2))
    assert read_request(request.to_json()) == request


def test_it_imports_the_ledger_and_two_packages():
    program = "import sys, json, vault.signer.process; print(json.dumps(sorted(sys.modules)))"
    run = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True)
    names = [name for name in json.loads(run.stdout) if name.partition(".")[0] not in sys.stdlib_module_names]
    top = {name.partition(".")[0] for name in names} - {"__editable___quarterturn_finder"}
    assert {name for name in top if not name.startswith("_")} == {"vault", "cryptography", "rfc8785"}
    ours = {".".join(name.split(".")[1:3]) for name in names if name.startswith("vault.")}
    assert ours == {
        *("canonical", "commitment", "core_dumps", "errors", "file_lock", "files"),
        *("keys", "keys.private_files", "keys.seal", "keys.signing"),
        *("ledger", "ledger.signatures", "ledger.statements", "ledger.tree", "ledger.write"),
        *("signer", "signer.messages", "signer.process"),
    }
