"""Group detector: do all who stand on one model or base do better on exposed tasks than on fresh ones? Pure.

A leak into the training of a base is shared by all that is built on it, and each of them may show too little alone. The
statistic is the gap of `exposed_gap`, over the runs of all members: residuals are summed by task before they are
squared, so what members have in common by origin counts once. The null is learned from the submitters outside of the
group, and the group's difference is held to be as large as that of a single submitter.

Subject: the group. Detail: the members that show a gap themselves, at 5 %. They are looked at only where the group is
flagged, so that the group's level guards them (R. Marcus, E. Peritz and K. R. Gabriel, *Biometrika* 63, 1976, 655-660).

Not detected: a group of one, or one beside which fewer than ten submitters stand.
"""

from __future__ import annotations

from scipy.special import ndtri

from rotation.detection.detectors.detector_result import DetectorResult
from rotation.detection.detectors.leaked_tasks import GapTests, Study
from rotation.detection.statistics.table import ResultTable

KIND = "group"
MIN_MEMBERS = 2
MEMBER_LEVEL = 0.05  # a member shows a gap if its own p-value is at most this


def group(table: ResultTable, rotation: int) -> list[DetectorResult]:
    """Test every group with at least two members in a rotation; none where nothing is known of groups."""
    if not any(table.groups):
        return []
    study = Study(table.recent(rotation))
    present, groups = study.present(rotation), study.table.groups
    tests = []
    for name in sorted({groups[submitter] for submitter in present} - {""}):
        members = {
            study.table.submitters[submitter]: int(study.runs(submitter, rotation)[0])
            for submitter in present
            if groups[submitter] == name
        }
        field = GapTests(study, rotation, [submitter for submitter in present if groups[submitter] != name])
        p_value = field.p_value([*members.values()])
        if p_value is not None and len(members) >= MIN_MEMBERS:
            showing = [who for who, run in members.items() if (field.p_value([run]) or 1) <= MEMBER_LEVEL]
            detail = f"{len(showing)} of {len(members)} members: {', '.join(showing)}"
            tests.append(DetectorResult(KIND, name, p_value, float(-ndtri(min(p_value, 1 - 1e-15))), detail=detail))
    return tests
