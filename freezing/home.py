"""Freeze the home that every later version opens: `.venv/bin/python -m freezing.home`, once for each version.

It is a month of `freezing.month` with a turn and two submissions, and nothing published: its tasks stay sealed. The
keys are made from names that begin with `test-`. A home that is frozen is never made again: that would hide a change.
"""

from __future__ import annotations

import argparse
import io
import tarfile
import tempfile
from pathlib import Path

from freezing.fixed import hold

HOMES = Path(__file__).parents[1] / "tests" / "contracts" / "homes"
AT = "2026-11-30T00:00:00+00:00"


def archive(folder: Path) -> bytes:
    """Return a folder's files as an archive with neither times nor owners."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:xz", preset=9) as tar:
        for path in sorted(folder.rglob("*")):
            entry = tarfile.TarInfo(path.relative_to(folder).as_posix())
            entry.mode = path.stat().st_mode & 0o777
            if path.is_dir():
                entry.type = tarfile.DIRTYPE
                tar.addfile(entry)
            else:
                entry.size = path.stat().st_size
                with path.open("rb") as file:
                    tar.addfile(entry, file)
    return packed.getvalue()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog=".venv/bin/python -m freezing.home", description=__doc__)
    parser.add_argument("--to", type=Path, default=HOMES, metavar="FOLDER")
    to = parser.parse_args().to
    held = hold(AT)
    from freezing import month
    from quarterturn.cli.terminal.version import version

    month.EACH = 5  # four cohorts and the reserve
    destination = to / f"{version()}.tar.xz"
    with tempfile.TemporaryDirectory() as name:
        made = month.play_live(Path(name).resolve() / "home", held.clock)
        made.look("results of the month")
        made.house.close()
        to.mkdir(parents=True, exist_ok=True)
        with destination.open("xb") as file:
            file.write(archive(made.house.home.folder))
