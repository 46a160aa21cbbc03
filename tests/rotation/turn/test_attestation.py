"""Tests of a turn's signed files: by the key that the log names, all or none, and reproducible bytes."""

import json
import shutil
from hashlib import sha256
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from securesystemslib.exceptions import VerificationError

from rotation.errors import Refused
from rotation.turn import attestation
from rotation.turn.turn import Rotation
from vault.errors import Unavailable
from vault.ledger.release import month
from vault.ledger.signatures import sshsig
from vault.ledger.signatures.checkpoint import open_checkpoint
from vault.ledger.signatures.note import Verifier

from ...envelopes import opened
from ..conftest import BEFORE, FIRST, SMALL, Benchmark

pytestmark = pytest.mark.slow


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def turned(begun_home: Benchmark) -> Benchmark:
    """Return a benchmark after two turns."""
    begun_home.rotation.run(FIRST)
    return begun_home


def folder_of(benchmark: Benchmark, turn: object = FIRST) -> Path:
    return benchmark.public / "months" / str(turn)


def test_a_turn_signs_the_first_head_over_its_set_and_nothing_but_the_log_signs_that(turned):
    for turn in (BEFORE, FIRST):
        found = files(folder_of(turned, turn))
        assert sorted(found) == sorted(month.FILES)
        head, note = open_checkpoint(found[month.CHECKPOINT], [Verifier.parse(turned.vkey)])
        assert note.ignored == ()
        name = f"set/{turn.plus(1)}"
        kept = (turned.public / "log" / "checkpoints").iterdir()
        assert head.size == min(
            size for size in (int(path.name) for path in kept) if size > turned.ledger.index_of(name)
        )
        key = bytes.fromhex(turned.leaf(name).predicate["month_key"])
        assert key == turned.month_key.public_key().public_bytes_raw()
        sshsig.verify(found[month.CHECKPOINT], "quarterturn-checkpoint", found[month.SIGNATURE].decode(), key)
        assert opened(found[month.ATTESTATION], key)


def test_the_attestation_binds_head_release_and_set(turned):
    found = files(folder_of(turned))
    key = turned.month_key.public_key().public_bytes_raw()
    says = json.loads(opened(found[month.ATTESTATION], key))
    head, _ = open_checkpoint(found[month.CHECKPOINT], [Verifier.parse(turned.vkey)])
    manifest = sha256((turned.releases / FIRST.release / "manifest.json").read_bytes()).hexdigest()
    assert says == {
        "_type": "https://in-toto.io/Statement/v1",
        "predicateType": "urn:quarterturn:month:v1",
        "subject": [
            {"name": "checkpoint", "digest": {"sha256": sha256(found[month.CHECKPOINT]).hexdigest()}},
            {"name": "Historical-2026-12", "digest": {"sha256": manifest}},
        ],
        "predicate": {
            "month": "2026-12",
            "origin": "test.example/log",
            "checkpoint": {"size": head.size, "root": head.root.hex()},
            "set": {
                "month": "2027-01",
                "leaf": turned.ledger.index_of("set/2027-01"),
                "root": turned.leaf("set/2027-01").digest,
            },
            "release": {
                "name": "Historical-2026-12",
                "leaf": turned.ledger.index_of("retire/2026-12"),
                "manifest": manifest,
            },
            "next": {"month": "2027-01", "due": "2027-02-01"},
        },
    }


def test_the_turn_that_opens_a_benchmark_has_no_release_to_attest(turned):
    key = turned.month_key.public_key().public_bytes_raw()
    says = json.loads(opened((folder_of(turned, BEFORE) / month.ATTESTATION).read_bytes(), key))
    assert says["predicate"]["release"] is None
    assert [one["name"] for one in says["subject"]] == ["checkpoint"]
    assert says["predicate"]["next"] == {"month": "2026-12", "due": "2027-01-01"}


def test_missing_files_are_made_again_with_the_same_bytes_at_any_size_of_the_log(turned):
    before = files(folder_of(turned))
    signers = (turned.public / "allowed_signers").read_bytes()
    turned.stock(1)
    turned.rotation.run(FIRST.plus(1))
    shutil.rmtree(turned.public / "months")
    (turned.public / "allowed_signers").unlink()
    turned.rotation.republish(FIRST)
    assert files(folder_of(turned)) == before
    assert (turned.public / "allowed_signers").read_bytes() == signers
    assert turned.rotation.republish(BEFORE) == (None, folder_of(turned, BEFORE))


def test_witnesses_lines_under_a_head_change_nothing_that_is_signed(turned):
    before = files(folder_of(turned))
    size = open_checkpoint(before[month.CHECKPOINT], [Verifier.parse(turned.vkey)])[0].size
    turned.log.put_under(before[month.CHECKPOINT].decode(), "— witness.example AAAAAAAAAAAA\n")
    assert b"witness.example" in (turned.public / "log" / "checkpoints" / str(size)).read_bytes()
    shutil.rmtree(folder_of(turned))
    turned.rotation.republish(FIRST)
    assert files(folder_of(turned)) == before


def test_a_file_that_is_not_what_was_signed_is_never_written_over(turned):
    path = folder_of(turned) / month.SIGNATURE
    path.write_bytes(b"something else")
    with pytest.raises(Refused, match="holds something else"):
        turned.rotation.republish(FIRST)
    assert path.read_bytes() == b"something else"


def test_a_disk_that_fails_leaves_nothing_and_the_turn_goes_on_from_there(benchmark_home, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(attestation, "write_whole", full)
        with pytest.raises(Unavailable, match="No space left on device; call again"):
            benchmark_home.rotation.run(BEFORE)
    assert not folder_of(benchmark_home, BEFORE).exists()
    assert benchmark_home.months.turn(BEFORE).done[-1] == "set"
    assert benchmark_home.months.cohorts("live") == []
    assert benchmark_home.rotation.run(BEFORE).finished
    assert folder_of(benchmark_home, BEFORE).is_dir()


def another(benchmark: Benchmark) -> Rotation:
    """Continue with another key, as after the loss of the first."""
    return benchmark.signed_by(Ed25519PrivateKey.from_private_bytes(b"n" * 32))


def test_another_key_signs_from_the_next_turn_on_and_never_what_was_promised_under_the_first(begun_home):
    first = files(folder_of(begun_home, BEFORE))
    later = another(begun_home)
    later.run(FIRST)
    key = bytes.fromhex(begun_home.leaf("set/2027-01").predicate["month_key"])
    assert key != begun_home.month_key.public_key().public_bytes_raw()
    assert opened((folder_of(begun_home) / month.ATTESTATION).read_bytes(), key)
    with pytest.raises(VerificationError):
        opened(first[month.ATTESTATION], key)
    listed = (begun_home.public / "allowed_signers").read_text().splitlines()
    assert [line.split()[-1] for line in listed] == [
        sshsig.public_line(one).split()[-1] for one in (begun_home.month_key.public_key().public_bytes_raw(), key)
    ]
    later.republish(BEFORE)
    assert files(folder_of(begun_home, BEFORE)) == first
    shutil.rmtree(folder_of(begun_home, BEFORE))
    with pytest.raises(Refused, match=r"promised under another key than keys/month\.key: put that key back"):
        later.republish(BEFORE)


def test_nothing_that_is_signed_tells_anything_of_a_live_task(turned):
    live = [task for cohort in turned.months.cohorts("live") for task in cohort.tasks]
    secrets = [word for task in live for word in (task, turned.vault.record(task).commitment.hex())]
    key = turned.month_key.public_key().public_bytes_raw()
    found = files(folder_of(turned))
    shown = b"".join([opened(found[month.ATTESTATION], key), *found.values()])
    assert len(live) == SMALL.size
    assert not [word for word in secrets if word.encode() in shown]
