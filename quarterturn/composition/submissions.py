"""Services of the submissions: their rows and queue, what their owners and the public see, and traces."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

from quarterturn.composition.auth import AuthServices
from quarterturn.composition.benchmark import BenchmarkServices
from quarterturn.composition.home import OpenHome
from quarterturn.composition.runs import RunServices
from quarterturn.composition.tasks import TaskServices

if TYPE_CHECKING:
    from quarterturn.display_names.store import DisplayNames
    from quarterturn.public_view import PublicViewWriter
    from quarterturn.runs.measures import RunMeasures
    from quarterturn.submissions.frozen_agents import FrozenAgents
    from quarterturn.submissions.service import OwnerView, SubmissionService
    from quarterturn.submissions.store.queue import Queue
    from quarterturn.submissions.store.requests import Submissions
    from quarterturn.submissions.store.traces import TraceStore
    from quarterturn.submissions.traces import TraceRelease, Traces


@dataclass
class SubmissionServices:
    """The submissions to a home."""

    home: OpenHome
    auth: AuthServices
    benchmark: BenchmarkServices
    tasks: TaskServices
    runs: RunServices

    @cached_property
    def store(self) -> Submissions:
        """The submissions through the service."""
        from quarterturn.submissions.store.requests import Submissions

        return Submissions(self.home.engine, self.benchmark.exposures, self.home.settings.service, self.home.now)

    @cached_property
    def queue(self) -> Queue:
        """The job queue."""
        from quarterturn.submissions.store.queue import Queue

        at_once = self.home.settings.service.at_once
        return Queue(self.home.engine, self.home.now, at_once, self.benchmark.months.names_judge)

    @cached_property
    def display_names(self) -> DisplayNames:
        """The names that owners chose for their agents."""
        from quarterturn.display_names.store import DisplayNames

        agents, accounts = self.store.agents, self.auth.accounts.parties
        return DisplayNames(self.home.engine, self.home.now, agents=agents, accounts=accounts)

    @cached_property
    def owner_view(self) -> OwnerView:
        """What shows submissions to their owners."""
        from quarterturn.submissions.service import OwnerView

        stores = (self.queue, self.store, self.runs.scores, self.trace_store)
        return OwnerView(*stores, now=self.home.now, at_once=self.home.settings.service.at_once)

    @cached_property
    def trace_store(self) -> TraceStore:
        """Where traces are kept."""
        from quarterturn.submissions.store.traces import TraceStore

        return TraceStore(self.home.engine)

    @cached_property
    def traces(self) -> Traces:
        """What shows traces."""
        from quarterturn.submissions.traces import Traces

        return Traces(self.trace_store, self.store, self.trace_release, self.home.now)

    @cached_property
    def trace_release(self) -> TraceRelease:
        """What adds the retired tasks of private runs to their traces."""
        from quarterturn.submissions.traces import TraceRelease

        return TraceRelease(
            self.trace_store,
            self.runs.store,
            self.home.vault,
            submissions=self.store,
            months=self.benchmark.months,
            withdrawals=self.benchmark.withdrawals,
            run_ledger=self.runs.ledger,
        )

    @cached_property
    def run_measures(self) -> RunMeasures:
        """The measures of runs on the dev set."""
        from quarterturn.runs.measures import run_measures

        return run_measures(self.trace_store, self.auth.accounts.parties)

    @cached_property
    def view(self) -> PublicViewWriter:
        """The writer of the public view."""
        from quarterturn.public_view import ABOUT, HomeFacts, PublicDocuments, PublicViewWriter

        places, benchmark = self.home.places, self.benchmark
        dumped = self.home.settings.benchmark.model_dump(include={"origin", "first_month", *ABOUT})
        about = {name: value for name, value in dumped.items() if value}
        facts = HomeFacts(about, places.releases, places.log, benchmark.calendar.next)
        parts = (facts, benchmark.months, self.runs.leaderboard, self.runs.caveats, benchmark.findings)
        documents = PublicDocuments(*parts, names=self.display_names.shown)
        return PublicViewWriter(places.view, documents, benchmark.months, self.runs.recount)

    def refresh_view(self) -> None:
        """Write the whole public view, the dev set included."""
        from quarterturn.public_view import dev_set

        self.view.refresh(partial(dev_set, self.benchmark.spec, self.tasks.known_tasks.count_unpublished))

    @cached_property
    def service(self) -> SubmissionService:
        """What takes and cancels submissions."""
        from quarterturn.submissions.service import SubmissionPolicy, SubmissionService
        from sandbox.image_reference import ImagePattern

        settings, benchmark = self.home.settings, self.benchmark
        models = [name for name in settings.models if name != settings.claim_judge.upstream]
        images = [ImagePattern.parse(pattern) for pattern in settings.service.images]
        hosting = bool(settings.service.callbacks_url)
        policy = SubmissionPolicy(images, models, hosting, benchmark.spec.tracks, benchmark.months.names_judge)
        return SubmissionService(
            self.store,
            policy,
            benchmark.months,
            self.home.now,
            official=self.runs.official,
            public_view=self.view,
        )

    @cached_property
    def frozen_agents(self) -> FrozenAgents:
        """What submits the frozen agents."""
        from quarterturn.submissions.frozen_agents import FrozenAgents

        agents, accounts = self.home.settings.frozen_agents, self.auth.accounts
        return FrozenAgents(agents, accounts, self.service, self.store, self.benchmark.months)
