"""Conformance suite of all locks: made, opened, refused to others, and never another key than the sealed one."""

import base64
import json

import pytest

from vault.errors import Broken, Locked, Malformed, NotFound, Refused, Unavailable, VaultError
from vault.keys import private_files
from vault.keys.locks.command import NewCommand
from vault.keys.locks.custodians import Custodians
from vault.keys.locks.passphrase import Cost, Passphrase
from vault.keys.ring import MAX_LOCKS, FileKeyRing

from ...builders import CHEAP, KEY, NOW, rewrite

pytestmark = pytest.mark.slow


@pytest.fixture
def ring(path, kept):
    """Make a ring that this lock alone opens."""
    made = FileKeyRing.create(path, None, at=NOW)
    if kept.maker.kind != "file-mode":
        made.add_lock(kept.maker)
    return made


def opened(path, opener):
    return FileKeyRing.open_by(path, [opener])


def test_it_opens_and_what_was_wrapped_unwraps_in_its_context_alone(path, ring, kept):
    blob = ring.wrap(KEY, b"context")
    again = opened(path, kept.opener())
    assert [lock["kind"] for lock in again.locks] == [kept.maker.kind]
    assert again.unwrap(blob, b"context") == KEY
    with pytest.raises(Broken):
        again.unwrap(blob, b"another context")


def test_another_secret_does_not_open_it_and_none_says_what_would(path, ring, kept):
    with pytest.raises((Locked, Broken)) as refused:
        FileKeyRing.open_by(path, [kept.wrong()])
    assert str(refused.value).count(".") <= 2
    if kept.maker.kind != "file-mode":
        with pytest.raises(Locked, match=r"is locked; (give|bring|let) "):
            FileKeyRing.open(path, None)


def test_no_secret_and_no_key_stands_in_the_file_or_in_any_repr(path, ring, kept):
    root = ring._held.root
    shown = [path.read_bytes(), *(repr(one).encode() for one in (ring, ring._held, kept.maker, kept.opener()))]
    if kept.maker.kind == "file-mode":
        del shown[0]
    for secret in (*kept.secrets, root, ring._held.keys[ring.key_id].secret):
        for form in (secret, secret.hex().encode(), base64.b64encode(secret)[:40], repr(secret)[2:-1].encode()):
            assert not any(form in text for text in shown)


def test_a_changed_lock_never_opens_to_another_key(path, ring, kept):
    before = path.read_bytes()
    lock = json.loads(before)["locks"][0]
    for name in lock:
        path.write_bytes(before)
        rewrite(path, lambda document, name=name: document["locks"][0].update({name: turned(lock[name])}))
        with pytest.raises(VaultError):
            opened(path, kept.opener())


def turned(value):
    """Change a value in one place and keep its form, where that is possible."""
    if isinstance(value, int):
        return value + 1
    if isinstance(value, list):
        return [*value[:-1], {**value[-1], "name": "eve"} if isinstance(value[-1], dict) else value[-1] + "0"]
    return value[:-2] + ("B" if value[-2] == "A" else "A") + value[-1] if value[-1] == "=" else other(value)


def other(text):
    return (
        ("b" if text[0] == "a" else "a" if text[0].isalnum() else text[0])
        + text[1:-1]
        + ("1" if text[-1] != "1" else "2")
    )


def test_a_lock_of_another_ring_does_not_fit(tmp_path, path, ring, kept):
    other = tmp_path / "other.json"
    made = FileKeyRing.create(other, None)
    if kept.maker.kind != "file-mode":
        made.add_lock(kept.maker)
    foreign = json.loads(other.read_text())["locks"]
    rewrite(path, lambda document: document.update(locks=foreign))
    with pytest.raises((Locked, Broken)):
        opened(path, kept.opener())


def test_a_passphrase_beside_it_opens_the_same_ring_and_either_can_go(path, ring, kept):
    blob, second = ring.wrap(KEY, b"c"), Passphrase(b"test-second", CHEAP)
    assert ring.add_lock(second, "second") == "second"
    assert FileKeyRing.open(path, b"test-second").unwrap(blob, b"c") == KEY
    if kept.maker.kind == "file-mode":
        assert [lock["name"] for lock in ring.locks] == ["second"]  # the file's mode is not a way in beside another
        return
    assert opened(path, kept.opener()).unwrap(blob, b"c") == KEY
    root = ring._held.root
    fresh = ring.remove_lock(kept.maker.kind, (second,))
    assert fresh
    assert ring._held.root != root
    assert FileKeyRing.open(path, b"test-second").unwrap(blob, b"c") == KEY
    with pytest.raises(Locked):
        opened(path, kept.opener())


@pytest.mark.slow
def test_as_the_only_lock_left_it_gets_a_new_root_key_if_nobody_else_is_needed(path, ring, kept):
    if kept.maker.kind == "file-mode":
        return
    blob = ring.wrap(KEY, b"c")
    service = FileKeyRing.open_by(path, [kept.opener()])
    ring.add_lock(Passphrase(b"test-second", CHEAP))
    assert ring.remove_lock("passphrase-2" if kept.maker.kind == "passphrase" else "passphrase", (kept.opener(),)) == (
        kept.maker.kind != "custodians"
    )
    assert opened(path, kept.opener()).unwrap(blob, b"c") == KEY
    if kept.maker.kind != "custodians":
        with pytest.raises(Locked, match="start again"):
            service.wrap(KEY, b"c")


# -- what no lock has to do with --------------------------------------------------------------------------------------


def test_names_are_given_once_and_the_last_lock_stays(path):
    ring = FileKeyRing.create(path, b"test-one", cost=CHEAP)
    with pytest.raises(Refused, match="without one nobody opens"):
        ring.remove_lock("passphrase")
    assert ring.add_lock(Passphrase(b"test-two", CHEAP)) == "passphrase-2"
    assert ring.add_lock(Passphrase(b"test-three", CHEAP)) == "passphrase-3"
    with pytest.raises(Refused, match="already"):
        ring.add_lock(Passphrase(b"test-four", CHEAP), "passphrase-2")
    with pytest.raises(Malformed, match="a lock's name"):
        ring.add_lock(Passphrase(b"test-four", CHEAP), "Passphrase of mine")
    with pytest.raises(NotFound, match="passphrase, passphrase-2, passphrase-3"):
        ring.remove_lock("passphrase-4")
    assert not ring.remove_lock("passphrase-2", (Passphrase(b"test-one"),))  # the third is not ours to make again
    assert [lock["name"] for lock in ring.locks] == ["passphrase", "passphrase-3"]


def test_the_first_lock_that_needs_a_secret_is_over_a_fresh_root_key(path):
    """The former root key was readable in the file, and in every copy of it."""
    ring = FileKeyRing.create(path, None)
    blob, before = ring.wrap(KEY, b"c"), json.loads(path.read_bytes())["ring"]
    ring.add_lock(Passphrase(b"test-one", CHEAP))
    locked = json.loads(path.read_bytes())["ring"]
    assert locked != before
    ring.add_lock(Passphrase(b"test-two", CHEAP))
    assert json.loads(path.read_bytes())["ring"] == locked, "the others open what they opened"
    assert FileKeyRing.open(path, b"test-one").unwrap(blob, b"c") == KEY


def test_a_passphrase_that_is_sealed_again_keeps_its_cost(path):
    ring = FileKeyRing.create(path, b"test-one", cost=CHEAP)
    ring.add_lock(Passphrase(b"test-two", CHEAP))
    assert ring.remove_lock("passphrase-2", (Passphrase(b"test-one"),))
    (kept,) = ring.locks
    assert Cost(kept["memory"], kept["iterations"], kept["lanes"]) == CHEAP


def test_a_full_ring_takes_no_more_locks(path, post):
    ring = FileKeyRing.create(path, None)
    for _ in range(MAX_LOCKS):
        ring.add_lock(post.split())
    with pytest.raises(Refused, match="remove one first"):
        ring.add_lock(post.split())
    shares = [post.share(name) for name in ("ada", "cyd")]
    assert FileKeyRing.open_by(path, [Custodians(shares)]).key_id == ring.key_id


def test_a_ring_is_never_written_longer_than_it_is_read(path, kms, monkeypatch):
    ring = FileKeyRing.create(path, b"test-0", cost=CHEAP)
    wordy = NewCommand((kms[0], *["-X", "test=" + "x" * 390] * 13, *kms[1:]))
    monkeypatch.setattr(private_files, "MAX_SIZE", 10_000)
    ring.add_lock(wordy)
    with pytest.raises(Refused, match="Remove a lock first"):
        ring.add_lock(wordy)
    assert FileKeyRing.open(path, b"test-0").locks == ring.locks


def test_a_lock_that_cannot_be_made_leaves_the_ring_alone(path):
    ring = FileKeyRing.create(path, None)
    before = path.read_bytes()
    with pytest.raises(Unavailable, match="cannot be started"):
        ring.add_lock(NewCommand(("/nowhere/kms",)))
    assert path.read_bytes() == before
