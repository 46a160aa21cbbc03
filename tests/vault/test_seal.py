"""What is sealed opens under its own key and context, and otherwise not at all."""

from __future__ import annotations

import base64
import dataclasses
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vault.errors import Broken, Locked, Malformed
from vault.keys import FileKeyRing
from vault.seal import Sealed, seal, unseal

# A ring and a sealed thing made by the first version of both formats: they must open for ever.
OLD_RING = (
    '{"format":"quarterturn/ring/v1","keys":[{"id":"file:8834354b63768bcf","key":"AAECAwQFBgcICQoLn6KiELm'
    '8MWRvZxU1x2STEsui11R0Sxw5rUtBHUx7Em35S2J28WuBkhHCbIh1e0NG","made":null}],"locks":[{"kind":"file-mode'
    '","name":"file-mode","sealed":"ZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXp7fH1+f4CBgoM="}],"primary":"file:88343'
    '54b63768bcf","ring":"ring:8145a9a726292d04","seal":"rW61TimmOViVNY6UNq3v/X9ndilBSTU9rBr1Ih1aE2s="}'
)
OLD_SEALED = (
    '{"ciphertext":"xiOUoo/lhW2iR634goQSM59ZzWlmFsP6+KAD7Q==","format":"quarterturn/sealed/v1","key_id":"'
    'file:8834354b63768bcf","nonce":"XWRrcnmAh46VnKOq","wrapped_key":"iDQ1S2N2i898g4qRmJ+mrbS7wsmWn9dsCfB'
    'syAGCSTTTqrqFZz9sbMP784QgvhAnhcM+voXqLhjXVKIVrLlpLtaVdX4="}'
)


@pytest.fixture(scope="module")
def rings(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rings")
    return FileKeyRing.create(folder / "one", None), FileKeyRing.create(folder / "two", None)


@pytest.fixture(scope="module")
def sealed(rings):
    return seal(b"a heron by the weir", b"context", rings[0])


@given(plaintext=st.binary(max_size=300), context=st.binary(max_size=50))
def test_what_is_sealed_opens_again(rings, plaintext, context):
    assert unseal(seal(plaintext, context, rings[0]), context, rings[0]) == plaintext


def test_a_thing_that_the_first_version_sealed_still_opens(tmp_path):
    path = tmp_path / "ring.json"
    path.write_text(OLD_RING)
    path.chmod(0o600)
    sealed = Sealed.from_json(OLD_SEALED.encode(), "the old thing")
    assert unseal(sealed, b"old context", FileKeyRing.open(path, None)) == b"an old heron"


def test_the_same_thing_sealed_twice_shares_no_byte_of_key_nonce_or_text(rings):
    one, two = (seal(b"x" * 64, b"c", rings[0]) for _ in range(2))
    assert one.nonce != two.nonce
    assert one.wrapped_key != two.wrapped_key
    assert one.ciphertext != two.ciphertext


@pytest.mark.parametrize("name", ["wrapped_key", "nonce", "ciphertext"])
def test_one_changed_bit_anywhere_and_it_does_not_open(rings, sealed, name):
    good = getattr(sealed, name)
    for place in range(len(good)):
        bad = good[:place] + bytes([good[place] ^ 1]) + good[place + 1 :]
        with pytest.raises((Broken, Locked)):
            unseal(dataclasses.replace(sealed, **{name: bad}), b"context", rings[0])


def test_another_context_does_not_open_it(rings, sealed):
    for context in (b"", b"Context", b"context "):
        with pytest.raises(Broken, match="was changed"):
            unseal(sealed, context, rings[0])


def test_another_ring_says_which_key_it_lacks(rings, sealed):
    with pytest.raises(Locked, match=rings[0].key_id):
        unseal(sealed, b"context", rings[1])


def test_the_parts_of_two_sealed_things_do_not_mix(rings, sealed):
    other = seal(b"another", b"context", rings[0])
    with pytest.raises(Broken):
        unseal(dataclasses.replace(sealed, wrapped_key=other.wrapped_key), b"context", rings[0])


@pytest.mark.parametrize(
    ("name", "value"),
    [("nonce", b"x" * 11), ("nonce", b"x" * 16), ("nonce", b""), ("ciphertext", b"x" * 15), ("wrapped_key", b""),
     ("wrapped_key", b"x" * 5000), ("key_id", "")],
)  # fmt: skip
def test_parts_of_a_wrong_length_are_refused_before_any_key_is_touched(sealed, name, value):
    with pytest.raises(Malformed):
        dataclasses.replace(sealed, **{name: value})


def test_a_repr_shows_no_byte(sealed):
    assert repr(sealed) == f"Sealed(key_id={sealed.key_id!r}, 35 bytes)"


def test_it_goes_through_a_file(sealed):
    assert Sealed.from_json(sealed.to_json(), "the file") == sealed


def spoiled(change):
    def spoil(sealed):
        document = json.loads(sealed.to_json())
        change(document)
        return json.dumps(document).encode()

    return spoil


@pytest.mark.parametrize(
    "spoil",
    [
        spoiled(lambda d: d.pop("nonce")),
        spoiled(lambda d: d.update(extra=1)),
        spoiled(lambda d: d.update(format="quarterturn/sealed/v2")),
        spoiled(lambda d: d.update(key_id=7)),
        spoiled(lambda d: d.update(nonce=7)),
        spoiled(lambda d: d.update(nonce=d["nonce"] + "\n")),
        spoiled(lambda d: d.update(nonce=base64.b64encode(b"x" * 13).decode())),
        spoiled(lambda d: d.update(ciphertext="not base64")),
        spoiled(lambda d: d.update(ciphertext="QR==")),  # the same byte has the canonical spelling QQ==
        lambda sealed: sealed.to_json()[:-1],
        lambda sealed: b"[]",
    ],
)
def test_a_file_that_is_not_exactly_one_is_refused(sealed, spoil):
    with pytest.raises(Malformed):
        Sealed.from_json(spoil(sealed), "the file")


class CrookedRing:
    """A ring that hands out a key of another length."""

    key_id = "crooked"

    def wrap(self, data_key: bytes, context: bytes) -> bytes:
        return data_key[:16]

    def unwrap(self, blob: bytes, context: bytes) -> bytes:
        return blob


def test_a_data_key_of_another_length_is_not_used():
    ring = CrookedRing()
    with pytest.raises(Broken, match="16 bytes instead of 32"):
        unseal(seal(b"x", b"c", ring), b"c", ring)


def test_the_dice_are_arguments(tmp_path: Path):
    ring = FileKeyRing.create(tmp_path / "ring", None, entropy=lambda size: b"\x05" * size)
    one, two = (seal(b"x", b"c", ring, lambda size: b"\x09" * size) for _ in range(2))
    assert one == two


def test_the_name_is_that_of_the_key_that_wrapped_even_if_it_changes_meanwhile(tmp_path):
    class Rotated(FileKeyRing):
        turns = iter([True, False, False])

        def wrap(self, data_key, context):
            wrapped = super().wrap(data_key, context)
            if next(self.turns):
                FileKeyRing.open(self.path, None).add_key(datetime(2026, 12, 1, tzinfo=UTC))
            return wrapped

    ring = Rotated.create(tmp_path / "ring.json", None)
    sealed = seal(b"a heron", b"c", ring)
    assert sealed.key_id == f"file:{sealed.wrapped_key[:8].hex()}" == ring.key_id
    assert unseal(sealed, b"c", ring) == b"a heron"
