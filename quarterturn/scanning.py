"""Flags from case files: everything is read and tested before the first byte is written."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from quarterturn.report import Report
from vault.ledger.tiles import write_atomically

FLAGGED = 0.01


def scan(paths: Sequence[Path], out: Path) -> Report:
    """Test every case; write one line per test, in the order of case, rotation, kind and subject."""
    from rotation.anomaly import records  # noqa: PLC0415 - numpy is slow to load, and seldom needed
    from rotation.anomaly.scan import scan as tests_of  # noqa: PLC0415 - likewise

    cases = records.cases(paths)
    tables = {case: records.read(path) for case, path in cases.items()}
    written, flags, told = [], 0, []
    for case in list(tables):
        for judged in tests_of(tables.pop(case)):
            line = judged.line(case)
            written.append(json.dumps(line, ensure_ascii=False) + "\n")
            if judged.holm <= FLAGGED:
                flags += 1
                told.append(
                    f"{case}  rotation {judged.rotation}  {judged.tested.kind:<6} {judged.tested.subject}  "
                    f"p_adj {judged.holm:.2g}"
                )
    write_atomically(out, "".join(written).encode(), out.with_name(f".{out.name}.part"))
    summary = f"{len(cases)} cases, {len(written)} tests, {flags} flagged at {FLAGGED:.0%}: {out}"
    return Report({"cases": len(cases), "tests": len(written), "flagged": flags, "out": str(out)}, [*told, summary])
