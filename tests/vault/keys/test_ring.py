"""Tests of the key ring: it opens with its passphrase or by its mode alone, and says why it does not."""

import base64
import json
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from functools import reduce
from operator import getitem
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from vault.errors import Broken, Locked, Malformed, NotFound, Refused, VaultError
from vault.keys import private_files
from vault.keys.locks.lock import SCHEMA
from vault.keys.locks.passphrase import Cost
from vault.keys.ring import MAX_KEYS, FileKeyRing

from ..builders import CHEAP, KEY, NOW, rewrite


@pytest.fixture
def path(tmp_path):
    return tmp_path / "keys" / "ring.json"


@pytest.fixture(scope="module")
def locked_file(tmp_path_factory):
    """Make a ring that a passphrase opens, once for all tests; give the file's bytes."""
    path = tmp_path_factory.mktemp("locked") / "ring.json"
    FileKeyRing.create(path, b"correct horse", cost=CHEAP)
    return path.read_bytes()


@pytest.fixture
def locked(path, locked_file):
    """Put a ring that a passphrase opens in its place."""
    private_files.create(path, locked_file, "key ring")


def test_the_schema_of_a_ring_is_a_schema():
    Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("passphrase", [b"wrong", b"", b"correct horse ", None])
def test_a_wrong_or_missing_passphrase_is_a_locked_ring(path, locked, passphrase):
    with pytest.raises(Locked):
        FileKeyRing.open(path, passphrase)


def test_a_ring_without_a_passphrase_opens_by_its_mode_and_takes_no_passphrase(path):
    made = FileKeyRing.create(path, None)
    assert FileKeyRing.open(path, None).unwrap(made.wrap(KEY, b"c"), b"c") == KEY
    with pytest.raises(Locked, match="without a passphrase"):
        FileKeyRing.open(path, b"something")


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
        (lambda d: d["locks"][0].update(memory=2**31), r"\$\.locks\[0\]\.memory: it must be at most"),
        (lambda d: d["locks"][0].update(memory=8), r"\$\.locks\[0\]\.memory: it must be at least"),
        (lambda d: d["locks"][0].update(iterations=10**9), r"\$\.locks\[0\]\.iterations"),
        (lambda d: d["locks"][0].update(salt="AAAA"), r"\$\.locks\[0\]\.salt"),
        (lambda d: d["locks"][0].pop("salt"), r"\$\.locks\[0\]: it lacks salt"),
        (lambda d: d["locks"][0].update(kind="rot13"), r"\$\.locks\[0\]\.kind"),
        (lambda d: d["keys"][0].update(key="AAAA"), r"\$\.keys\[0\]\.key"),
        (lambda d: d.update(keys=[]), r"\$\.keys: it has 0 items"),
        (lambda d: d.update(locks=[]), r"\$\.locks: it has 0 items"),
        (lambda d: d.update(format="other"), r"\$\.format"),
        (lambda d: d.update(extra=1), r"\$: it may not have extra"),
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
    rewrite(path, lambda document: document["locks"][0].update(memory=8 * 1024, iterations=1))
    with pytest.raises(Locked):
        FileKeyRing.open(path, b"correct horse")


# -- several keys -----------------------------------------------------------------------------------------------------


def test_a_new_key_wraps_and_the_old_one_still_unwraps(path):
    ring = FileKeyRing.create(path, None, at=NOW)
    first, blob = ring.key_id, ring.wrap(KEY, b"c")
    ring.add_key(NOW + timedelta(days=30, microseconds=1))
    assert ring.key_ids == (first, ring.key_id)
    assert ring.key_id != first
    again = FileKeyRing.open(path, None)
    assert again.key_ids == ring.key_ids
    assert [again.made(name) for name in again.key_ids] == [NOW, NOW + timedelta(days=30)]
    assert again.unwrap(blob, b"c") == again.unwrap(ring.wrap(KEY, b"c"), b"c") == KEY


def test_a_dropped_key_is_gone_from_the_file_and_the_primary_is_never_dropped(path):
    ring = FileKeyRing.create(path, None)
    first, blob = ring.key_id, ring.wrap(KEY, b"c")
    with pytest.raises(Refused, match="is the primary key"):
        ring.drop_key(first)
    ring.add_key(NOW)
    ring.drop_key(first)
    assert ring.key_ids == (ring.key_id,)
    assert first not in path.read_text()
    for one in (ring, FileKeyRing.open(path, None)):
        with pytest.raises(Locked, match=first):
            one.unwrap(blob, b"c")
        with pytest.raises(NotFound, match=first):
            one.made(first)
    with pytest.raises(NotFound, match=first):
        ring.drop_key(first)


@pytest.mark.full
@pytest.mark.slow
def test_a_full_ring_takes_no_more_keys(path):
    ring = FileKeyRing.create(path, None)
    for _ in range(MAX_KEYS - 1):
        ring.add_key(NOW)
    with pytest.raises(Refused, match="drop those that nothing needs"):
        ring.add_key(NOW)
    assert len(FileKeyRing.open(path, None).key_ids) == MAX_KEYS


def test_an_open_ring_follows_what_another_does_to_the_file(path):
    ring, other = FileKeyRing.create(path, None), FileKeyRing.open(path, None)
    old = ring.key_id
    other.add_key(NOW)
    assert ring.wrap(KEY, b"c")[:8].hex() == other.key_id.removeprefix("file:")
    assert ring.key_id == other.key_id
    other.drop_key(old)
    assert ring.key_ids == other.key_ids
    path.chmod(0o644)
    with pytest.raises(Locked, match="chmod 600"):
        ring.wrap(KEY, b"c")


def test_a_row_read_just_before_its_key_was_dropped_is_opened(path):
    ring, other = FileKeyRing.create(path, None), FileKeyRing.open(path, None)
    old, blob = ring.key_id, ring.wrap(KEY, b"c")
    for change in (lambda: other.add_key(NOW), lambda: other.drop_key(old), lambda: other.add_key(NOW)):
        change()
        assert ring.key_ids == other.key_ids
        assert ring.unwrap(blob, b"c") == KEY


def test_no_concurrent_change_is_lost(path):
    FileKeyRing.create(path, None)
    rings = [FileKeyRing.open(path, None) for _ in range(8)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda ring: ring.add_key(NOW), rings))
    assert len(set(rings[0].key_ids)) == 9


# -- changed files ----------------------------------------------------------------------------------------------------


def primary_of_before(document):
    document["primary"] = document["keys"][0]["id"]


def swapped(document):
    one, two = document["keys"]
    one["key"], two["key"] = two["key"], one["key"]


@pytest.mark.parametrize(
    "change",
    [
        primary_of_before,
        swapped,
        lambda document: document["keys"].reverse(),
        lambda document: document["keys"].pop(0),
        lambda document: document["keys"].append(document["keys"][0]),
        lambda document: document["keys"][1].update(made="2030-01-01T00:00:00Z"),
        lambda document: document["locks"].append({**document["locks"][0], "name": "another"}),
        lambda document: document.update(ring="ring:0000000000000000"),
        lambda document: document.update(seal=base64.b64encode(KEY).decode()),
    ],
)
def test_a_ring_that_was_changed_or_put_together_is_noticed(path, change):
    ring = FileKeyRing.create(path, None)
    ring.add_key(NOW)
    rewrite(path, change)
    with pytest.raises((Broken, Locked), match="changed"):
        FileKeyRing.open(path, None)
    with pytest.raises((Broken, Locked), match="restore the file"):
        ring.wrap(KEY, b"c")


def strings(value, place=()):
    """Yield the paths of all strings in a document."""
    if isinstance(value, str):
        yield place
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from strings(item, (*place, key))


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text[:-1],
        lambda text: text + "\n",
        lambda text: " " + text,
        lambda text: text + "=",
        lambda text: text + "QUFB",
        lambda text: chr(ord(text[0]) + 0xFEE0) + text[1:],
        lambda text: chr(ord(text[0]) ^ 1) + text[1:],
        lambda _: "",
        lambda text: [text],
        lambda _: None,
        lambda _: 7,
    ],
)
def test_a_ring_file_is_spelled_in_one_way_only(path, locked, change):
    document = json.loads(path.read_text())
    for *way, last in strings(document):
        inner = reduce(getitem, way, document)
        kept, inner[last] = inner[last], change(inner[last])
        path.write_text(json.dumps(document))
        with pytest.raises((Broken, Locked, Malformed)):
            FileKeyRing.open(path, b"correct horse")
        inner[last] = kept


def test_keys_and_locks_of_another_ring_do_not_fit(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    for path in (one, two):
        FileKeyRing.create(path, None)
    other = json.loads(two.read_text())
    for part in ("keys", "locks"):
        rewrite(one, lambda document, part=part: document.update({part: other[part]}))
        with pytest.raises(Broken):
            FileKeyRing.open(one, None)


@given(place=st.integers(0, 10**6), bit=st.integers(0, 7))
def test_a_file_with_one_other_bit_opens_to_the_same_keys_or_not_at_all(two_keys, place, bit):
    path, good, key_ids = two_keys
    data = bytearray(good)
    data[place % len(good)] ^= 1 << bit
    path.write_bytes(data)
    with suppress(VaultError):
        assert FileKeyRing.open(path, None).key_ids == key_ids


@pytest.fixture(scope="module")
def two_keys(tmp_path_factory):
    path = tmp_path_factory.mktemp("ring") / "ring.json"
    ring = FileKeyRing.create(path, None)
    ring.add_key(NOW)
    return path, path.read_bytes(), ring.key_ids


@pytest.mark.parametrize("step", ["fsync", "rename"])
@pytest.mark.parametrize(
    ("error", "raised"), [(OSError(28, "No space left on device"), Locked), (KeyboardInterrupt(), KeyboardInterrupt)]
)
def test_a_change_that_breaks_off_leaves_the_old_file(path, monkeypatch, step, error, raised):
    ring = FileKeyRing.create(path, None)
    before = path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(private_files.os, step, Mock(side_effect=error))
        with pytest.raises(raised):
            ring.add_key(NOW)
    assert path.read_bytes() == before
    assert [item.name for item in path.parent.iterdir()] == ["ring.json"]
    ring.add_key(NOW)
