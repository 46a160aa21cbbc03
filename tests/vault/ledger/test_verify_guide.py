"""The guide for auditors who run nothing of ours: its commands prove a release, and each refuses a false one."""

import base64
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from vault.ledger import contents, dsse, sshsig

ROOT = next(parent for parent in Path(__file__).parents if (parent / "pyproject.toml").is_file())
GUIDE = ROOT / "docs" / "how-to" / "verify-without-our-code.md"
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
FILES, TASKS, HEAD, TREE, ENVELOPE, SSH = range(6)
RELEASE = "Historical-2026-12"


@pytest.fixture
def desk(month, tmp_path):
    """Put on one desk what the guide asks for."""
    desk = tmp_path / "desk"
    desk.mkdir()
    month.commit_all()
    (desk / "older-checkpoint").write_text(month.writer.note())
    month.state_set()
    month.open_run(1)
    month.score(1)
    shutil.copytree(month.retire(), desk / RELEASE)
    (desk / "log.vkey").write_text(month.signer.verifier.vkey + "\n")
    shutil.copy(ROOT / "tests" / "vault" / "ledger" / "strangers" / "tlog.go", desk)
    (desk / "envelope.json").write_bytes(
        dsse.sign((desk / RELEASE / contents.ATTESTATION).read_bytes(), month.signer.key)
    )
    key = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
    (desk / "allowed_signers").write_text(f"log {sshsig.public_line(key.public_key().public_bytes_raw())}\n")
    (desk / "checkpoint.sig").write_text(
        sshsig.sign((desk / RELEASE / "log/checkpoint").read_bytes(), "checkpoint", key)
    )
    return desk


def follow(desk):
    """Run the guide's blocks in their order; give the number of the first that fails, and what was printed."""
    script = "".join(f"echo '== {number}'\n{block}" for number, block in enumerate(BLOCKS))
    done = subprocess.run(["sh", "-eu", "-c", script], cwd=desk, capture_output=True, text=True, check=False)
    reached = int(re.findall(r"^== (\d)$", done.stdout, re.MULTILINE)[-1])
    return None if done.returncode == 0 else reached, done.stdout + done.stderr


def test_the_guide_proves_a_release(desk):
    failed, said = follow(desk)
    assert failed is None, said
    assert said.count(": OK") == 7
    assert said.count("Signature Verified Successfully") == 2
    for words in ("2 tasks open", "the log of 14 leaves extends that of 10", 'Good "checkpoint" signature for log'):
        assert words in said, said


def swap_salts(desk):
    path = desk / RELEASE / contents.OPENINGS
    first, second = map(json.loads, path.read_bytes().splitlines())
    first["salt"], second["salt"] = second["salt"], first["salt"]
    dump = {"separators": (",", ":"), "sort_keys": True, "ensure_ascii": False}
    path.write_text("".join(json.dumps(line, **dump) + "\n" for line in (first, second)))
    relist(desk, contents.OPENINGS)


def relist(desk, name):
    """Let the manifest, and what the log says of it, fit a changed file: what is left to find is the change itself."""
    manifest = desk / RELEASE / contents.MANIFEST
    old = sha256(manifest)
    document = json.loads(manifest.read_bytes())
    document["files"][name] = {"bytes": (desk / RELEASE / name).stat().st_size, "sha256": sha256(desk / RELEASE / name)}
    manifest.write_text(json.dumps(document, separators=(",", ":"), sort_keys=True))
    for path in (desk / RELEASE / "log/tile/entries").rglob("*"):
        if path.is_file():
            path.write_bytes(path.read_bytes().replace(old.encode(), sha256(manifest).encode()))


def sha256(path):
    return subprocess.run(["sha256sum", path], capture_output=True, text=True, check=True).stdout.split()[0]


def edit(name, old, new):
    def change(desk):
        data = (desk / name).read_bytes()
        assert old in data
        (desk / name).write_bytes(data.replace(old, new, 1))

    return change


def another_leaf(desk):
    """Change a leaf that the other blocks do not look at."""
    (bundle,) = (path for path in (desk / RELEASE / "log/tile/entries").rglob("*") if path.is_file())
    bundle.write_bytes(bundle.read_bytes().replace(b'"track":"docker"', b'"track":"bwrapp"', 1))


def another_log(desk):
    (desk / "older-checkpoint").write_text((desk / "older-checkpoint").read_text().replace("\n10\n", "\n9\n"))


@pytest.mark.parametrize(
    ("change", "block"),
    [
        (edit(f"{RELEASE}/tasks.jsonl", b"out.txt", b"our.txt"), FILES),
        (edit(f"{RELEASE}/manifest.json", b'"first":0', b'"first":1'), FILES),
        (swap_salts, TASKS),
        (edit(f"{RELEASE}/log/checkpoint", b"\n14\n", b"\n15\n"), HEAD),
        (another_leaf, TREE),
        (another_log, TREE),
        (edit("envelope.json", base64.b64encode(b'{"_type"')[:8], base64.b64encode(b'{"_tYpe"')[:8]), ENVELOPE),
        (edit("allowed_signers", b"log ", b"somebody "), SSH),
    ],
    ids=["task", "manifest", "salts", "head", "leaf", "older head", "envelope", "signer"],
)
def test_each_part_of_it_refuses_what_was_changed(desk, change, block):
    change(desk)
    failed, said = follow(desk)
    assert failed == block, said
