"""Services of detection: scans of sealed results, evidence, reports and the tracing of leaked texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from quarterturn.composition.auth import AuthServices
from quarterturn.composition.benchmark import BenchmarkServices
from quarterturn.composition.home import OpenHome
from quarterturn.composition.runs import RunServices
from rotation.calendar import Month

if TYPE_CHECKING:
    from quarterturn.findings.detection import Detection
    from quarterturn.findings.detection_report import DetectionReports
    from quarterturn.findings.evidence import EvidenceExports
    from rotation.detection.evidence import EvidenceWriter
    from rotation.detection.leak_trace import LeakTracer
    from rotation.detection.scan_results import Scanner
    from rotation.detection.sealed_results import SealedResults


@dataclass
class DetectionServices:
    """What looks for contamination in a home's results."""

    home: OpenHome
    auth: AuthServices
    benchmark: BenchmarkServices
    runs: RunServices

    @cached_property
    def sealed_results(self) -> SealedResults:
        """Results of finished runs, for the detectors."""
        from rotation.detection.sealed_results import SealedResults

        benchmark = self.benchmark
        return SealedResults(
            self.home.vault, benchmark.months, self.runs.store, benchmark.exposures, benchmark.withdrawals
        )

    @cached_property
    def scanner(self) -> Scanner:
        """The detection scan."""
        from rotation.detection.scan_results import Scanner
        from rotation.exposure.store import ExposureLimits

        benchmark, settings = self.benchmark, self.home.settings.findings
        limits = ExposureLimits(servings=settings.servings, readers=settings.readers)
        return Scanner(
            self.sealed_results,
            benchmark.months,
            benchmark.exposures,
            benchmark.findings,
            limits=limits,
            clock=self.home.now,
        )

    @cached_property
    def detectors(self) -> Detection:
        """The detector runs."""
        from quarterturn.findings.detection import Detection

        return Detection(self.scanner, self.benchmark.findings, self.home.now)

    @cached_property
    def leak_tracer(self) -> LeakTracer:
        """The tracing of leaked texts."""
        from rotation.detection.leak_trace import LeakTracer

        months, withdrawals = self.benchmark.months, self.benchmark.withdrawals
        return LeakTracer(self.home.vault, months, self.runs.store, self.runs.ledger, withdrawals)

    @cached_property
    def evidence_writer(self) -> EvidenceWriter:
        """What writes the evidence documents of findings."""
        from rotation.detection.evidence import EvidenceWriter

        months, findings = self.benchmark.months, self.benchmark.findings
        records = (self.home.vault, months, self.runs.store, self.runs.ledger)
        return EvidenceWriter(*records, tracer=self.leak_tracer, findings=findings)

    @cached_property
    def evidence_exports(self) -> EvidenceExports:
        """The exports of evidence, each signed for by two maintainers where the rules say so."""
        from quarterturn.findings.evidence import EvidenceExports

        findings, months = self.benchmark.findings, self.benchmark.months
        return EvidenceExports(self.evidence_writer, findings, months, self.auth.approvals.require)

    @cached_property
    def reports(self) -> DetectionReports:
        """The monthly reports on findings."""
        from quarterturn.findings.detection_report import DetectionReports

        findings, origin = self.benchmark.findings, self.home.settings.benchmark.origin
        return DetectionReports(self.runs.store, self.sealed_results, findings, origin, self.home.now)

    def linked_scores(self, month: Month) -> Mapping[int, Mapping[str, Any]]:
        """Return the raw and the linked scores of a month's runs, by their numbers."""
        from rotation.detection.linked_scores import linked_scores

        return linked_scores(self.sealed_results, self.benchmark.months, self.benchmark.withdrawals, month)
