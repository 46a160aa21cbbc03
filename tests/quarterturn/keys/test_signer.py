"""Tests of where the log's key is: in no process that serves, works or only reads, and in the signer alone."""

import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from quarterturn.app import Application
from quarterturn.home.paths import HomePaths
from quarterturn.settings import LedgerSettings
from vault.keys import signing
from vault.keys.ring import FileKeyRing
from vault.ledger.signatures.note import open_note

from ...patience import until
from ...sandbox.processes import below, command_line, holds
from ..conftest import configure

QUARTERTURN = Path(sys.prefix) / "bin" / "quarterturn"
SIGNER = "vault.signer.process"
READING = (
    ("log", "checkpoint"),
    ("log", "proof", "0"),
    ("log", "fsck"),
    ("leaderboard",),
    ("task", "list"),
    ("turn", "plan"),
    ("watch", "exposure"),
)
APPENDS = """
import sys
from pathlib import Path
from quarterturn.app import Application
from vault.core_dumps import disable_core_dumps
from vault.ledger.statements import leaf

app = Application(Path(sys.argv[1]), None)
app.log.start_signer()
app.log.ledger.record("commit/t-later", leaf.commit("t-wwwwwwwwwwwwwwww", bytes(32), spec="1.0.0",
                      provenance=bytes(32), public_grammar=False))
print(app.log.ledger.publish().size, flush=True)
sys.stdin.read()
app.close()
"""
"""Appends through a signer as the service does, and waits."""


def key_of(home: Path) -> bytes:
    places = HomePaths(home)
    return signing.load(places.log_key, FileKeyRing.open(places.ring, None)).private_bytes_raw()


def require_key_in_the_signer_alone(process: subprocess.Popen[bytes], key: bytes) -> None:
    signers = [pid for pid, words in below(process.pid).items() if SIGNER in words]
    assert len(signers) == 1
    others = {process.pid, *below(process.pid)} - set(signers)
    assert holds(signers[0], key) == [key]
    assert [pid for pid in others if holds(pid, key)] == []


@contextmanager
def started(*words: object) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(list(map(str, words)), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.slow
@pytest.mark.needs("root")
@pytest.mark.parametrize("verb", [("serve", "--port", "0", "--workers", "1"), ("worker",)])
def test_the_memory_of_a_service_and_of_a_worker_has_no_log_key(live: Path, verb: tuple[str, ...]) -> None:
    key = key_of(live)
    with started(QUARTERTURN, *verb, "--home", live) as process:
        until(lambda: any(SIGNER in words for words in below(process.pid).values()), "its signer")
        signer = next(pid for pid, words in below(process.pid).items() if SIGNER in words)
        until(lambda: holds(signer, key) == [key], "the key in the signer's memory")
        require_key_in_the_signer_alone(process, key)
        process.send_signal(signal.SIGTERM)
        process.wait()
        until(lambda: not Path(f"/proc/{signer}").exists(), "the signer's end")


@pytest.mark.slow
@pytest.mark.needs("root")
def test_nor_has_it_after_it_has_appended(live: Path) -> None:
    key, words = key_of(live), (sys.executable, "-c", APPENDS, live)
    with started(*words) as process:
        assert process.stdout is not None
        size = int(process.stdout.readline())
        require_key_in_the_signer_alone(process, key)
    with closing(Application(live, None)) as app:
        assert (app.log.writer.size, app.log.writer.fsck()) == (size, [])
        app.log.ledger.verify()


def test_a_verb_that_only_reads_does_without_the_key_and_one_that_appends_says_what_is_missing(
    live: Path, say: Callable
) -> None:
    (live / "keys" / "log.key").rename(live / "away")
    for words in READING:
        assert say(*words, "--home", live).code == 0, words
    (live / "keys" / "ring.json").rename(live / "ring")
    for words in READING[:3]:
        assert say(*words, "--home", live).code == 0, "the log is read without any key"
    (live / "ring").rename(live / "keys" / "ring.json")
    say("turn", "run", "--early", "--home", live).refuses(7, "signing key", "log.key")


@contextmanager
def signing_apart(folder: Path) -> Iterator[None]:
    (folder / "signer.sock").unlink(missing_ok=True)
    with started(QUARTERTURN, "signer", folder) as process:
        until((folder / "signer.sock").exists, "the signer's socket")
        assert SIGNER in command_line(process.pid)
        yield


@pytest.mark.slow
def test_a_key_that_was_moved_to_a_signer_signs_there_alone_and_can_be_changed_again(
    live: Path, say: Callable, tmp_path: Path
) -> None:
    folder, old = tmp_path / "signer", key_of(live)
    moved = say("log", "change-key", "--signer", folder, "--as", "ada", "--home", live, "--json")
    assert moved.code == 0, moved.err
    (folder / "public").symlink_to(live / "public")
    configure(live, ledger=LedgerSettings(signer=str(folder)))
    assert not (live / "keys" / "log.key").exists()
    assert (folder / "keys").stat().st_mode & 0o777 == 0o700
    assert say("log", "fsck", "--home", live).code == 0
    say("turn", "run", "--early", "--home", live).refuses(6, "does not listen at", str(folder / "signer.sock"))
    with signing_apart(folder):
        assert stat.S_IMODE((folder / "signer.sock").stat().st_mode) == 0o660
        assert say("turn", "run", "--early", "--home", live).code == 0
        again = say("log", "change-key", "--as", "ada", "--home", live, "--json")
        assert again.code == 0, again.err
    with signing_apart(folder), closing(Application(live, None)) as app:
        assert app.log.ledger.publish().size == app.log.ledger.size
        assert list(open_note(app.log.writer.note(), app.log.writer.verifiers).verified) == [again.data["vkey"]]
        assert (app.log.writer.fsck(), key_of(folder) == old) == ([], False)
    assert say("log", "fsck", "--home", live).code == 0
    assert (live / "public" / "log.vkey").read_text().splitlines()[1:] == [moved.data["vkey"], again.data["vkey"]]
