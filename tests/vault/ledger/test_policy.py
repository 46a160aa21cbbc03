"""Tests of witness policies and their proofs: quorums, and a malformed policy named by its line."""

import itertools

import pytest

from vault.errors import Broken, Malformed
from vault.ledger.signatures.checkpoint import Checkpoint
from vault.ledger.signatures.cosignature import Cosigner
from vault.ledger.signatures.note import Signer
from vault.ledger.signatures.policy import Policy
from vault.ledger.signatures.proof import HEADER, Proof
from vault.ledger.tree.merkle import MerkleTree, inclusion_proof, leaf_hash

from ..builders import edwards, flips, signer

LOG, OTHER = signer(), signer(100)
NAMES = ("X1", "X2", "X3", "Y1", "Y2")
COSIGNERS = {name: Cosigner(f"{name.lower()}.example", edwards(number)) for number, name in enumerate(NAMES, 1)}
WITNESSES = "".join(f"witness {name} {one.witness.vkey}\n" for name, one in COSIGNERS.items())
TEXT = (
    f"# whom we believe\n\nlog {LOG.verifier.vkey} https://bench.example/log\n{WITNESSES}"
    "group X\t2  X1 X2 X3\n  group Y any Y1 Y2\ngroup X-and-Y all X Y\nquorum X-and-Y\n"
)
LEAVES = [b"leaf %d" % number for number in range(11)]
TREE = MerkleTree([leaf_hash(leaf) for leaf in LEAVES])
HEAD = Checkpoint("bench.example/log", len(LEAVES), TREE.root(len(LEAVES)))


def note(by: tuple[str, ...], signer: Signer = LOG) -> str:
    return HEAD.sign(signer) + "".join(COSIGNERS[name].cosign(HEAD, 1000 + place) for place, name in enumerate(by))


def test_two_of_three_and_one_of_two_are_asked_for():
    policy = Policy.parse(TEXT)
    for size in range(len(NAMES) + 1):
        for by in itertools.combinations(NAMES, size):
            enough = sum(name[0] == "X" for name in by) >= 2 and any(name[0] == "Y" for name in by)
            assert policy.satisfied(by) == enough
    assert policy.logs[0].url == "https://bench.example/log"
    assert policy.open(note(("Y2", "X3", "X1"))).witnesses == {"X1": 1002, "X3": 1001, "Y2": 1000}
    with pytest.raises(Broken, match="cosigned by X1, Y1; the quorum 'X-and-Y' needs more"):
        policy.open(note(("X1", "Y1")))
    with pytest.raises(Broken, match="no witness of the policy"):
        policy.open(note(()))


def test_a_head_that_no_known_log_signed_is_refused_however_many_cosigned_it():
    with pytest.raises(Broken, match="signed by no given key of that name"):
        Policy.parse(TEXT).open(note(NAMES, OTHER))


def test_a_policy_may_ask_for_nobody():
    head = Policy.parse(f"log {LOG.verifier.vkey}\nquorum none\n").open(note(("X1",)))
    assert (head.checkpoint, head.witnesses) == (HEAD, {})


W1, W2 = (COSIGNERS[name].witness.vkey for name in ("X1", "X2"))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "has a line `quorum NAME`"),
        ("quorum none", "ends in a newline"),
        ("quorum none\nquorum none\n", "line 2 of the policy: there is a quorum already"),
        ("quorum W\n", "no line before defines 'W'"),
        (f"witness W {W1}\nwitness W {W2}\nquorum W\n", "line 2 of the policy: 'W' is taken"),
        (f"witness none {W1}\nquorum none\n", "'none' is taken"),
        (f"witness A {W1}\nwitness B {W1}\nquorum A\n", "stands in the policy already"),
        (f"witness A {W1}\ngroup G any A A\nquorum G\n", "is a member already"),
        (f"witness A {W1}\ngroup G any A\ngroup H any A\nquorum G\n", "line 3 of the policy: 'A' is a member already"),
        (f"witness A {W1}\ngroup G 2 A\nquorum G\n", "a number from 1 to 1"),
        (f"witness A {W1}\ngroup G 01 A\nquorum G\n", "a number from 1 to 1"),
        (f"witness A {W1}\ngroup G 0 A\nquorum G\n", "a number from 1 to 1"),
        (f"witness A {W1}\ngroup G any G\nquorum G\n", "no line before defines 'G'|is taken"),
        ("group G any\nquorum none\n", "`group NAME"),
        (f"log {W1}\nquorum none\n", "line 1 of the policy: the verifier key of x1.example is not of type Ed25519"),
        (f"witness A {LOG.verifier.vkey}\nquorum A\n", "the verifier key of bench.example/log is not of type"),
        ("log\nquorum none\n", "a line is `log VKEY"),
        ("witness A\nquorum none\n", "`witness NAME"),
        ("quorum\n", "`quorum NAME"),
        ("believe me\nquorum none\n", "or begins with #"),
        ("quorum none\r\n", "control character"),
        ("quorum\x0bnone\n", "control character"),
        ("#\n" * 5000, "at most 4096 lines"),
    ],
)
def test_a_malformed_policy_is_named_by_its_line(text, says):
    with pytest.raises(Malformed, match=says):
        Policy.parse(text)


def test_bytes_beyond_ascii_are_let_be_in_names_and_comments():
    policy = Policy.parse(b"# \xff\nwitness W\xc3\xa9\xff " + W1.encode() + b"\nquorum W\xc3\xa9\xff\n")
    assert policy.satisfied([policy.quorum])


@pytest.fixture
def proof() -> Proof:
    return Proof(5, inclusion_proof(TREE.node, 5, len(LEAVES)), note(("X1", "X2", "Y1")))


def test_a_proof_comes_back_from_its_text_and_holds_for_its_leaf_alone(proof):
    again = Proof.parse(proof.format())
    assert again == proof
    assert again.verify(LEAVES[5], Policy.parse(TEXT)).checkpoint == HEAD
    with pytest.raises(Broken, match="leaf 5 of 11 gives the root"):
        again.verify(LEAVES[4], Policy.parse(TEXT))


def test_extra_data_is_carried_along(proof):
    more = Proof(proof.index, proof.hashes, proof.checkpoint, b"\0more")
    assert Proof.parse(more.format()) == more
    assert more.format().splitlines()[1].startswith("extra ")


@pytest.mark.full
@pytest.mark.slow
def test_every_flipped_bit_of_a_proof_is_noticed(proof):
    """Signature lines count too: the quorum needs each of the three."""
    policy = Policy.parse(TEXT)
    for bad in flips(proof.format().encode()):
        with pytest.raises((Broken, Malformed)):
            Proof.parse(bad).verify(LEAVES[5], policy)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda text: text.replace(HEADER, "c2sp.org/tlog-proof@v2"), "begins with the line"),
        (lambda text: text.replace("index 5", "index 05"), "without leading zeros"),
        (lambda text: text.replace("index 5\n", ""), "a line `index NUMBER`"),
        (lambda text: text.replace("index 5", "index 5\nAAAA"), "hash 1 of the proof has 3 bytes"),
        (lambda text: text.replace("index 5", "index 5\n" + "A" * 43 + "="), "hashes, not 5"),
        (lambda text: text.replace("index 5", "index 5" + 64 * ("\n" + "A" * 43 + "=")), "at most 63"),
        (lambda text: text.partition("\n\n")[0], "an empty line stands before"),
    ],
)
def test_malformed_proofs_are_refused(proof, change, says):
    with pytest.raises((Malformed, Broken), match=says):
        Proof.parse(change(proof.format())).verify(LEAVES[5], Policy.parse(TEXT))
