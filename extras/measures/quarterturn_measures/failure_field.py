"""Field of a service: the median share of each failure class among what others have published of their dev runs.

Only runs on the whole dev set count whose owners have published the trace, so that anybody can compute the median from
`GET /runs/ID`: nothing of a private run, of an unpublished trace, or of a task that is not public goes into it. A party
counts once, with its newest such run that has a failure with a class, and the caller's own party does not count. Of
fewer than `MIN_PARTIES` parties there is no median.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from statistics import median
from typing import TYPE_CHECKING

from quarterturn_measures.measures.failure_class import TITLES

if TYPE_CHECKING:  # loads SQLAlchemy, which `measure` needs for nothing
    from quarterturn.submissions.store.traces import TraceStore

MIN_PARTIES = 3
"""Below, their median is not a field's."""

Profile = Mapping[str, float]
"""Share of each failure class among the failures of a run that have one."""


@dataclass(frozen=True, slots=True)
class FieldMedian:
    """The field.

    Attributes:
        runs: how many runs it is the median of.
        shares: the median share of each class.
    """

    runs: int
    shares: Profile = field(repr=False)


def field_median(profiles: Sequence[Profile]) -> FieldMedian | None:
    """Return the median share of each class; None of no run."""
    if not profiles:
        return None
    return FieldMedian(len(profiles), {name: median(profile[name] for profile in profiles) for name in TITLES})


class FailureField:
    """The field of a service, as its submitters see it beside their own profile.

    Args:
        store: where traces are kept.
        parties: gives the party of each account.
    """

    def __init__(self, store: TraceStore, parties: Callable[[], Mapping[str, str]]) -> None:
        self._store, self._parties = store, parties
        self._known: dict[tuple[str, datetime], Profile | None] = {}

    def beside(self, account: str) -> FieldMedian | None:
        """Return the median of the others' published runs; None where fewer than `MIN_PARTIES` parties have one."""
        parties = self._parties()
        profiles = dict(self._profiles(parties, parties.get(account)))
        return field_median(list(profiles.values())) if len(profiles) >= MIN_PARTIES else None

    def _profiles(self, parties: Mapping[str, str], own: str | None) -> Iterator[tuple[str, Profile]]:
        """Yield each other party's newest published profile."""
        seen = {own}
        for name, account, published_at in self._store.published_dev_runs():
            party = parties.get(account, account)
            if party not in seen and (profile := self._profile(name, published_at)) is not None:
                seen.add(party)
                yield party, profile

    def _profile(self, name: str, published_at: datetime) -> Profile | None:
        """Return a run's profile, read once for each publication; None of a run without a failure that has a class."""
        if (name, published_at) not in self._known:
            trace = self._store.get(name)
            measured = trace.document.get("measures") if trace and trace.published_at else None
            classes = measured["failures"]["classes"] if measured and measured["failures"]["diagnosed"] else None
            shares = {key: classes[key]["value"] for key in TITLES} if classes else None
            self._known[name, published_at] = shares
        return self._known[name, published_at]
