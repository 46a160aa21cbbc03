"""Runs the guide for auditors without our code: it proves what a home published, and refuses what is false."""

import base64
import filecmp
import json
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from jsonschema import Draft202012Validator
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import SSlibKey

from quarterturn.app import Application
from rotation.calendar import Month
from vault.ledger.release import contents
from vault.ledger.release.archive import archive_digest
from vault.ledger.signatures import sshsig
from vault.ledger.statements import dsse
from vault.ledger.tree.tiles import bundles_of, entries_path, tile_path, tiles_of, unpack_entries

from .conftest import make
from .guides import blocks
from .http.conftest import served_by_thread
from .invented_runs import passing, play

pytestmark = pytest.mark.slow
foreign_tools = pytest.mark.needs("go", "openssl", "ssh-keygen")

ROOT = next(parent for parent in Path(__file__).parents if (parent / "pyproject.toml").is_file())
PAGE = "verify-without-our-code.md"
FETCH, BLOCKS = blocks(PAGE, "bash"), blocks(PAGE, "sh")
NAMES, FILES, TASKS, HEAD, TREE, MONTH, ATTESTED = range(7)
CHECKS = {
    FILES: "the files, and that the log names them",
    TASKS: "every task opens a commitment in the log",
    HEAD: "the signature of the log's head",
    TREE: "the leaves give that root and extend the older checkpoint",
    MONTH: "the month's head",
    ATTESTED: "the month's attestation",
}
RELEASE, TURN = "Historical-2026-12", "2026-12"
EXAMPLE = "2025-12"
"""The month of the example release, which the guide names."""


@pytest.fixture(scope="module")
def published(memory):
    """Return what a home has published after two turns and a run, in one folder as the guide expects it."""
    folder = Path(tempfile.mkdtemp(prefix="guide-", dir=memory))  # a worker may come back to this file
    home, workspace = make(folder / "home", tasks=5, live=True), folder / "workspace"
    house = Application(home, None)
    play(house, "agent", passing(lambda place, _: place % 2 == 0))
    house.month.rotation.run(Month.parse(TURN))
    house.close()
    public = home / "public"
    shutil.copytree(public / "releases" / RELEASE, workspace / RELEASE)
    shutil.copytree(public / "months" / TURN, workspace / TURN)
    shutil.copytree(public / "log", workspace / "log")
    for name in ("log.vkey", "allowed_signers"):
        shutil.copy(public / name, workspace)
    shutil.copy(public / "months" / "2026-11" / "checkpoint", workspace / "older-checkpoint")
    shutil.copy(ROOT / "tests" / "vault" / "ledger" / "third_party" / "tlog.go", workspace)
    return workspace


@pytest.fixture
def workspace(published, tmp_path):
    return Path(shutil.copytree(published, tmp_path / "workspace"))


def follow(workspace, month=TURN):
    """Run the guide's blocks in their order; give the number of the first that fails, and what was printed."""
    script = "".join(f"echo '== {number}'\n{block}" for number, block in enumerate(BLOCKS)).replace(EXAMPLE, month)
    command = ["sh", "-eu", "-c", script]
    done = subprocess.run(
        command, cwd=workspace, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    reached = int(re.findall(r"^== (\d)$", done.stdout, re.MULTILINE)[-1])
    last = f"{'PASSED' if done.returncode == 0 else 'FAILED'}: {CHECKS[reached]}"
    assert done.stdout.splitlines()[-1] == last, done.stdout
    assert re.findall(r"^PASSED: (.*)$", done.stdout, re.MULTILINE) == [
        name for block, name in CHECKS.items() if block < reached or done.returncode == 0
    ]
    return None if done.returncode == 0 else reached, done.stdout


@foreign_tools
def test_the_guide_proves_a_release(workspace):
    failed, said = follow(workspace)
    assert failed is None, said
    assert said.count(": OK") == 8
    assert said.count("Signature Verified Successfully") == 2
    signed = 'Good "quarterturn-checkpoint" signature for quarterturn.example/log with ED25519 key'
    for words in ("6 tasks open", "the log of 28 leaves extends that of 25", signed):
        assert words in said, said


SERVICE = "https://bench.example.org"
FETCH_WITH_OURS, COPY = blocks(PAGE)


@pytest.fixture
def service(published):
    with served_by_thread(published.parent / "home") as url:
        yield url


@pytest.fixture
def from_elsewhere(published, tmp_path):
    """Return a folder with what an auditor has from other sources than the service."""
    folder = tmp_path / "mine"
    folder.mkdir()
    for name in ("log.vkey", "allowed_signers", "older-checkpoint", "tlog.go"):
        shutil.copy(published / name, folder)
    return folder


def fetched(folder, url):
    script = "".join(FETCH).replace(SERVICE, url).replace(EXAMPLE, TURN)
    return subprocess.run(["sh", "-eu", "-c", script], cwd=folder, capture_output=True, text=True, check=False)


@foreign_tools
def test_what_the_guide_fetches_it_proves(service, from_elsewhere, published):
    done = fetched(from_elsewhere, service)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{RELEASE}.tar: OK" in done.stdout
    for name in (RELEASE, TURN, "log"):
        beside = filecmp.dircmp(published / name, from_elsewhere / name)
        assert not beside.diff_files + beside.right_only, name
    failed, said = follow(from_elsewhere)
    assert failed is None, said


@pytest.mark.full
def test_a_download_that_broke_off_goes_on_in_the_guide(service, from_elsewhere):
    assert fetched(from_elsewhere, service).returncode == 0
    tar = from_elsewhere / f"{RELEASE}.tar"
    whole = tar.read_bytes()
    for part in (whole[:50_000], whole):
        tar.write_bytes(part)
        done = fetched(from_elsewhere, service)
        assert done.returncode == 0, done.stdout + done.stderr
        assert tar.read_bytes() == whole
    tar.write_bytes(b"x" + whole[1:50_000])
    done = fetched(from_elsewhere, service)
    assert done.returncode != 0
    assert f"{RELEASE}.tar: FAILED" in done.stdout


@pytest.mark.parametrize(
    "size", [0, 1, 255, 256, 257, *(pytest.param(size, marks=pytest.mark.full) for size in (65_536, 256 * 1001 + 5))]
)
def test_the_guide_fetches_every_file_of_a_log(size, tmp_path):
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "checkpoint").write_text(f"quarterturn.example/log\n{size}\n")
    script = f'get() {{ echo "$1"; }}\nservice=x\n{FETCH[1]}'
    done = subprocess.run(["sh", "-eu", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    paths = [tile_path(*tile) for tile in tiles_of(size)] + [entries_path(*part) for part in bundles_of(size, 0)]
    assert sorted(done.stdout.splitlines()) == sorted(["log/checkpoint", *(f"log/{path}" for path in paths)])


@pytest.mark.full
def test_our_own_command_fetches_the_same(service, from_elsewhere, published, say, monkeypatch):
    monkeypatch.chdir(from_elsewhere)
    said = say(*FETCH_WITH_OURS.replace(SERVICE, service).split()[1:])
    assert said.code == 0, said.err
    assert archive_digest(from_elsewhere / RELEASE) == archive_digest(published / RELEASE)


@pytest.fixture
def example(tmp_path):
    """Return the folder that the guide has its reader make of the example release."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    subprocess.run(["sh", "-eu", "-c", COPY], cwd=tmp_path, check=True)
    return tmp_path / "audit"


@foreign_tools
def test_the_guide_starts_with_the_example_release(example):
    failed, said = follow(example, EXAMPLE)
    assert failed is None, said
    assert "6 tasks open" in said
    assert "the log of 39 leaves extends that of 31" in said


@foreign_tools
def test_in_the_tampered_example_only_the_attestation_disagrees(example):
    shutil.copytree(example / "tampered", example, dirs_exist_ok=True)
    failed, said = follow(example, EXAMPLE)
    assert failed == ATTESTED, said


@pytest.mark.full
def test_a_dsse_library_verifies_the_attestation_with_the_key_of_the_list_and_no_other(workspace):
    envelope = Envelope.from_dict(json.loads((workspace / TURN / "attestation.dsse.json").read_bytes()))
    public = base64.b64decode((workspace / "allowed_signers").read_text().split()[-1])[-32:]
    key = SSlibKey(dsse.key_id(public), "ed25519", "ed25519", {"public": public.hex()})
    assert envelope.verify([key], 1)
    envelope.payload = envelope.payload.replace(b"Historical", b"Hysterical")
    with pytest.raises(VerificationError):
        envelope.verify([key], 1)


def test_every_statement_of_the_log_is_what_its_schema_says(published):
    schemas = {path.name: json.loads(path.read_bytes()) for path in (ROOT / "docs/reference/statements").iterdir()}
    size = int((published / "log" / "checkpoint").read_text().splitlines()[1])
    leaves = unpack_entries((published / "log" / entries_path(0, size)).read_bytes(), size, "the leaves")
    kinds = set()
    for leaf in map(json.loads, leaves):
        kind = leaf["predicateType"].split(":")[2]
        validator = Draft202012Validator(schemas[f"{kind}.schema.json"])
        validator.validate(leaf)
        assert not validator.is_valid(leaf | {"predicate": leaf["predicate"] | {"month": "2026-13"}})
        kinds.add(kind)
    assert kinds == {"commit", "set", "run-open", "score", "retire"}


def swap_salts(workspace):
    path = workspace / RELEASE / contents.OPENINGS
    first, second, *rest = map(json.loads, path.read_bytes().splitlines())
    first["salt"], second["salt"] = second["salt"], first["salt"]
    dump = {"separators": (",", ":"), "sort_keys": True, "ensure_ascii": False}
    path.write_text("".join(json.dumps(line, **dump) + "\n" for line in (first, second, *rest)))
    relist(workspace, contents.OPENINGS)


def relist(workspace, name):
    """Make the manifest, and the log's digest of it, fit a changed file, so that only the change can be found."""
    manifest = workspace / RELEASE / contents.MANIFEST
    old = sha256(manifest)
    document = json.loads(manifest.read_bytes())
    file = workspace / RELEASE / name
    document["files"][name] = {"bytes": file.stat().st_size, "sha256": sha256(file)}
    manifest.write_text(json.dumps(document, separators=(",", ":"), sort_keys=True))
    for path in (workspace / RELEASE / "log/tile/entries").rglob("*"):
        if path.is_file():
            path.write_bytes(path.read_bytes().replace(old.encode(), sha256(manifest).encode()))


def sha256(path):
    return subprocess.run(["sha256sum", path], capture_output=True, text=True, check=True).stdout.split()[0]


def edit(name, old, new):
    def change(workspace):
        data = (workspace / name).read_bytes()
        assert old in data
        (workspace / name).write_bytes(data.replace(old, new, 1))

    return change


def another_leaf(workspace):
    """Change a leaf that the other blocks do not check."""
    (bundle,) = (path for path in (workspace / RELEASE / "log/tile/entries").rglob("*") if path.is_file())
    bundle.write_bytes(bundle.read_bytes().replace(b'"track":"docker"', b'"track":"bwrapp"', 1))


def another_log(workspace):
    (workspace / "older-checkpoint").write_text((workspace / "older-checkpoint").read_text().replace("\n25\n", "\n9\n"))


OTHER = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))


def signed_by_another(workspace):
    """Sign the month's head with a key that is not listed."""
    note = (workspace / TURN / "checkpoint").read_bytes()
    (workspace / TURN / "checkpoint.sig").write_text(sshsig.sign(note, "quarterturn-checkpoint", OTHER))


def for_another_purpose(workspace):
    """Let the list permit the key for other files only."""
    edit("allowed_signers", b'namespaces="quarterturn-checkpoint"', b'namespaces="file"')(workspace)


def attested_by_another(workspace):
    """Attest with a key that is listed but not named by the log."""
    signed_by_another(workspace)
    public = sshsig.public_line(OTHER.public_key().public_bytes_raw())
    (workspace / "allowed_signers").write_text(f"quarterturn.example/log {public}\n")
    reattest(workspace, lambda payload: payload)


def reattest(workspace, change):
    path = workspace / TURN / "attestation.dsse.json"
    payload = base64.b64decode(json.loads(path.read_bytes())["payload"])
    path.write_bytes(dsse.sign(change(payload), OTHER))


def key_of_another(workspace):
    """Let the envelope name a key that did not sign it."""
    edit(f"{TURN}/attestation.dsse.json", b'"keyid":"', b'"keyid":"0')(workspace)


@foreign_tools
@pytest.mark.parametrize(
    ("change", "block"),
    [
        (edit(f"{RELEASE}/tasks.jsonl", b"number-", b"nomber-"), FILES),
        (edit(f"{RELEASE}/manifest.json", b'"first":0', b'"first":1'), FILES),
        (swap_salts, TASKS),
        (edit(f"{RELEASE}/log/checkpoint", b"\n28\n", b"\n29\n"), HEAD),
        (another_leaf, TREE),
        (another_log, TREE),
        (edit(f"{TURN}/checkpoint", b"quarterturn.example", b"quarterturn.exemple"), MONTH),
        (signed_by_another, MONTH),
        (for_another_purpose, MONTH),
        (edit("allowed_signers", b"quarterturn.example/log ", b"somebody "), MONTH),
        (attested_by_another, ATTESTED),
        (key_of_another, ATTESTED),
        (edit(f"{TURN}/attestation.dsse.json", *(base64.b64encode(b) for b in (b'{"_typ', b'{"_tyP'))), ATTESTED),
    ],
    ids=[
        "task", "manifest", "salts", "head", "leaf", "older head", "month's head", "month's signer", "namespace",
        "signer", "unknown key", "key id", "envelope",
    ],
)  # fmt: skip
def test_each_part_of_it_refuses_what_was_changed(workspace, change, block):
    change(workspace)
    failed, said = follow(workspace)
    assert failed == block, said
