"""Freezes the good releases below `tests/vectors/ledger`: `.venv/bin/python -m tests.vault.ledger.freeze`."""

import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from ..builders import RELEASE, VECTORS, signer
from .conftest import Month

GOOD: Mapping[str, Callable[[Month], Month]] = {
    "good": lambda month: month.play(),
    "key-changed": lambda month: month.play_across(signer(7)),
    "variants": lambda month: month.vary().play(),
    "withdrawn": lambda month: month.play_withdrawing(),
    "spot-checked": lambda month: month.play_checked(),
}
"""How the month of each good release is played."""
OLDER = 11  # leaves under the checkpoint that an auditor of `good` kept


def files_of(folder: Path) -> dict[str, bytes]:
    """Read every file below a folder, by its path."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def key_file(name: str) -> Path:
    """Return the file with the keys of a good release's log."""
    return VECTORS / ("." if name == "good" else name) / "log.vkey"


def played(name: str, folder: Path) -> dict[Path, bytes]:
    """Make a good release; give its files, those beside it too, by their places below the vectors."""
    month = Month(folder)
    release = GOOD[name](month).retire()
    made = {VECTORS / name / RELEASE / path: data for path, data in files_of(release).items()}
    made[key_file(name)] = "".join(f"{key}\n" for key in month.keys).encode()
    if name == "good":
        made[VECTORS / "older-checkpoint"] = (month.folder / "log" / "checkpoints" / str(OLDER)).read_bytes()
    return made


def main() -> None:
    """Write all of them."""
    for name in GOOD:
        shutil.rmtree(VECTORS / name, ignore_errors=True)
        with tempfile.TemporaryDirectory() as folder:
            for path, data in played(name, Path(folder)).items():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)


if __name__ == "__main__":
    main()
