"""Tests of the verbs on key locks: added, removed, split, restored, and each change in the access log."""

import getpass
import io
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pyrage
import pytest

from quarterturn.cli.setup import doctor_checks
from quarterturn.cli.setup.keys import SHUT
from quarterturn.cli.terminal.secrets import NEXT_PASSPHRASE, PASSPHRASE, PIN
from quarterturn.home.paths import HomePaths
from vault.keys.locks.command import NewCommand
from vault.keys.locks.custodians import decrypted
from vault.keys.locks.passphrase import Cost, Passphrase
from vault.keys.ring import FileKeyRing

pytestmark = pytest.mark.slow

CHEAP = Cost(memory=8 * 1024, iterations=1, lanes=1)
KMS = Path(__file__).parents[3] / "examples" / "kms" / "local.py"
WORD, NEXT = "test-correct horse", "test-another horse"


@pytest.fixture
def locked(home, tmp_path):
    """Return a home that a passphrase opens, beside an unlocked one."""
    folder = shutil.copytree(home, tmp_path / "locked")
    FileKeyRing.open(HomePaths(folder).ring, None).add_lock(Passphrase(WORD.encode(), CHEAP))
    return folder


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    folder = tmp_path_factory.mktemp("people")
    for name in ("ada", "bob"):
        identity = pyrage.x25519.Identity.generate()
        (folder / f"{name}.pub").write_text(f"{identity.to_public()}\n")
        (folder / name).touch(0o600)
        (folder / name).write_text(f"{identity}\n")
    return folder


@pytest.fixture
def keys(locked, say, monkeypatch):
    """Run `quarterturn keys ...` on the home, with these secrets in the environment."""

    def saying(*words, given=WORD, following=None, **more):
        for name, value in ((PASSPHRASE, given), (NEXT_PASSPHRASE, following), *more.items()):
            if value is not None:
                monkeypatch.setenv(name, value)
        who = () if words[0] in {"list", "backup"} else ("--as", "ada")
        return say("keys", *words[:1], *who, "--home", locked, *words[1:])

    return saying


@pytest.fixture
def split(keys, people, tmp_path):
    """Split the home between two custodians, who are both needed."""
    names = [word for name in ("ada", "bob") for word in ("--custodian", f"{name}={people / name}.pub")]
    said = keys("split", "--threshold", "2", *names, "--out", tmp_path / "shares")
    assert said.code == 0, said.err
    return tmp_path / "shares"


def names(home):
    return [lock["name"] for lock in json.loads(HomePaths(home).ring.read_text())["locks"]]


def add(say, kind, home, *words):
    return say("keys", "add", kind, "--as", "ada", "--home", home, *words)


def test_the_first_lock_takes_the_place_of_the_files_mode(home, say, monkeypatch):
    opened_by = "file-mode  to open it, be the user who may read its file: it has no passphrase"
    assert opened_by in say("keys", "list", "--home", home).out
    assert doctor_checks.machine(home).data["keys"]["ok"] is False
    assert "whoever can read" in doctor_checks.machine(home).data["keys"]["detail"]
    monkeypatch.setenv(NEXT_PASSPHRASE, NEXT)
    said = add(say, "passphrase", home, "--json")
    assert said.data == {"lock": "passphrase", "locks": ["passphrase"]}
    assert say("task", "list", "--home", home).code == 7
    monkeypatch.setenv(PASSPHRASE, NEXT)
    assert say("task", "list", "--home", home).code == 0
    assert "alone; nobody else can open" in doctor_checks.machine(home).data["keys"]["detail"]


def test_locks_are_added_listed_and_removed_and_the_access_log_says_by_whom(locked, keys, say, monkeypatch):
    monkeypatch.setenv(PASSPHRASE, WORD)
    monkeypatch.setenv(NEXT_PASSPHRASE, NEXT)
    assert add(say, "passphrase", locked, "--name", "spare").code == 0
    assert doctor_checks.machine(locked).data["keys"]["ok"] is True
    assert [row["name"] for row in keys("list", "--json").data["locks"]] == ["passphrase", "spare"]
    assert keys("remove", "nothing").code == 3
    assert "start again what runs" in keys("remove", "passphrase", given=NEXT).out
    assert names(locked) == ["spare"]
    assert keys("list").code == 7
    refused = keys("remove", "spare", given=NEXT)
    assert (refused.code, names(locked)) == (8, ["spare"])
    monkeypatch.setenv(PASSPHRASE, NEXT)
    entries = say("access", "log", "--home", locked, "--json").data
    told = [(entry["who"], entry["why"]) for entry in entries if entry["what"] == "ring/locks"]
    assert told[:2] == [("ada", "add spare"), ("ada", "remove passphrase")]


def test_new_secrets_are_asked_for_and_never_taken_from_an_argument(locked, say, monkeypatch):
    monkeypatch.setenv(PASSPHRASE, WORD)
    assert NEXT_PASSPHRASE in add(say, "passphrase", locked).sentence
    monkeypatch.setenv(PASSPHRASE, WORD)
    add(say, "pkcs11", locked, "--module", "/nowhere.so", "--token", "one").refuses(2, PIN)
    monkeypatch.setenv(PASSPHRASE, WORD)
    monkeypatch.setenv(PIN, "test-1234")
    refused = add(say, "pkcs11", locked, "--module", "/nowhere.so", "--token", "one")
    assert (refused.code, "test-1234" in refused.err) == (6, False)
    assert add(say, "command", locked, "--", "no-such-program").code == 3
    assert names(locked) == ["passphrase"]


def test_a_person_is_asked_for_what_opens_the_home(locked, say, monkeypatch):
    answers = iter([WORD, NEXT, NEXT, NEXT])
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    monkeypatch.setattr(getpass, "getpass", lambda _: next(answers))
    assert add(say, "passphrase", locked).code == 0
    assert say("keys", "remove", "passphrase", "--as", "ada", "--home", locked).code == 0
    assert names(locked) == ["passphrase-2"]


@pytest.mark.parametrize("words", [("list",), ("restore-from-shares", "--as", "bob")], ids=" ".join)
def test_end_of_input_at_a_prompt_is_an_interrupt(words, locked, split, say, monkeypatch):
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    monkeypatch.setattr(getpass, "getpass", lambda _: (_ for _ in ()).throw(EOFError))
    said = say("keys", *words, "--home", locked)
    assert (said.code, "internal error" in said.err) == (130, False)


def test_when_a_key_service_is_down_the_passphrase_still_opens(locked, say, monkeypatch, tmp_path):
    key = tmp_path / "kms.key"
    command = NewCommand((sys.executable, str(KMS), "--key", str(key)))
    FileKeyRing.open(HomePaths(locked).ring, WORD.encode()).add_lock(command)
    assert say("task", "list", "--home", locked).code == 0
    key.unlink()
    key.mkdir()
    say("task", "list", "--home", locked).refuses(6, "cannot be reached. Put it into")
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    monkeypatch.setattr(getpass, "getpass", lambda _: WORD)
    assert say("task", "list", "--home", locked).code == 0


@pytest.mark.needs("age")
def test_after_the_only_maintainer_is_gone_custodians_open_the_home(locked, keys, split, people, say):
    opened = subprocess.run(["age", "-d", "-i", people / "bob", split / "bob.age"], check=True, capture_output=True)
    (split / "bob.share").write_bytes(opened.stdout)
    assert say("task", "list", "--home", locked).code == 7
    assert "bring the shares of 2 custodians together (ada, bob)" in say("task", "list", "--home", locked).sentence

    words = ("restore-from-shares", split / "ada.age", split / "bob.share", "--identity", people / "ada")
    said = keys(*words, given=None, following=NEXT)
    assert said.code == 0, said.err
    assert names(locked) == ["passphrase", "custodians", "passphrase-2"]
    assert keys("list", given=NEXT).code == 0


def test_shares_come_from_standard_input_and_from_a_terminal_too(locked, keys, split, people, monkeypatch):
    lines = [decrypted((split / f"{n}.age").read_bytes(), [(people / n).read_bytes()], n) for n in ("ada", "bob")]
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"".join(lines))))
        assert keys("restore-from-shares", "-", "--name", "piped", given=None, following=NEXT).code == 0
    answers = iter([*(line.decode() for line in lines), ""])
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    monkeypatch.setattr(getpass, "getpass", lambda _: next(answers))
    assert keys("restore-from-shares", "--name", "typed", given=None, following=NEXT).code == 0
    assert names(locked)[-2:] == ["piped", "typed"]


def test_shares_that_do_not_suffice_open_nothing_even_beside_the_right_passphrase(locked, keys, split, people):
    before = HomePaths(locked).ring.read_bytes()
    identities = ("--identity", people / "ada", "--identity", people / "bob")
    for files, code, sentence in (
        ((split / "ada.age",), 7, "2 shares open the ring and 1 came: ask bob"),
        ((split / "ada.age", split / "ada.age"), 7, "given twice"),
        ((people / "ada.pub",), 2, "is not JSON"),
        ((split / "eve.age",), 3, "No such file"),
        ((split,), 3, "Is a directory"),
    ):
        keys("restore-from-shares", *files, *identities, following=NEXT).refuses(code, sentence)
    assert HomePaths(locked).ring.read_bytes() == before


def test_files_for_custodians_are_whole_or_absent_and_never_written_over(locked, keys, split, people, tmp_path):
    assert sorted(path.name for path in split.iterdir()) == ["ada.age", "bob.age"]
    assert all(path.stat().st_mode & 0o077 == 0 for path in (split, *split.iterdir()))
    names = ("--custodian", f"ada={people / 'ada'}.pub", "--custodian", f"bob={people / 'bob'}.pub")
    (binary := tmp_path / "binary").write_bytes(b"\xff\x00")
    assert keys("split", "--threshold", "2", *names, "--out", split).code == 8
    for words, sentence in (
        (("--custodian", "ada=age1nobody", "--custodian", f"bob={people / 'bob'}.pub"), "no public key"),
        (("--custodian", f"ada={binary}", "--custodian", f"bob={people / 'bob'}.pub"), "the key of ada is no public"),
        ((*names, "--name", "Not A Name"), "a lock's name"),
        ((*names[:2], *names[:2]), "each name once"),
        *((("--custodian", word, *names[:2]), "NAME=KEY") for word in ("../eve=age1x", "eve=", "=age1x", "eve")),
        (names[:2], "from 2 to 1 (the number of custodians)"),
    ):
        keys("split", "--threshold", "2", *words, "--out", tmp_path / "more").refuses(2, sentence)
        assert not (tmp_path / "more").exists()


def test_a_split_of_an_open_home_says_that_nothing_else_opens_it(home, people, tmp_path, say):
    names = [word for name in ("ada", "bob") for word in ("--custodian", f"{name}={people / name}.pub")]
    words = ("keys", "split", "--threshold", "2", *names, "--as", "ada", "--home", home)
    assert "Only custodians open it now" in say(*words, "--out", tmp_path / "shares").out
    assert "keys restore-from-shares" in say("keys", "list", "--home", home).sentence


def test_leaving_a_home_to_its_custodians_alone_gives_a_warning(split, keys):
    said = keys("remove", "passphrase")
    assert (said.code, said.out.splitlines()[-1]) == (0, SHUT)


def test_a_home_without_custodians_says_so(split, home, say):
    say("keys", "restore-from-shares", split / "ada.age", "--as", "ada", "--home", home).refuses(3, "has no custodians")


def test_a_copy_of_the_rings_file_opens_and_an_open_ring_is_not_copied_unasked(home, keys, say, tmp_path):
    copy = tmp_path / "copy.json"
    assert keys("backup", copy, given=None).code == 0
    assert FileKeyRing.open(copy, WORD.encode()).key_id
    assert copy.stat().st_mode & 0o777 == 0o600
    assert keys("backup", copy, given=None).code == 8
    bare = tmp_path / "bare.json"
    assert say("keys", "backup", bare, "--home", home).code == 8
    assert not bare.exists()
    said = say("keys", "backup", bare, "--unprotected", "--home", home)
    assert (said.code, said.out) == (0, f"{bare} opens for whoever can read it: nothing but its mode protects it.\n")


def test_a_copy_of_the_rings_file_does_not_lie_in_the_home(locked, keys):
    for place in (locked / "copy.json", locked / "keys" / "copy.json", locked / "keys" / ".." / "copy.json"):
        keys("backup", place, given=None).refuses(8, "lies in the home")
        assert not place.exists()
