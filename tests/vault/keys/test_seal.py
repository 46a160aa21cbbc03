"""Tests of sealing: what is sealed opens under its own key and context, and otherwise not."""

import base64
import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vault.errors import Malformed
from vault.keys.ring import FileKeyRing
from vault.keys.seal import Sealed, seal, unseal

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


def test_it_goes_through_a_file(sealed):
    assert Sealed.from_json(sealed.to_json(), "the file") == sealed


def altered(change):
    def alter(sealed):
        document = json.loads(sealed.to_json())
        change(document)
        return json.dumps(document).encode()

    return alter


@pytest.mark.parametrize(
    "alter",
    [
        altered(lambda d: d.pop("nonce")),
        altered(lambda d: d.update(extra=1)),
        altered(lambda d: d.update(format="quarterturn/sealed/v2")),
        altered(lambda d: d.update(key_id=7)),
        altered(lambda d: d.update(nonce=7)),
        altered(lambda d: d.update(nonce=d["nonce"] + "\n")),
        altered(lambda d: d.update(nonce=base64.b64encode(b"x" * 13).decode())),
        altered(lambda d: d.update(ciphertext="not base64")),
        altered(lambda d: d.update(ciphertext="QR==")),  # the same byte has the canonical spelling QQ==
        lambda sealed: sealed.to_json()[:-1],
        lambda sealed: b"[]",
    ],
)
def test_a_file_that_is_not_exactly_one_is_refused(sealed, alter):
    with pytest.raises(Malformed):
        Sealed.from_json(alter(sealed), "the file")


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
