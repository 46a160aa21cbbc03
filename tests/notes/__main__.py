"""Notes of `./run check`: lines by package, structure, and wording of changed lines; they fail nothing."""

import sys
from pathlib import Path

from . import line_counts, structure, wording

ROOT = Path(__file__).resolve().parents[2]

for note in (*line_counts.report(ROOT), *line_counts.growth(ROOT), *structure.report(ROOT), *wording.report(ROOT)):
    sys.stdout.write(f"{note}\n")
