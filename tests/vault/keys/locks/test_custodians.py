"""Tests of the custodians' lock: any two of three open the ring, and anything else is refused in one sentence."""

import subprocess
from dataclasses import replace
from itertools import permutations

import pytest

from vault.errors import Locked, Malformed
from vault.keys.locks.custodians import Custodians, KeyShare, Split, decrypted
from vault.keys.ring import FileKeyRing

from .... import ssh_keys
from .conftest import PEOPLE, Post


@pytest.fixture
def ring(path, post):
    ring = FileKeyRing.create(path, None)
    ring.add_lock(post.split())
    return ring


def brought(path, *shares):
    return FileKeyRing.open_by(path, [Custodians(shares)])


def test_any_two_open_it_in_any_order_and_a_third_does_no_harm(path, ring, post):
    shares = [post.share(name) for name in PEOPLE]
    for some in [*permutations(shares, 2), tuple(shares)]:
        assert brought(path, *some).key_id == ring.key_id


@pytest.mark.needs("age")
@pytest.mark.parametrize("name", PEOPLE)
def test_a_custodians_file_is_opened_by_plain_age(ring, post, tmp_path, name):
    (tmp_path / "share.age").write_bytes(post.files[name])
    words = ["age", "--decrypt", "--identity", post.folder / name, tmp_path / "share.age"]
    line = subprocess.run(words, check=True, capture_output=True).stdout
    assert KeyShare.parse(line) == post.share(name)
    assert post.share(name).words.encode() not in post.files[name]
    assert post.share(name).words not in repr(post.share(name))
    assert decrypted(line, [], "the share") == line


@pytest.mark.parametrize("name", PEOPLE)
def test_nobody_opens_anothers(ring, post, name):
    others = [(post.folder / other).read_bytes() for other in PEOPLE if other != name]
    with pytest.raises(Locked, match="not opened by any of the identities"):
        decrypted(post.files[name], others, "the share")
    with pytest.raises(Locked, match="--identity"):
        decrypted(post.files[name], [], "the share")


def refused(path, *shares, match):
    with pytest.raises(Locked, match=match) as error:
        brought(path, *shares)
    assert not any(share.words in str(error.value) for share in shares)


def test_too_few_repeated_and_changed_shares_are_each_named(path, ring, post):
    ada, bob, cyd = (post.share(name) for name in PEOPLE)
    refused(path, ada, match="2 shares open the ring and 1 came: ask bob, cyd")
    refused(path, match="2 shares open the ring and 0 came: ask ada, bob, cyd")
    refused(path, ada, ada, match="share of ada was given twice")
    refused(path, ada, replace(ada, custodian="bob"), match="do not go together")
    words = bob.words.split()
    words[10] = "academic" if words[10] != "academic" else "acid"
    refused(path, ada, replace(bob, words=" ".join(words)), match="one of them was changed")
    refused(path, ada, replace(cyd, words=cyd.words.replace(cyd.words.split()[-1], "zebra")), match="do not go")


def test_shares_of_another_ring_and_another_split_do_not_mix(path, ring, post, tmp_path):
    ada = post.share("ada")
    again = Post(post.folder)
    ring.add_lock(again.split())
    assert brought(path, again.share("ada"), again.share("bob")).key_id == ring.key_id
    refused(path, ada, again.share("bob"), match="belongs to another split")
    passed_off = replace(again.share("bob"), split=ada.split)
    refused(path, ada, passed_off, match="do not go together")

    other = Post(post.folder)
    FileKeyRing.create(tmp_path / "other", None).add_lock(other.split())
    refused(path, ada, other.share("bob"), match="share of bob belongs to another key ring, ring:")


@pytest.mark.parametrize(
    ("threshold", "public", "sentence"),
    [
        (1, {}, "must be from 2 to 3 "),
        (4, {}, "must be from 2 to 3 "),
        (2, {f"p{n}": "age1nobody" for n in range(14)}, "at most 16 custodians, not 17"),
        (2, {"bob": "age1nobody"}, "the key of bob is no public key"),
        (2, {"bob": "ssh-rsa AAAA"}, "the key of bob is no public key"),
        (2, {"bob": "ssh-ed25519 AAAA"}, "the key of bob is no public key"),
        (2, {"bob": "age1\udcff"}, "the key of bob is no public key"),
        (2, {"bob": "ssh-ed25519 \ufffd"}, "the key of bob is no public key"),
    ],
)
def test_a_split_that_could_not_be_joined_is_not_made(path, post, threshold, public, sentence):
    ring = FileKeyRing.create(path, None)
    with pytest.raises(Malformed, match=sentence):
        ring.add_lock(post.split(threshold, **public))
    assert not post.files
    assert [lock["kind"] for lock in ring.locks] == ["file-mode"]


def test_nobody_holds_two_shares_under_two_names(path, post):
    ring = FileKeyRing.create(path, None)
    public = {name: " ".join(post.public(name).split()[:2]) for name in PEOPLE}
    for twice in (public["ada"], f"{public['cyd']} cyd@another-machine"):
        with pytest.raises(Malformed, match="two custodians have one key"):
            ring.add_lock(post.split(eve=twice))
    assert not post.files


def test_a_split_that_cannot_be_delivered_makes_no_lock(path, post):
    ring = FileKeyRing.create(path, None)

    def undelivered(_):
        raise Locked("The folder is full.")

    with pytest.raises(Locked, match="full"):
        ring.add_lock(Split(2, {name: post.public(name) for name in PEOPLE}, undelivered))
    assert [lock["kind"] for lock in ring.locks] == ["file-mode"]


@pytest.mark.parametrize("line", [b"", b"{}", b"academic acid", b'{"format":"quarterturn/share/v1"}', b"\xff"])
def test_a_file_that_holds_no_share_is_malformed(line):
    with pytest.raises(Malformed, match="the share"):
        KeyShare.parse(line)


@pytest.mark.parametrize("identity", [b"", b"AGE-SECRET-KEY-1NOBODY", b"hello"])
def test_an_identity_that_is_none_is_malformed(ring, post, identity):
    with pytest.raises(Malformed, match="age -d"):
        decrypted(post.files["ada"], [identity], "the share")


def test_an_ssh_key_under_a_passphrase_is_opened_elsewhere(ring, post):
    with pytest.raises(Malformed, match="open the share with `age -d` first"):
        decrypted(post.files["cyd"], [ssh_keys.LOCKED.encode()], "the share")
