"""Tests of the log's signing key: its file is useless without the ring."""

import os

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from vault.errors import Broken, Locked, Malformed, Refused
from vault.keys import private_files, signing
from vault.keys.ring import FileKeyRing
from vault.keys.seal import seal


@pytest.fixture
def key():
    return Ed25519PrivateKey.generate()


@pytest.fixture
def path(tmp_path, ring, key):
    """Return where the key is stored."""
    signing.store(tmp_path / "log.key", key, ring)
    return tmp_path / "log.key"


def test_a_stored_key_signs_again(path, ring, key):
    again = signing.load(path, ring)
    key.public_key().verify(again.sign(b"head"), b"head")


def test_the_file_shows_no_byte_of_the_key_and_belongs_to_its_owner(path, key):
    assert path.stat().st_mode & 0o777 == 0o600
    raw = key.private_bytes_raw()
    assert raw not in path.read_bytes()
    assert raw.hex().encode() not in path.read_bytes()


def test_without_its_ring_it_is_locked(path, tmp_path):
    other = FileKeyRing.create(tmp_path / "other.json", None)
    with pytest.raises(Locked, match="does not hold"):
        signing.load(path, other)


def test_a_key_is_never_stored_over_another(path, ring, key):
    with pytest.raises(Refused):
        signing.store(path, Ed25519PrivateKey.generate(), ring)
    assert signing.load(path, ring).private_bytes_raw() == key.private_bytes_raw()


@pytest.mark.parametrize("use", [b"a task", signing.ENDPOINT])
def test_another_sealed_thing_in_its_place_does_not_become_a_key(tmp_path, ring, use):
    private_files.create(tmp_path / "log.key", seal(b"x" * 32, use, ring).to_json(), "signing key")
    with pytest.raises(Broken):
        signing.load(tmp_path / "log.key", ring, signing.LOG)


@pytest.mark.parametrize("text", [b"", b"{}", b"\xff\xfe", b"x" * 100_000])
def test_a_file_that_is_no_key_is_malformed(tmp_path, ring, text):
    private_files.create(tmp_path / "log.key", text, "signing key")
    with pytest.raises(Malformed):
        signing.load(tmp_path / "log.key", ring)


def test_a_folder_or_a_pipe_in_its_place_is_locked_and_does_not_hang(tmp_path, ring):
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe", 0o600)
    for name in ("folder", "pipe"):
        with pytest.raises(Locked, match="not a plain file"):
            signing.load(tmp_path / name, ring)
