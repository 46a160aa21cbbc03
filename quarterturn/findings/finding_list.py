"""List of findings, by month, with the reviews that people wrote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rotation.calendar import Month
from rotation.detection.detectors.detector_result import MIN_SUBMITTERS
from rotation.findings.store import Finding, Findings, ScanRecord


@dataclass(frozen=True, slots=True)
class FindingList:
    """The newest scan of each month, and findings of these months."""

    scans: Sequence[ScanRecord]
    findings: Sequence[Finding]

    def as_json(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        return {"looks": [_described(scan) for scan in self.scans], "findings": [*map(described, self.findings)]}


def listed(findings: Findings, month: str | None, *, everything: bool) -> FindingList:
    """List the findings that want attention, or all of them, of one month or of every month."""
    asked = Month.parse(month) if month else None
    scans = [scan for scan in findings.scans() if asked in (None, scan.month)]
    return FindingList(
        scans,
        [finding for finding in findings.all(asked) if everything or finding.status != "clean" or finding.state],
    )


def described(finding: Finding) -> dict[str, Any]:
    """Return a finding as plain JSON values."""
    figures = ("p_value", "p_adj", "q", "effect", "low", "high")
    names = ("number", "kind", "subject", "status", *figures, "detail", "state")
    words = [{"state": w.state, "who": w.who, "at": w.at.isoformat(), "note": w.note} for w in finding.reviews]
    return {name: getattr(finding, name) for name in names} | {
        "month": str(finding.month),
        "computed_at": finding.computed_at.isoformat(),
        "reviews": words,
    }


def _described(scan: ScanRecord) -> dict[str, Any]:
    few = scan.submitters < MIN_SUBMITTERS
    plain = {name: getattr(scan, name) for name in ("runs", "submitters", "failed", "smallest")}
    return plain | {"month": str(scan.month), "at": scan.at.isoformat(), "too_few_peers": few}
