"""Draws the README's two pictures; `CONTRIBUTING.md` has the command.

The leaderboard is the service's own page over a played month with invented results. The audit is what `docs/audit.py`
prints about the forged sample release, up to its verdict.
"""

from __future__ import annotations

import html
import subprocess
import sys
from pathlib import Path

from ..quarterturn.http.conftest import play

ROOT = next(parent for parent in Path(__file__).parents if (parent / "docs" / "audit.py").is_file())
PICTURES, SAMPLE = ROOT / "docs" / "pictures", ROOT / "examples" / "release"
AUDIT = ("docs/audit.py", "examples/release/tampered/Historical-2025-12", "--key", "examples/release/log.vkey")


def test_draw_the_leaderboard(new_page, site):
    for passes, submitter in ((22, "grace"), (18, "mara"), (12, "bob"), (3, "eve")):
        play(site.house, passes, submitter)
    page = new_page(color_scheme="light", viewport={"width": 1280, "height": 720})
    page.goto("/")
    page.locator("section.track").screenshot(path=PICTURES / "leaderboard.png")


def test_draw_the_audit(new_page):
    said = subprocess.run([sys.executable, *AUDIT], cwd=ROOT, capture_output=True, text=True, check=False)
    steps = html.escape(said.stdout.partition("What this audit")[0])
    page = new_page(color_scheme="light", viewport={"width": 960, "height": 600})
    page.set_content(
        f"<pre style='font:13px monospace;white-space:pre-wrap'>$ python3 {' '.join(AUDIT)}\n{steps}</pre>"
    )
    page.locator("pre").screenshot(path=PICTURES / "audit.png")
