"""Make the release in `examples/release/` and its tampered twin: `.venv/bin/python -m freezing.example_release`.

The release is the one that the frozen month publishes, a year earlier: its keys are valid whenever it is read, and its
bytes are the same whenever it is made. The page
`verify.html` is an input: it is taken from the release that is there, as a published release keeps the page of the
version that made it. Remove the folder of the release, and today's page is taken.

With `--to FOLDER` the files are written there instead, which is how the test makes them again.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from freezing.fixed import Held, hold

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

EXAMPLE = Path(__file__).parents[1] / "examples" / "release"
COMMAND = ".venv/bin/python -m freezing.example_release"
RELEASE, TURN, BEFORE = "Historical-2025-12", "2025-12", "2025-11"
AT = f"{BEFORE}-30T00:00:00+00:00"
TAMPERED = "tampered"
GUIDE = "README.md"
"""Written by hand, beside what is made."""


def made(held: Held) -> Iterator[tuple[str, bytes]]:
    """Yield every file by its path in the folder.

    What the guide `verify-without-our-code.md` asks for lies beside the release: the month's head, the log as it was
    served after the turn, the public keys and an older checkpoint.
    """
    from freezing import month
    from rotation.calendar import Month
    from vault.ledger import browser

    page = EXAMPLE / RELEASE / "verify.html"
    with tempfile.TemporaryDirectory() as name:
        beside = Path(name).resolve()
        held.begin("process", AT)
        shown = page.read_bytes() if page.is_file() else browser.page()
        played = month.play_first(beside / "home", held.clock, Month.parse(TURN), shown)
        played.house.close()
        public = beside / "home" / "public"
        yield from _below(public / "releases" / RELEASE, RELEASE)
        yield from _below(public / "months" / TURN, TURN)
        yield from _log(public / "log")
        for file in ("log.vkey", "allowed_signers"):
            yield file, (public / file).read_bytes()
        yield "older-checkpoint", (public / "months" / BEFORE / "checkpoint").read_bytes()
        twin = shutil.copytree(public / "releases" / RELEASE, beside / "twin")
        tamper(twin, beside / "forged")
        yield from _below(twin, f"{TAMPERED}/{RELEASE}")


def _log(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the log's folder without the partial tiles of earlier sizes, which every server may drop."""
    from vault.ledger.tree.tiles import bundles_of, entries_path, tile_path, tiles_of

    size = max(int(path.name) for path in (folder / "checkpoints").iterdir() if path.name.isdigit())
    tiles = {tile_path(*tile) for tile in tiles_of(size)} | {entries_path(*bundle) for bundle in bundles_of(size)}
    for name, data in _below(folder, "log"):
        if "/tile/" not in name or name.removeprefix("log/") in tiles:
            yield name, data


def tamper(release: Path, beside: Path) -> None:
    """Turn a failed result into a pass, as operators would who hold the log's key: every digest and signature fits.

    Only the commitment to the result stays. It was published before the task was, in the run's `score` statement.

    Args:
        release: a copy of the release, changed in place.
        beside: a folder for the forged log.
    """
    from freezing.month import key
    from vault.ledger.release.contents import RESULTS
    from vault.ledger.statements.jcs import canonical

    lines = [json.loads(line) for line in (release / RESULTS).read_bytes().splitlines()]
    failed: dict[str, Any] = next(line["result"] for line in lines if line["result"]["verdict"] == "false")
    failed |= {"verdict": "true", "passed": True}
    (release / RESULTS).write_bytes(b"".join(canonical(line) + b"\n" for line in lines))
    log_again(release, relist(release, RESULTS), beside, key("log"))


def relist(release: Path, name: str) -> tuple[str, str]:
    """Return a changed file its new digest in the manifest; return the manifest's old and new digest."""
    from vault.ledger.release.contents import MANIFEST
    from vault.ledger.statements.jcs import canonical
    from vault.ledger.statements.leaf import sha256_hex

    old = (release / MANIFEST).read_bytes()
    manifest, data = json.loads(old), (release / name).read_bytes()
    manifest["files"][name] = {"bytes": len(data), "sha256": sha256_hex(data)}
    (release / MANIFEST).write_bytes(canonical(manifest))
    return sha256_hex(old), sha256_hex(canonical(manifest))


def log_again(release: Path, digests: tuple[str, str], beside: Path, signing_key: Ed25519PrivateKey) -> None:
    """Replace a digest in the release's log, compute its tiles again and sign its head with a key.

    Args:
        release: the release, changed in place.
        digests: the digest to replace, and the one in its place.
        beside: a folder for the log while it is written.
        signing_key: who signs.
    """
    from freezing.month import ORIGIN
    from vault.ledger.signatures.checkpoint import Checkpoint
    from vault.ledger.signatures.note import Signer, take_apart
    from vault.ledger.tree.tiles import entries_path, unpack_entries
    from vault.ledger.write.append import LogWriter

    size = Checkpoint.parse(take_apart((release / "log" / "checkpoint").read_text())[0]).size
    leaves = unpack_entries((release / "log" / entries_path(0, size)).read_bytes(), size)
    old, new = (digest.encode() for digest in digests)
    writer = LogWriter(beside / "log", beside / "head" / "signed", Signer(ORIGIN, signing_key), ORIGIN)
    writer.append([leaf.replace(old, new) for leaf in leaves], 0)
    for name, data in _below(beside / "log", "log"):
        if not name.startswith("log/checkpoints/"):
            (release / name).write_bytes(data)


def write(folder: Path, held: Held) -> None:
    """Write every file into a folder, and remove what is no longer made."""
    files = dict(made(held))
    for path in {path for path in folder.rglob("*") if path.is_file()} - {folder / name for name in (*files, GUIDE)}:
        path.unlink()
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def _below(folder: Path, name: str) -> Iterator[tuple[str, bytes]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.name.startswith("."):
            yield f"{name}/{path.relative_to(folder).as_posix()}", path.read_bytes()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument("--to", type=Path, default=EXAMPLE, metavar="FOLDER")
    write(parser.parse_args().to, hold(AT))
