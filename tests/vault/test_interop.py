"""Interoperability tests of sealing: standard AES-256-GCM, and near misses refused in the vault's own words.

The bad inputs are those of Wycheproof's AES-GCM tests by kind: tags with one bit changed or cut short, nonces of other
lengths, swapped associated data; and what a vault adds to them: keys of another row, another ring, another use.
"""

import base64
import dataclasses
import itertools
import json
from contextlib import contextmanager

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import ECB

from vault.database import transaction
from vault.errors import Broken, Locked, Malformed, VaultError
from vault.keys import signing
from vault.keys.ring import FileKeyRing
from vault.keys.seal import NONCE_SIZE, TAG_SIZE, Sealed, seal, unseal
from vault.store import blobs
from vault.store.tables import BlobRow, TaskRow

from .builders import CHEAP, turned

KEY, NONCE, CONTEXT, TEXT = bytes(range(32)), bytes(range(80, 92)), b"a context", b"a heron by the weir"

# D. McGrew and J. Viega, "The Galois/Counter Mode of Operation", appendix B, the test cases of 256-bit keys:
# key, nonce, plaintext, associated data, ciphertext and tag.
CASE_16 = (
    "feffe9928665731c6d6a8f9467308308" * 2,
    "cafebabefacedbaddecaf888",
    "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
    "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
    "feedfacedeadbeeffeedfacedeadbeefabaddad2",
    "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838c5f61e63"
    "93ba7a0abcc9f66276fc6ece0f4e1768cddf8853bb2d551b",
)
PUBLISHED = {
    "case 13": ("00" * 32, "00" * 12, "", "", "530f8afbc74536b9a963b4f1c4cb738b"),
    "case 14": (
        "00" * 32,
        "00" * 12,
        "00" * 16,
        "",
        "cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919",
    ),
    "case 16": CASE_16,
}


def times(one: int, other: int) -> int:
    """Multiply in the field of GCM (NIST SP 800-38D, algorithm 1)."""
    product = 0
    for bit in range(127, -1, -1):
        product ^= other * (one >> bit & 1)
        other = other >> 1 ^ (0xE1 << 120) * (other & 1)
    return product


def gcm(key: bytes, nonce: bytes, text: bytes, data: bytes) -> bytes:
    """Encrypt as NIST SP 800-38D says (algorithms 2 to 4), with only the block cipher from a library."""
    block = Cipher(AES(key), ECB()).encryptor().update
    mask = b"".join(block(nonce + (2 + place).to_bytes(4)) for place in range(len(text) // 16 + 1))
    ciphertext = bytes(one ^ other for one, other in zip(text, mask, strict=False))
    hashed, by = 0, int.from_bytes(block(bytes(16)))
    lengths = (len(data) * 8).to_bytes(8) + (len(text) * 8).to_bytes(8)
    padded = b"".join(part + bytes(-len(part) % 16) for part in (data, ciphertext, lengths))
    for place in range(0, len(padded), 16):
        hashed = times(hashed ^ int.from_bytes(padded[place : place + 16]), by)
    return ciphertext + (hashed ^ int.from_bytes(block(nonce + (1).to_bytes(4)))).to_bytes(16)


class Bare:
    """A ring that wraps nothing, so that a test knows the data key."""

    key_id = "test-bare"

    def wrap(self, data_key: bytes, context: bytes) -> bytes:
        return data_key

    def unwrap(self, blob: bytes, context: bytes) -> bytes:
        return blob


@pytest.fixture
def sealed(rings):
    return seal(TEXT, CONTEXT, rings[0])


@contextmanager
def refused(*how):
    """Require an error of the vault that has no library's error as its cause."""
    with pytest.raises(VaultError) as caught:
        yield caught
    assert isinstance(caught.value, how or (Broken, Malformed, Locked)), repr(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None or caught.value.__suppress_context__


# -- known answers ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", PUBLISHED)
def test_a_second_implementation_gives_the_published_answers(case):
    *given, expected = map(bytes.fromhex, PUBLISHED[case])
    assert gcm(*given) == expected


@pytest.mark.parametrize("text", [b"", b"x", b"x" * 16, TEXT, bytes(range(256))])
def test_a_second_implementations_seal_opens_and_equals_the_vaults(text):
    ciphertext = gcm(KEY, NONCE, text, b"quarterturn/seal/v1\n" + CONTEXT)
    sealed = Sealed(Bare.key_id, KEY, NONCE, ciphertext)
    assert unseal(sealed, CONTEXT, Bare()) == text
    assert seal(text, CONTEXT, Bare(), {32: KEY, 12: NONCE}.__getitem__) == sealed


# -- bad tags, nonces, texts and contexts -----------------------------------------------------------------------------

TAGS = {
    "bits 0 and 64 turned": lambda tag: turned(tag, 0, 64),
    "bits 71 and 103 turned": lambda tag: turned(tag, 71, 103),
    "all bits turned": lambda tag: bytes(byte ^ 0xFF for byte in tag),
    "highest bits turned": lambda tag: bytes(byte ^ 0x80 for byte in tag),
    "all zero": lambda tag: bytes(16),
    "all ones": lambda tag: b"\xff" * 16,
    "backwards": lambda tag: tag[::-1],
    **{f"cut to {size}": lambda tag, size=size: tag[:size] for size in (0, 4, 8, 12, 15)},
    "one byte longer": lambda tag: tag + b"\0",
    "twice": lambda tag: tag + tag,
}


@pytest.mark.parametrize("how", TAGS)
@pytest.mark.parametrize("text", [TEXT, b""], ids=["text", "no text"])
def test_another_tag_does_not_open(rings, how, text):
    good = seal(text, CONTEXT, rings[0])
    body, tag = good.ciphertext[:-TAG_SIZE], good.ciphertext[-TAG_SIZE:]
    with refused(Broken, Malformed):
        unseal(dataclasses.replace(good, ciphertext=body + TAGS[how](tag)), CONTEXT, rings[0])


@pytest.mark.parametrize("name", ["nonce", "ciphertext", "wrapped_key"])
def test_one_turned_bit_does_not_open(rings, sealed, name):
    """The last bits of the ciphertext are those of the tag."""
    good = getattr(sealed, name)
    for bit in range(8 * len(good)):
        with refused(Broken, Locked):
            unseal(dataclasses.replace(sealed, **{name: turned(good, bit)}), CONTEXT, rings[0])


@pytest.mark.parametrize("size", [0, 1, 8, 11, 13, 16, 32, 257])
def test_a_nonce_of_another_length_is_none(rings, size):
    nonce = bytes(size)
    ciphertext = gcm(KEY, nonce.ljust(NONCE_SIZE, b"\0")[:NONCE_SIZE], TEXT, b"quarterturn/seal/v1\n" + CONTEXT)
    with refused(Malformed):
        Sealed("test-bare", KEY, nonce, ciphertext)
    with refused(Malformed):
        Sealed.from_json(json.dumps(spelled(KEY, nonce, ciphertext)).encode(), "it")


@pytest.mark.parametrize(
    "context",
    [b"", CONTEXT[:-1], CONTEXT + b"\0", CONTEXT.upper(), CONTEXT + CONTEXT, b"\n" + CONTEXT, TEXT],
)
def test_other_associated_data_opens_neither_the_key_nor_the_text(rings, sealed, context):
    with refused(Broken):
        rings[0].unwrap(sealed.wrapped_key, context)
    naked = seal(TEXT, CONTEXT, Bare())
    with refused(Broken):
        unseal(naked, context, Bare())


@pytest.mark.parametrize("size", [0, 1, 16, 24, 31, 33, 64])
def test_a_data_key_of_another_length_is_none(size):
    with refused(Broken, Malformed) as caught:
        unseal(Sealed("test-bare", bytes(size), NONCE, bytes(16)), CONTEXT, Bare())
    assert not size or f"{size} bytes instead of 32" in str(caught.value)


# -- keys of another row, ring and use --------------------------------------------------------------------------------


def test_a_key_of_another_ring_is_not_tried_under_ours(rings, sealed):
    with refused(Locked) as caught:
        unseal(sealed, CONTEXT, rings[1])
    assert rings[0].key_id in str(caught.value)
    foreign, own = sealed.wrapped_key, rings[1].wrap(KEY, CONTEXT)
    for border in (1, 8, 12, 20, len(own) - 16):  # the name of our key in front of what another wrapped, and so on
        with refused(Broken, Locked, Malformed):
            rings[1].unwrap(own[:border] + foreign[border:], CONTEXT)


def test_a_wrapped_key_of_any_other_length_is_refused(rings, sealed):
    blob = sealed.wrapped_key
    for other in (*(blob[:size] for size in range(len(blob))), blob + b"\0", blob + blob, b"\0" + blob):
        with refused():
            rings[0].unwrap(other, CONTEXT)


def test_a_key_for_one_use_is_none_for_another(tmp_path, rings):
    path = tmp_path / "key"
    path.write_bytes(seal(KEY, signing.ENDPOINT, rings[0]).to_json())
    path.chmod(0o600)
    with refused(Broken):
        signing.load(path, rings[0], signing.LOG)


@pytest.mark.parametrize("part", ["wrapped_key", "nonce", "ciphertext", "everything"])
def test_parts_of_another_row_do_not_open(vault, engine, add, part):
    """Author, ring and time are the same; only the row differs."""
    one, two = add(0), add(1)
    for name in ("trace/1", "trace/2"):
        vault.seal_blob(name, TEXT)
    with transaction(engine) as session:
        for kind, here, there in ((TaskRow, one.id, two.id), (BlobRow, "trace/1", "trace/2")):
            source, target = session.get(kind, there), session.get(kind, here)
            for column in ("wrapped_key", "nonce", "ciphertext") if part == "everything" else (part,):
                setattr(target, column, getattr(source, column))
    with refused(Broken):
        vault.open(one.id, who="ada", why="review")
    with refused(Broken):
        vault.open_blob("trace/1", who="ada", why="review")
    with refused(Broken):
        vault.open_blobs("trace/", who="ada", why="review")


def test_a_blob_that_stands_where_a_task_stood_does_not_open(vault, engine, ring, add):
    record, moment = add(0), add(1).created_at
    with transaction(engine) as session:
        row = session.get(TaskRow, record.id)
        for name, value in seal(TEXT, blobs.context(record.id, moment), ring).columns().items():
            setattr(row, name, value)
    with refused(Broken):
        vault.open(record.id, who="ada", why="review")


@pytest.mark.parametrize(
    ("column", "value"),
    [
        *(("nonce", f"zeroblob({size})") for size in (0, 11, 13, 16)),
        *(("ciphertext", f"zeroblob({size})") for size in (0, 15, 16, 40)),
        *(("wrapped_key", f"zeroblob({size})") for size in (0, 1, 67, 68, 5000)),
        ("key_id", "''"),
        ("nonce", "substr(nonce, 2)"),
        ("ciphertext", "substr(ciphertext, 1, length(ciphertext) - 1)"),
        ("wrapped_key", "substr(wrapped_key, 1, length(wrapped_key) - 1)"),
    ],
)
def test_a_row_with_a_part_of_another_length_is_refused(vault, engine, add, column, value):
    record = add(0)
    vault.seal_blob("trace/1", TEXT)
    with engine.begin() as connection:
        for table in ("vault_task", "vault_blob"):
            connection.exec_driver_sql(f"UPDATE {table} SET {column} = {value}")
    with refused():
        vault.open(record.id, who="ada", why="review")
    with refused():
        vault.open_blob("trace/1", who="ada", why="review")


# -- base64 -----------------------------------------------------------------------------------------------------------


def spelled(wrapped_key: bytes, nonce: bytes, ciphertext: bytes) -> dict[str, str]:
    parts = {"wrapped_key": wrapped_key, "nonce": nonce, "ciphertext": ciphertext}
    encoded = {name: base64.b64encode(value).decode() for name, value in parts.items()}
    return {"format": "quarterturn/sealed/v1", "key_id": "test-bare", **encoded}


ODD = bytes([0xFB, 0xEF, 0xBE] * 12 + [0xFF])  # in base64 it has a +, a / and two = signs
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
@pytest.mark.parametrize("name", ["wrapped_key", "ciphertext"])
def test_bytes_are_spelled_in_one_way_only(name, how):
    good = spelled(ODD, NONCE, ODD)
    assert getattr(Sealed.from_json(json.dumps(good).encode(), "it"), name) == ODD
    with refused(Malformed):
        Sealed.from_json(json.dumps(good | {name: SPELLINGS[how](good[name])}).encode(), "it")


def strings(value, place=()):
    """Give the paths of all strings in a document."""
    if isinstance(value, str):
        yield place
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from strings(item, (*place, key))


@pytest.mark.parametrize("passphrase", [None, b"test-passphrase"])
def test_a_ring_file_is_spelled_in_one_way_only(tmp_path, passphrase):
    path = tmp_path / "ring"
    FileKeyRing.create(path, passphrase, cost=CHEAP)
    whole = path.read_text()
    places = [place for place in strings(json.loads(whole)) if passphrase is None or place[0] == "locks"]
    assert len(places) > 3
    for place, change in itertools.product(places, CHANGES):
        document = json.loads(whole)
        inner = document
        for key in place[:-1]:
            inner = inner[key]
        inner[place[-1]] = change(inner[place[-1]])
        path.write_text(json.dumps(document))
        with refused():
            FileKeyRing.open(path, passphrase)


CHANGES = [
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
]
