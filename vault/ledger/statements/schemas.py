"""Writes the JSON Schemas of the statements: `python -m vault.ledger.statements.schemas docs/reference/statements`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from vault.ledger.statements.statement import KINDS, schema


def files() -> dict[str, str]:
    """Give the files by name."""
    return {f"{kind}.schema.json": json.dumps(schema(kind), indent=2) + "\n" for kind in KINDS}


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files().items():
        (folder / name).write_text(content, encoding="utf-8")
