"""The detection report as one HTML file: a pure function of its figures (`detection_report.figures`).

The same figures give the same bytes. The file asks nothing of anybody: no script, no font, no picture from outside, and
a content policy that would forbid them. Every chart has its figures in a table beside it.
"""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from quarterturn.pages.drawing import charts, plots, tables, words
from quarterturn.pages.drawing.formatting import decimal, legible, percent, short
from quarterturn.pages.templates import HERE, render

Item = Mapping[str, Any]


def page(figures: Item) -> str:
    """Draw the report."""
    report, months = figures["report"], figures["months"]
    style = (HERE / "page.css").read_text(encoding="utf-8")
    digest = hashlib.sha256(canonical(figures)).hexdigest()
    hashed = b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{hashed}'; base-uri 'none'; form-action 'none'"
    now = [row for row in report["scores"] if row["rotation"] == report["rotation"]]
    leaderboard = figures.get("leaderboard")
    terms = words.MONTH
    if leaderboard:
        terms = words.LEADERBOARD_WITH_CALLS if leaderboard["with_calls"] else words.LEADERBOARD
    return render(
        "detection_report.html.jinja",
        policy=policy,
        style=style,
        digest=digest,
        benchmark=figures["benchmark"],
        month=figures["month"],
        made=figures["made"],
        fewest=figures["fewest"],
        untested=figures["untested"],
        leaderboard=leaderboard,
        terms=terms,
        reference=months[min(row["rotation"] for row in report["scores"]) - 1],
        report=report,
        power=words.power(report),
        counts=_counts(figures, terms),
        findings=[_finding(finding, leaderboard, terms) for finding in figures["findings"]],
        tested=tables.tested(report["tests"]),
        jumps=charts.jumps(report["jumps"]),
        jump_table=tables.jumps(report["jumps"], months),
        peers=plots.peers(report["expected"], terms) if report["expected"]["points"] else None,
        peer_table=tables.peers(report["expected"]["points"]),
        heat=charts.heat(report["residuals"], terms),
        heat_table=tables.heat(report["residuals"]),
        drift=charts.drift(report["drift"], months),
        drift_table=tables.drift(report["drift"], report["rotation"], months),
        quantiles=[
            (words.KINDS[kind], plots.quantiles(rows), words.counted(len(rows), "test"))
            for kind, rows in report["quantiles"].items()
        ],
        quantile_table=[tables.spread(kind, rows) for kind, rows in report["quantiles"].items()],
        scores=charts.scores(_named(now)),
        score_head=["Submitter", *(f"{month}, {kind}" for month in months for kind in ("raw", "linked"))],
        score_table=tables.scores(report["scores"], len(months)),
        luck=", ".join(decimal(100 * entry["points"]) for entry in report["views"]["luck"]),
        view_head=[
            "Submitter",
            "Jump, z",
            "Person fit, lz*",
            "Submissions",
            "Best",
            "Mean",
            "Luck, points",
        ],
        view_table=tables.views(report),
    )


def canonical(figures: Item) -> bytes:
    """Write figures as the bytes that the page's digest is of: JSON with sorted keys, without spaces, and a newline."""
    text = json.dumps(figures, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode() + b"\n"


def _counts(figures: Item, terms: words.Terms) -> list[tuple[str, str]]:
    report = figures["report"]
    open_ = sum(finding["state"] == "open" for finding in figures["findings"])
    counts = {
        f"{terms.subject.capitalize()}s": report["submitters"],
        "Runs": report["runs"],
        f"Tasks, {terms.exposed}": report["exposed"],
        f"Tasks, {terms.fresh}": report["tasks"] - report["exposed"],
        "Tests": len(report["tests"]),
        "Findings": len(figures["findings"]),
        "Reviews open": open_,
    }
    left_out = {"Runs", "Reviews open"} if "leaderboard" in figures else set()
    return [(name, str(count)) for name, count in counts.items() if name not in left_out]


def _named(runs: Sequence[Item]) -> list[Item]:
    """Name each run after its submitter, and by its number where they made several."""
    of = [run["submitter"] for run in runs]
    return [
        {**run, "name": whose if of.count(whose) == 1 else f"{short(whose)}, {of[:place].count(whose) + 1}"}
        for place, (run, whose) in enumerate(zip(runs, of, strict=True))
    ]


def _finding(finding: Item, leaderboard: Item | None, terms: words.Terms) -> dict[str, Any]:
    history = leaderboard and leaderboard["histories"].get(finding["kind"], {}).get(finding["subject"])
    effect = words.beyond_peers(history[0]) if history else words.effect(finding)
    smallest = [] if leaderboard else _smallest(finding)
    lines = [effect, words.surprise(finding), finding["detail"], *smallest, *_reviews(finding)]
    return {
        "status": finding["status"],
        "standing": words.standing(finding),
        "headline": words.headline(finding),
        "number": f"finding {finding['number']}",
        "sentence": words.sentence(finding, terms),
        "lines": [legible(line) for line in lines if line],
        "history": charts.history(history) if history else None,
    }


def _smallest(finding: Item) -> Iterator[str]:
    """Say the power that there was; only a leak's is told."""
    if finding["kind"] == "leak":
        yield (
            f"detected half of the time from {percent(finding['smallest'])} known on"
            if finding["smallest"] is not None
            else "not detected half of the time even if all exposed tasks are known"
        )


def _reviews(finding: Item) -> Iterator[str]:
    for word in finding["reviews"]:
        note = f": {word['note']}" if word["note"] else ""
        yield f"{word['state']} since {word['at'][:16].replace('T', ' ')}, {word['who']}{note}"
