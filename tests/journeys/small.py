"""Runs the command line with a demo set of fewer tasks: as a program, or for the length of a block.

    python tests/journeys/small.py filesystem/single-tool/easy,git/recovery/hard VERB ...

A whole set proves no verb better than a small one does; it is played with `--exhaustive`. No other set is there, so
that no dev set is drawn whose tasks nobody asks for.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from quarterturn.cli import main
from rotation.month import sets
from rotation.month.sets import DEMO, SetSpec, Stratum

WHOLE = ",".join(map(str, DEMO.per_cohort))


def spec(strata: str) -> SetSpec:
    """Return a set with one task of each named stratum in each of two cohorts, and one in the dev set."""
    mix = {Stratum(*name.split("/")): 1 for name in strata.split(",")}
    return SetSpec("demo", mix, mix, cohorts=2) if strata != WHOLE else DEMO


@contextmanager
def small_set(strata: str) -> Iterator[SetSpec]:
    """Make the set of these strata the demo's, and the only one, for the block."""
    table = cast("dict[str, Any]", sets.SETS)
    before = dict(table)
    table.clear()
    table["demo"] = spec(strata)
    try:
        yield table["demo"]
    finally:
        table.clear()
        table.update(before)


def command(strata: str) -> list[str]:
    """Return the command line of a process up to the verb; for the whole set it is the installed program."""
    return [str(Path(sys.prefix) / "bin" / "quarterturn")] if strata == WHOLE else [sys.executable, __file__, strata]


if __name__ == "__main__":
    with small_set(sys.argv.pop(1)):
        main()
