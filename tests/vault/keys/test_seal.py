"""Tests of sealing: what is sealed opens under its own key and context, and otherwise not, in the vault's own words.

The bad inputs are those of Wycheproof's AES-GCM tests by kind: tags with one bit changed or cut short, nonces of other
lengths, swapped associated data; and what a vault adds to them: keys of another ring, other lengths and spellings.
"""

import json
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vault.errors import Broken, Locked, Malformed
from vault.keys.ring import FileKeyRing
from vault.keys.seal import TAG_SIZE, Sealed, seal, unseal

from ..builders import flips

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


def test_a_repr_shows_no_byte(sealed):
    assert repr(sealed) == f"Sealed(key_id={sealed.key_id!r}, 35 bytes)"


# -- changed items ----------------------------------------------------------------------------------------------------


@contextmanager
def refused(*kinds):
    """Require an error of the vault that has no library's error as its cause."""
    with pytest.raises(kinds) as caught:
        yield caught
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None or caught.value.__suppress_context__


@pytest.mark.parametrize("name", ["nonce", "ciphertext", "wrapped_key"])
def test_one_turned_bit_does_not_open(rings, sealed, name):
    """The last bits of the ciphertext are those of the tag."""
    for other in flips(getattr(sealed, name)):
        with refused(Broken, Locked):
            unseal(replace(sealed, **{name: other}), b"context", rings[0])


@pytest.mark.parametrize("text", [b"a heron", b""])
def test_a_tag_of_another_length_does_not_open(rings, text):
    good = seal(text, b"context", rings[0])
    for other in (*(good.ciphertext[:-cut] for cut in range(1, TAG_SIZE + 1)), good.ciphertext + b"\0"):
        with refused(Broken, Malformed):
            unseal(replace(good, ciphertext=other), b"context", rings[0])


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("nonce", [bytes(size) for size in (0, 8, 11, 13, 16, 257)]),
        ("ciphertext", [b"", bytes(15)]),
        ("wrapped_key", [b"", bytes(5000)]),
        ("key_id", ["", "k" * 201]),
    ],
)
def test_a_part_of_another_length_makes_no_item(sealed, name, values):
    for value in values:
        with refused(Malformed):
            replace(sealed, **{name: value})


def test_a_wrapped_key_of_any_other_length_is_refused(rings, sealed):
    blob = sealed.wrapped_key
    for other in (*(blob[:size] for size in range(len(blob))), blob + b"\0", blob + blob):
        with refused(Malformed):
            rings[0].unwrap(other, b"context")


class Bare:
    """A ring that wraps nothing."""

    key_id = "test-bare"

    def wrap(self, data_key, context):
        return data_key

    def unwrap(self, blob, context):
        return blob


@pytest.mark.parametrize("size", [1, 16, 31, 33, 64])
def test_a_data_key_of_another_length_is_none(size):
    with refused(Broken) as caught:
        unseal(Sealed("test-bare", bytes(size), bytes(12), bytes(16)), b"context", Bare())
    assert f"{size} bytes instead of 32" in str(caught.value)


@pytest.mark.parametrize("context", [b"", b"contex", b"context\0", b"CONTEXT", b"\ncontext"])
def test_another_context_opens_neither_the_key_nor_the_text(rings, sealed, context):
    with refused(Broken):
        rings[0].unwrap(sealed.wrapped_key, context)
    with refused(Broken):
        unseal(seal(b"a heron", b"context", Bare()), context, Bare())


def test_a_key_of_another_ring_is_not_tried_under_ours(rings, sealed):
    with refused(Locked) as caught:
        unseal(sealed, b"context", rings[1])
    assert rings[0].key_id in str(caught.value)
    foreign, own = sealed.wrapped_key, rings[1].wrap(bytes(32), b"context")
    for border in (1, 8, 12, 20, len(own) - 16):  # the name of our key in front of what another wrapped, and so on
        with refused(Broken, Locked):
            rings[1].unwrap(own[:border] + foreign[border:], b"context")


# -- files ------------------------------------------------------------------------------------------------------------


def test_it_goes_through_a_file(sealed):
    assert Sealed.from_json(sealed.to_json(), "the file") == sealed


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.pop("nonce"),
        lambda d: d.update(extra=1),
        lambda d: d.update(format="quarterturn/sealed/v2"),
        lambda d: d.update(key_id=7),
        lambda d: d.update(nonce=d["nonce"] + "\n"),
        lambda d: d.update(wrapped_key=d["wrapped_key"] + "\n"),
        lambda d: d.update(ciphertext=7),
    ],
)
def test_a_file_that_is_not_exactly_one_is_refused(sealed, change):
    document = json.loads(sealed.to_json())
    change(document)
    with refused(Malformed):
        Sealed.from_json(json.dumps(document).encode(), "the file")


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"{}"])
def test_a_file_that_is_none_is_refused(data):
    with refused(Malformed):
        Sealed.from_json(data, "the file")


SPELLINGS = {
    "for addresses": lambda text: text.replace("+", "-").replace("/", "_"),
    "without padding": lambda text: text.rstrip("="),
    "with more padding": lambda text: text + "====",
    "with one sign less": lambda text: text[:-1],
    "with other last bits": lambda text: text[:-3] + chr(ord(text[-3]) + 1) + "==",
    "in two lines": lambda text: text[:4] + "\n" + text[4:],
    "with a space": lambda text: " " + text,
    "with padding inside": lambda text: "QQ==" + text,
    "with a stranger": lambda text: text[:4] + "!" + text[4:],
    "in wide letters": lambda text: chr(ord(text[0]) + 0xFEE0) + text[1:],
    "as a list": lambda text: [text],
    "as nothing": lambda _: None,
}


@pytest.mark.parametrize("how", SPELLINGS)
def test_bytes_are_spelled_in_one_way_only(sealed, how):
    odd = bytes([0xFB, 0xEF, 0xBE] * 12 + [0xFF])  # in base64 it has a +, a / and two = signs
    document = json.loads(replace(sealed, ciphertext=odd).to_json())
    assert Sealed.from_json(json.dumps(document).encode(), "it").ciphertext == odd
    with refused(Malformed):
        Sealed.from_json(json.dumps(document | {"ciphertext": SPELLINGS[how](document["ciphertext"])}).encode(), "it")


# -- randomness -------------------------------------------------------------------------------------------------------


def test_randomness_is_an_argument(tmp_path):
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
