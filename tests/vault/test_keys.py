"""A key ring opens with its passphrase, or by its mode alone, and says plainly why it does not."""

from __future__ import annotations

import base64
import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vault.errors import Broken, Locked, Malformed, Refused
from vault.keys import Cost, FileKeyRing

CHEAP = Cost(memory=8 * 1024, iterations=1, lanes=1)
KEY = bytes(range(32))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "keys" / "ring.json"


@pytest.fixture
def locked(path):
    return FileKeyRing.create(path, b"correct horse", cost=CHEAP)


def rewrite(path, change):
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


def test_the_passphrase_opens_it_and_the_same_key_is_in_it(path, locked):
    blob = locked.wrap(KEY, b"context")
    again = FileKeyRing.open(path, b"correct horse")
    assert again.key_id == locked.key_id
    assert again.unwrap(blob, b"context") == KEY


@pytest.mark.parametrize("passphrase", [b"wrong", b"", b"correct horse ", None])
def test_a_wrong_or_missing_passphrase_is_a_locked_ring(path, locked, passphrase):
    with pytest.raises(Locked):
        FileKeyRing.open(path, passphrase)


def test_a_ring_without_a_passphrase_opens_by_its_mode_and_takes_no_passphrase(path):
    made = FileKeyRing.create(path, None)
    assert FileKeyRing.open(path, None).unwrap(made.wrap(KEY, b"c"), b"c") == KEY
    with pytest.raises(Locked, match="without a passphrase"):
        FileKeyRing.open(path, b"something")


def test_neither_the_passphrase_nor_the_key_stands_in_a_locked_file_or_in_a_repr(path):
    ring = FileKeyRing.create(path, b"correct horse", cost=CHEAP, entropy=lambda size: b"\x07" * size)
    key = b"\x07" * 32
    for form in (b"correct horse", key, key.hex().encode(), base64.b64encode(key)[:40]):
        assert form not in path.read_bytes()
        assert form not in repr(ring).encode()


def test_file_and_folder_are_for_their_owner_only_whatever_the_mask(path):
    before = os.umask(0)
    try:
        FileKeyRing.create(path, None)
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert [item.name for item in path.parent.iterdir()] == ["ring.json"]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o601, 0o700])
def test_a_file_that_is_open_to_others_is_not_used_and_the_remedy_is_named(path, locked, mode):
    path.chmod(mode)
    with pytest.raises(Locked, match=f"chmod 600 {path}"):
        FileKeyRing.open(path, b"correct horse")


def test_a_link_in_its_place_is_not_followed(path, locked):
    link = path.with_name("link.json")
    link.symlink_to(path)
    with pytest.raises(Locked, match="cannot be opened"):
        FileKeyRing.open(link, b"correct horse")


def test_a_missing_ring_is_locked_and_says_where_it_was_looked_for(path):
    with pytest.raises(Locked, match=str(path)):
        FileKeyRing.open(path, None)


def test_a_ring_is_never_made_over_another(path, locked):
    before = path.read_bytes()
    with pytest.raises(Refused, match="left as it is"):
        FileKeyRing.create(path, b"another", cost=CHEAP)
    assert path.read_bytes() == before


def test_a_passphrase_that_is_empty_makes_no_ring(path):
    with pytest.raises(Locked, match="empty"):
        FileKeyRing.create(path, b"")
    assert not path.exists()


@pytest.mark.parametrize("cost", [Cost(1024, 1, 1), Cost(2**21, 1, 1), Cost(8192, 0, 1), Cost(8192, 1, 99)])
def test_a_cost_that_opening_would_refuse_makes_no_ring(path, cost):
    with pytest.raises(Malformed, match="it must be at"):
        FileKeyRing.create(path, b"x", cost=cost)
    assert not path.exists()


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda d: d["protection"].update(memory=2**31), r"\$\.protection\.memory: it must be at most"),
        (lambda d: d["protection"].update(memory=8), r"\$\.protection\.memory: it must be at least"),
        (lambda d: d["protection"].update(iterations=10**9), r"\$\.protection\.iterations"),
        (lambda d: d["protection"].update(salt="AAAA"), r"\$\.protection\.salt"),
        (lambda d: d["protection"].pop("salt"), r"\$\.protection: it lacks salt"),
        (lambda d: d["protection"].update(kind="rot13"), r"\$\.protection\.kind"),
        (lambda d: d["keys"][0].update(key="AAAA"), r"\$\.keys\[0\]\.key"),
        (lambda d: d.update(keys=[]), r"\$\.keys: it has 0 items"),
        (lambda d: d.update(format="other"), r"\$\.format"),
        (lambda d: d.update(extra=1), r"\$: it may not have extra"),
        (lambda d: d.update(primary="file:0000000000000000"), r"\$\.primary: the ring holds no key of that name"),
    ],
)
def test_a_ring_file_that_is_malformed_is_refused_at_the_place(path, locked, change, place):
    rewrite(path, change)
    with pytest.raises(Malformed, match=place):
        FileKeyRing.open(path, b"correct horse")


@pytest.mark.parametrize("text", ["", "{", "null", "\x00" * 100, "[" * 5000])
def test_a_file_that_is_no_ring_is_malformed(path, locked, text):
    path.write_text(text)
    with pytest.raises(Malformed, match="the key ring at"):
        FileKeyRing.open(path, b"correct horse")


def test_a_lowered_cost_does_not_open_it(path):
    FileKeyRing.create(path, b"correct horse", cost=Cost(16 * 1024, 2, 1))
    rewrite(path, lambda document: document["protection"].update(memory=8 * 1024, iterations=1))
    with pytest.raises(Locked):
        FileKeyRing.open(path, b"correct horse")


def test_a_key_that_was_swapped_in_an_open_file_is_noticed(path):
    FileKeyRing.create(path, None)
    rewrite(path, lambda document: document["keys"][0].update(key=base64.b64encode(KEY).decode()))
    with pytest.raises(Broken, match="another key than it names"):
        FileKeyRing.open(path, None)


def test_a_ring_with_an_old_key_still_opens_what_was_sealed_under_it(tmp_path):
    old, new = (FileKeyRing.create(tmp_path / name, None) for name in ("old", "new"))
    entry = json.loads((tmp_path / "old").read_text())["keys"]
    rewrite(tmp_path / "new", lambda document: document["keys"].extend(entry))
    both = FileKeyRing.open(tmp_path / "new", None)
    assert both.key_id == new.key_id
    assert both.unwrap(old.wrap(KEY, b"c"), b"c") == KEY


@given(place=st.integers(0, 67), bit=st.integers(0, 7))
def test_a_wrapped_key_with_one_other_bit_does_not_unwrap(ring_for_bits, place, bit):
    blob = bytearray(ring_for_bits.wrap(KEY, b"c"))
    blob[place] ^= 1 << bit
    with pytest.raises((Broken, Locked)):
        ring_for_bits.unwrap(bytes(blob), b"c")


@pytest.fixture(scope="module")
def ring_for_bits(tmp_path_factory):
    return FileKeyRing.create(tmp_path_factory.mktemp("ring") / "ring", None)


@pytest.mark.parametrize("size", [0, 67, 69])
def test_a_wrapped_key_of_another_length_is_malformed(ring_for_bits, size):
    with pytest.raises(Malformed):
        ring_for_bits.unwrap(bytes(size), b"c")
