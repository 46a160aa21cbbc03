"""Tests of audits with a witness policy: cosignatures are required, and an audit without a policy says so."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from vault.ledger.audit.report import caveats
from vault.ledger.audit.verify import audit
from vault.ledger.signatures.checkpoint import Checkpoint
from vault.ledger.signatures.note import take_apart
from vault.ledger.signatures.policy import Policy

from ..builders import RELEASE, VECTORS, WITNESSES, cosigned_at, signer

ROOT = Path(__file__).resolve().parents[3]
KEY = (VECTORS / "log.vkey").read_text().strip()
KNOWN = "".join(f"witness {name} {one.witness.vkey}\n" for name, one in WITNESSES.items())
TWO_OF_THREE = f"{KNOWN}group any-two 2 A B C\nquorum any-two\n"
ELSEWHERE = signer(name="else.example")
NOW = 1_796_083_200  # 2026-12-01
AT = "2026-12-01T00:00:00Z"


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return shutil.copytree(VECTORS / "good" / RELEASE, tmp_path / "bundle")


def cosign(bundle: Path, *names: str, all_heads: bool = True) -> None:
    """Cosign the head, and the checkpoints that runs name."""
    kept = sorted((bundle / "log" / "checkpoints").iterdir()) if all_heads else []
    for path in (bundle / "log" / "checkpoint", *kept):
        head = Checkpoint.parse(take_apart(path.read_bytes())[0])
        path.write_text(path.read_text() + "".join(WITNESSES[name].cosign(head, NOW) for name in names))


def test_a_head_that_the_quorum_cosigned_is_proved_and_the_witnesses_are_named(bundle):
    cosign(bundle, "A", "C")
    report = audit(bundle, [KEY], policy=Policy.parse(TWO_OF_THREE))
    assert (report.answer, report.ok) == ("yes", True)
    assert report.steps[1].proved.endswith(f"leaves, cosigned by A at {AT}, C at {AT}")
    seen = ", ".join(f"{size} (A at {AT}, C at {AT})" for size in (11, 12, 16))
    assert report.steps[4].proved == f"2 checkpoints are signed, and begin this tree; cosigned: {seen}"
    assert report.caveats[:4] == caveats()[:4]
    assert report.caveats[4].startswith("order and time against the operator and these witnesses together: A, C.")


@pytest.mark.parametrize(
    ("names", "policy", "says"),
    [
        ("", TWO_OF_THREE, "cosigned by no witness of the policy; the quorum 'any-two' needs more"),
        ("B", TWO_OF_THREE, "cosigned by B; the quorum 'any-two' needs more"),
        ("BC", f"{KNOWN}group every all A B C\nquorum every\n", "cosigned by B, C; the quorum 'every' needs more"),
        ("AB", f"log {ELSEWHERE.verifier.vkey}\n{TWO_OF_THREE}", "is signed by no given key of that name"),
    ],
)
def test_fewer_are_not_enough_nor_is_another_log(bundle, names, policy, says):
    cosign(bundle, *names)
    report = audit(bundle, [KEY], policy=Policy.parse(policy))
    assert report.failed
    assert (report.failed.number, says in report.failed.detail) == (2, True), report.failed.detail


def test_a_run_under_a_head_that_the_quorum_never_saw_is_refused_by_its_name(bundle):
    cosign(bundle, "A")
    cosign(bundle, "B", all_heads=False)
    failed = audit(bundle, [KEY], policy=Policy.parse(TWO_OF_THREE)).failed
    assert failed
    assert failed.name == "checkpoints"
    assert failed.detail.startswith("log/checkpoints/11: the checkpoint is cosigned by A;")


def test_a_cosignature_of_the_time_0_says_nothing_and_is_refused(bundle):
    path = bundle / "log" / "checkpoint"
    head = Checkpoint.parse(take_apart(path.read_bytes())[0])
    path.write_text(path.read_text() + cosigned_at(WITNESSES["A"], head, 0))
    failed = audit(bundle, [KEY], policy=Policy.parse(f"{KNOWN}quorum A\n")).failed
    assert (failed.number, failed.evidence.found) == (2, 0)
    assert "the cosignature by a.example/w has the time 0" in failed.detail


@pytest.mark.parametrize("seconds", [1, 253_402_300_800, 2**63 - 1])
def test_a_time_that_no_calendar_has_is_shown_in_seconds(bundle, seconds):
    path = bundle / "log" / "checkpoint"
    head = Checkpoint.parse(take_apart(path.read_bytes())[0])
    path.write_text(path.read_text() + cosigned_at(WITNESSES["A"], head, seconds))
    step = audit(bundle, [KEY], policy=Policy.parse(f"{KNOWN}quorum A\n")).steps[1]
    shown = "1970-01-01T00:00:01Z" if seconds == 1 else f"{seconds} seconds after 1970 began"
    assert step.proved.endswith(f"cosigned by A at {shown}")


def test_without_a_policy_nobody_is_believed_and_that_is_said(bundle):
    assert audit(bundle, [KEY]).caveats == caveats()
    assert "no witness cosigned" in caveats()[4]
    cosign(bundle, "A", "B")
    report = audit(bundle, [KEY])
    assert report.ok
    assert 'signatures by "a.example/w", "b.example/w" were not checked' in report.steps[1].proved
    assert "because no policy names them (--policy)" in report.caveats[4]


def test_the_single_file_asks_too_and_needs_the_package_for_ml_dsa(bundle):
    cosign(bundle, "A", "C")
    (bundle.parent / "policy").write_text(TWO_OF_THREE)
    words = [ROOT / "docs" / "audit.py", bundle, "--key", VECTORS / "log.vkey", "--policy", bundle.parent / "policy"]
    with_package, with_none = (
        json.loads(subprocess.run([sys.executable, *how, *words, "--json"], capture_output=True, check=False).stdout)
        for how in (["-I"], ["-I", "-S"])
    )
    assert with_package == audit(bundle, [KEY], policy=Policy.parse(TWO_OF_THREE)).as_json()
    assert with_package["ok"]
    assert "(C: ML-DSA-44 is verified with the package cryptography only)" in with_none["steps"][1]["detail"]
