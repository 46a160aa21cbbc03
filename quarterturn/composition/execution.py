"""Services that play submissions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from quarterturn.choices import WorkerClass
from quarterturn.composition.benchmark import BenchmarkServices
from quarterturn.composition.detection import DetectionServices
from quarterturn.composition.home import OpenHome
from quarterturn.composition.keys import KeyServices
from quarterturn.composition.runners import RunnerServices
from quarterturn.composition.runs import RunServices
from quarterturn.composition.submissions import SubmissionServices
from quarterturn.composition.tasks import TaskServices
from quarterturn.runs.dev_runs import PublicRuns
from quarterturn.runs.jobs import JobWorker, WorkerThreads
from quarterturn.runs.private_runs import PrivateRuns
from quarterturn.runs.request import Facilities
from quarterturn.submissions.store.queue import Executor


@dataclass
class ExecutionServices:
    """What plays a home's submissions."""

    home: OpenHome
    keys: KeyServices
    benchmark: BenchmarkServices
    tasks: TaskServices
    runs: RunServices
    runners: RunnerServices
    detection: DetectionServices
    submissions: SubmissionServices

    @cached_property
    def facilities(self) -> Facilities:
        """What runs are given."""
        keys = self.keys
        return Facilities(self.benchmark.spec, keys.models, keys.claim_judges, self.tasks.box, lambda: keys.sender)

    @cached_property
    def private_runs(self) -> PrivateRuns:
        """What plays official runs."""
        return PrivateRuns(
            self.runs.official,
            self.runs.tasks,
            self.runs.store,
            settings=self.home.settings.run,
            facilities=self.facilities,
            submissions=self.submissions.store,
            detection=self.detection.detectors,
            public_view=self.submissions.view,
            fleet=self.runners.fleet,
        )

    @cached_property
    def job_worker(self) -> JobWorker:
        """What runs claimed submissions."""
        submissions = self.submissions
        return JobWorker(
            submissions.store,
            submissions.queue,
            self.runs.store,
            settings=self.home.settings,
            private=self.private_runs,
            public=PublicRuns(
                self.facilities,
                submissions.trace_store,
                submissions.run_measures,
                self.private_runs.terms,
                self.runners.fleet,
            ),
            traces=submissions.trace_release,
        )

    def executor(self, workers: int, only: WorkerClass | None = None) -> Executor:
        """Return what runs submissions in the background, `workers` at a time."""
        return WorkerThreads(self.submissions.queue, self.job_worker.work, workers, only)

    def catch_up(self) -> None:
        """Write what a process that died may have left: the public view, traces, and hand-ins of ended runs."""
        self.submissions.refresh_view()
        self.submissions.trace_release.release_all()
        self.runners.service.remove_leftovers()
