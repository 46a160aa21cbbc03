"""Tests of `plumb`: one document or ten thousand lines; valid, invalid, or not understood."""

import base64
import hashlib
import json
import shutil
from pathlib import Path
from random import Random

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from grammars.draw.sample import sample
from quarterturn.audit import plumbing
from quarterturn.cli.auditing import plumb as verbs
from vault.canonical import canonical
from vault.commitment import commitment
from vault.ledger.signatures.checkpoint import Checkpoint
from vault.ledger.signatures.cosignature import Cosigner
from vault.ledger.signatures.note import Signer
from vault.ledger.signatures.proof import Proof
from vault.ledger.tree.merkle import MerkleTree, inclusion_proof, leaf_hash
from vault.ledger.tree.tiles import entries_path, tile_path, unpack_entries
from vault.ledger.write.append import LogWriter
from vault.task import variant
from vault.task.document import Task

from ..shipped import shipped
from ..vault.builders import RELEASE, VECTORS

LOG = Signer("bench.example/log", Ed25519PrivateKey.from_private_bytes(bytes(range(32))))
WITNESS = Cosigner("witness.example/w1", Ed25519PrivateKey.from_private_bytes(bytes(32)))
LEAVES = [b"leaf %d" % number for number in range(300)]
TREE = MerkleTree([leaf_hash(leaf) for leaf in LEAVES])
HEAD = Checkpoint("bench.example/log", len(LEAVES), TREE.root(len(LEAVES)))
NOTE = HEAD.sign(LOG) + WITNESS.cosign(HEAD, 1000)
ROOT = base64.b64encode(HEAD.root).decode()
POLICY = f"log {LOG.verifier.vkey}\nwitness W {WITNESS.witness.vkey}\nquorum W\n"
PROOF = Proof(7, inclusion_proof(TREE.node, 7, len(LEAVES)), NOTE).format()


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


@pytest.fixture
def plumb(say, monkeypatch, tmp_path):
    def given(verb, *documents, options=()):
        (tmp_path / "in").write_text("\n".join(one if isinstance(one, str) else json.dumps(one) for one in documents))
        with (tmp_path / "in").open() as text:
            monkeypatch.setattr("sys.stdin", text)
            return say("plumb", verb, *options)

    return given


@pytest.fixture
def log(tmp_path: Path) -> Path:
    writer = LogWriter(tmp_path / "log", tmp_path / "head" / "signed", LOG, LOG.name)
    writer.append(LEAVES[:200], 0)
    writer.append(LEAVES[200:], 200)
    return tmp_path / "log"


def test_every_verb_that_is_offered_is_there() -> None:
    assert set(verbs.VERBS) | set(verbs.FOLDERS) == set(plumbing.VERBS)


TWO = MerkleTree([leaf_hash(leaf) for leaf in LEAVES[:2]])
INCLUSION = {
    "leafIdx": 1,
    "treeSize": 2,
    "leafHash": b64(leaf_hash(LEAVES[1])),
    "root": b64(TWO.root(2)),
    "proof": [b64(digest) for digest in inclusion_proof(TWO.node, 1, 2)],
}
SAME = {"size1": 1, "size2": 1, "root1": b64(TWO.root(1)), "root2": b64(TWO.root(1)), "proof": []}
STRANGE = [True, 1.0, "1", None, -1]
"""Values that are no leaf's index and no size, though some of them equal 1 in Python."""
FORMS = "64 lower-case hexadecimal digits, as in a release, or canonical base64, as in a checkpoint"
NO_SALT = ["", bytes(31).hex(), "AB" * 32, *(b64(bytes(size)) for size in (31, 33)), b64(bytes(32)).rstrip("="), 7]
NO_SALT += ["a" * 63 + "\n"]
YES = [
    ("verify-inclusion", INCLUSION, {"ok": True}),
    ("verify-consistency", SAME, {"ok": True}),
    ("commit", {"task": {"b": 1, "a": "é"}, "salt": b64(bytes(32))}, None),
    ("leaf-hash", {"leaf": b64(b"leaf 0")}, {"hash": b64(hashlib.sha256(b"\0leaf 0").digest())}),
    (
        "note-verify",
        {"note": NOTE, "keys": [LOG.verifier.vkey]},
        {"ok": True, "verified": [LOG.name], "text": HEAD.format()},
    ),
    (
        "note-verify",
        {"note": NOTE, "keys": [WITNESS.witness.vkey]},
        {"ok": True, "verified": [WITNESS.name], "text": HEAD.format()},
    ),
    ("checkpoint-parse", {"checkpoint": NOTE}, {"origin": LOG.name, "size": 300, "root": ROOT, "extensions": []}),
    ("cosign-verify", {"checkpoint": NOTE, "policy": POLICY}, {"ok": True, "witnesses": ["W"]}),
    ("proof-verify", {"proof": PROOF, "leaf": b64(LEAVES[7]), "policy": POLICY}, {"ok": True, "index": 7}),
]
NO = [
    ("note-verify", {"note": NOTE, "keys": []}, "no given key signed the note"),
    ("cosign-verify", {"checkpoint": HEAD.sign(LOG), "policy": POLICY}, "the quorum 'W' needs more"),
    ("proof-verify", {"proof": PROOF, "leaf": b64(LEAVES[8]), "policy": POLICY}, "the leaf is not in the tree"),
]
WHAT = [
    ("cosign-verify", {"checkpoint": NOTE, "policy": "quorum\n"}, "line 1 of the policy"),
    ("cosign-verify", {"checkpoint": "", "policy": POLICY}, "a signed note is"),
    ("proof-verify", {"proof": PROOF.replace("index 7", "index 07"), "leaf": "", "policy": POLICY}, "leading zeros"),
    ("checkpoint-parse", {"checkpoint": NOTE.replace("300", "0300")}, "without leading zeros"),
    ("note-verify", {"note": NOTE, "keys": ["key"]}, "a verifier key reads"),
    ("note-verify", {"note": 1, "keys": []}, "wrong type"),
    ("leaf-hash", {}, "has no field 'leaf'"),
    ("leaf-hash", {"leaf": "AAB="}, "$.leaf is not canonical base64"),
    ("leaf-hash", {"leaf": "b"}, "$.leaf is not base64"),
    *[("commit", {"task": {}, "salt": salt}, f"$.salt must be 32 bytes: {FORMS}") for salt in NO_SALT],
    ("verify-inclusion", INCLUSION | {"proof": [b64(bytes(32)), "ab"]}, f"$.proof[1] must be 32 bytes: {FORMS}"),
    ("verify-inclusion", INCLUSION | {"root": None}, f"$.root must be 32 bytes: {FORMS}"),
    ("leaf-hash", [], "holds no JSON object"),
    *[("verify-inclusion", INCLUSION | {"leafIdx": it}, "$.leafIdx must be a whole number") for it in STRANGE],
    *[("verify-inclusion", INCLUSION | {"treeSize": it}, "$.treeSize must be a whole number") for it in STRANGE],
    *[("verify-consistency", SAME | {"size1": it}, "$.size1 must be a whole number") for it in STRANGE],
    *[("verify-consistency", SAME | {"size2": it}, "$.size2 must be a whole number") for it in STRANGE],
    ("verify-inclusion", INCLUSION | {"proof": {}}, "$.proof must be a list"),
    ("verify-consistency", SAME | {"proof": {}}, "$.proof must be a list"),
    ("tiles-root", {"dir": "log", "keys": {}}, "$.keys must be a list"),
    ("fsck", {"dir": "log", "keys": {}}, "$.keys must be a list"),
    ("note-verify", {"note": NOTE, "keys": {LOG.verifier.vkey: 1}}, "$.keys must be a list"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("verb", "document", "answer"), YES)
def test_yes_is_0(plumb, verb, document, answer) -> None:
    said = plumb(verb, document)
    assert said.code == 0
    assert answer is None or json.loads(said.out) == answer


@pytest.mark.parametrize(("verb", "document", "why"), NO)
def test_no_is_1_with_a_sentence(plumb, verb, document, why) -> None:
    said = plumb(verb, document)
    assert (said.code, json.loads(said.out)["ok"]) == (1, False)
    assert why in json.loads(said.out)["error"]
    evidence = json.loads(said.out)["evidence"]
    assert evidence["where"]
    assert evidence["expected"] != evidence["found"]


@pytest.mark.parametrize(("verb", "document", "why"), WHAT)
def test_malformed_input_is_exit_code_2_with_a_sentence(plumb, verb, document, why) -> None:
    if verb in verbs.FOLDERS:  # on a command line these take words and no document
        assert why in json.loads(plumb(verb, document, options=["--lines"]).out)["error"]
        return
    said = plumb(verb, document)
    assert (said.code, said.out) == (2, "")
    assert why in said.err


def as_hex(value):
    """Write every base64 of 32 bytes in a document as hex."""
    if isinstance(value, dict):
        return {key: as_hex(item) for key, item in value.items()}
    if isinstance(value, list):
        return [as_hex(item) for item in value]
    return base64.b64decode(value).hex() if isinstance(value, str) and len(value) == 44 else value


@pytest.mark.parametrize(
    ("verb", "document"),
    [
        ("commit", {"task": {}, "salt": b64(bytes(range(32)))}),
        ("verify-inclusion", INCLUSION),
        ("verify-consistency", SAME),
    ],
)
def test_hex_and_base64_give_the_same_answer(plumb, verb, document) -> None:
    assert as_hex(document) != document
    assert plumb(verb, as_hex(document)).out == plumb(verb, document).out


def test_what_a_release_has_is_taken_as_it_stands_there(plumb) -> None:
    release = VECTORS / "good" / RELEASE
    files = [(release / name).read_text().splitlines() for name in ("tasks.jsonl", "openings.jsonl")]
    rows = [map(json.loads, lines) for lines in files]
    for task, opening in zip(*rows, strict=True):
        said = plumb("commit", {"task": task, "salt": opening["salt"]})
        assert json.loads(said.out) == {"commitment": opening["commitment"]}
    result = json.loads((release / "results.jsonl").read_text().splitlines()[0])
    bound = commitment("result", canonical(result["result"]), bytes.fromhex(result["salt"]))
    leaves = unpack_entries((release / "log" / entries_path(0, 16)).read_bytes(), 16)
    scores = [json.loads(leaf)["predicate"] for leaf in leaves if b"urn:quarterturn:score:v1" in leaf]
    score = next(score for score in scores if score["run"] == result["run"])
    document = {
        "leafIdx": result["position"],
        "treeSize": score["count"],
        "leafHash": leaf_hash(bound).hex(),
        "root": score["results_root"],
        "proof": result["proof"],
    }
    assert json.loads(plumb("verify-inclusion", document).out) == {"ok": True}


def test_with_lines_each_gets_its_answer_and_the_exit_code_is_0(plumb) -> None:
    good = [document for verb, document, _ in YES if verb == "note-verify"]
    bad = [document for verb, document, _ in NO + WHAT if verb == "note-verify"]
    said = plumb("note-verify", *good, *bad, "no json", options=["--lines"])
    answers = [json.loads(line) for line in said.out.splitlines()]
    assert said.code == 0
    assert [answer["ok"] for answer in answers] == [True] * len(good) + [False] * (len(bad) + 1)


def test_canonical_bytes_come_as_they_are_or_line_by_line(plumb) -> None:
    said = plumb("jcs", '{"b": [1.0, "é"], "a": null}', "{", "1E1", options=["--lines"])
    first, broken, last = (json.loads(line) for line in said.out.splitlines())
    assert base64.b64decode(first["jcs"]) == '{"a":null,"b":[1,"é"]}'.encode()
    assert (broken["ok"], base64.b64decode(last["jcs"])) == (False, b"10")


@pytest.mark.parametrize("head", [True, False])
def test_the_root_is_rebuilt_from_tiles_with_a_head_or_without(plumb, log, head) -> None:
    if not head:
        (log / "checkpoint").unlink()
    assert json.loads(plumb("tiles-root", options=[log]).out) == {"size": 300, "root": ROOT}


def test_tiles_that_are_not_what_was_signed_are_a_no_where_a_key_is_given(plumb, log) -> None:
    tile = log / tile_path(0, 1, 44)
    tile.write_bytes(bytes(32) + tile.read_bytes()[32:])
    assert plumb("tiles-root", options=[log]).code == 0
    said = plumb("tiles-root", options=[log, "--key", LOG.verifier.vkey])
    assert said.code == 1
    assert "the signed head says" in json.loads(said.out)["error"]
    tile.unlink()
    said = plumb("tiles-root", options=[log])
    assert (said.code, json.loads(said.out)["ok"]) == (1, False)


def test_a_log_is_checked_and_what_is_wrong_is_listed(plumb, log) -> None:
    key = LOG.verifier.vkey
    assert json.loads(plumb("fsck", options=[log, "--key", key]).out) == {"ok": True, "problems": []}
    bad = shutil.copytree(log, log.with_name("bad"))
    (bad / entries_path(0)).write_bytes((bad / entries_path(0)).read_bytes().replace(b"leaf 9", b"leaf X", 1))
    documents = [{"dir": str(folder), "keys": [key]} for folder in (log, bad, log / "nothing")]
    said = plumb("fsck", *documents, options=["--lines"])
    good, broken, nothing = (json.loads(line) for line in said.out.splitlines())
    assert (said.code, good["ok"], broken["ok"], nothing["ok"]) == (0, True, False, False)
    assert any("tile/0/000" in problem for problem in broken["problems"])
    assert plumb("fsck", options=[bad, "--key", key]).code == 1
    assert plumb("fsck", options=[log]).code == 1


def test_a_folder_has_to_be_named(plumb) -> None:
    said = plumb("fsck")
    assert said.code == 2
    assert "name a folder of tiles" in said.err


# -- variants ---------------------------------------------------------------------------------------------------------

KEY = variant.task_key(b"test-master-key", "t-aaaaaaaaaaaaaaaa")


@pytest.fixture(scope="module")
def task() -> Task:
    """Return a task of which each submitter is served a variant."""
    document = sample(shipped("filesystem"), Random(4)).task
    return Task.parse(document).keyed(variant.digest(KEY))


def about(task, **changes):
    document = {"task": task.document, "key": b64(KEY), "submitter": "acme", "month": "2026-12"}
    return document | changes


def test_the_values_are_those_that_the_submitter_was_served(task, plumb):
    said = plumb("variant", about(task))
    values = variant.assigned(KEY, "acme", "2026-12", task.free)
    assert said.code == 0
    assert json.loads(said.out) == {"ok": True, "values": values, "goal": task.filled(values).goal}


def test_the_key_may_stand_as_a_release_has_it(task, plumb):
    assert plumb("variant", about(task, key=KEY.hex())).out == plumb("variant", about(task)).out


def test_another_key_than_the_one_committed_to_is_a_no_with_a_sentence(task, plumb):
    said = plumb("variant", about(task, key=b64(bytes(32))))
    assert said.code == 1
    assert task.id in json.loads(said.out)["error"]


def test_a_task_without_a_key_was_served_as_its_base_to_everybody(plumb):
    plain = Task.parse(sample(shipped("filesystem"), Random(4)).task)
    assert json.loads(plumb("variant", {"task": plain.document}).out)["goal"] == plain.base().goal


def test_with_lines_each_document_gets_an_answer_and_a_bad_one_stops_nothing(task, plumb):
    bad = about(task, month="2026")
    said = plumb("variant", about(task), "{", bad, about(task, submitter="bolt"), {"task": 3}, options=("--lines",))
    answers = [json.loads(line) for line in said.out.splitlines()]
    assert said.code == 0
    assert [answer["ok"] for answer in answers] == [True, False, False, True, False]
    assert answers[0]["values"] != answers[3]["values"]
    assert "YYYY-MM" in answers[2]["error"]
