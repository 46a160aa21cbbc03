"""Lies of an operator who holds all keys: whole months played falsely, each with the step of the audit that refuses it.

Every lie is signed, bound and published as the truth would be. All three auditors are tried with all of them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .conftest import RETIRED, Month


@dataclass(frozen=True)
class Lie:
    """How a month is played, the step of the audit that refuses it, and words of the sentence."""

    play: Callable[[Month], Path]
    step: str
    words: str


def _play(operator: Month, number: int, cohorts: list[str] | None = None, **other: object) -> None:
    """Open and close a run; `cohorts` are those that it is said to have been served."""
    operator.open_run(number, **(other if cohorts is None else other | {"cohorts": cohorts}))
    if cohorts is not None and RETIRED not in cohorts:
        operator.abort(number)
        operator.runs.pop()  # no release of this cohort opens it
        return
    live = operator.cohorts
    operator.cohorts = {name: tasks for name, tasks in live.items() if cohorts is None or name in cohorts}
    operator.score(number, **{name: other[name] for name in ("track", "month") if name in other})
    operator.cohorts = live


def _run(cohorts: list[str] | None = None, **other: object) -> Callable[[Month], Path]:
    def play(operator: Month) -> Path:
        _play(operator.begin(), 1)
        _play(operator, 2, cohorts, **other)
        return operator.retire()

    return play


def _attempts(*attempts: int) -> Callable[[Month], Path]:
    """Play as many runs of one submitter, with these numbers."""

    def play(operator: Month) -> Path:
        operator.begin()
        operator.opening = lambda number: {  # type: ignore[method-assign]
            "submitter": "favourite", "submission": "sha256:" + "0" * 64, "attempt": attempts[number - 1],
        }  # fmt: skip
        for number in range(1, len(attempts) + 1):
            _play(operator, number)
        return operator.retire()

    return play


def _results(**fields: object) -> Callable[[Month], Path]:
    """Bind results with these fields."""

    def play(operator: Month) -> Path:
        honest = operator.begin().result
        operator.result = lambda *of: honest(*of) | fields  # type: ignore[method-assign]
        _play(operator, 1)
        return operator.retire()

    return play


def _sets(month: str = "2026-12", **other: object) -> Callable[[Month], Path]:
    """State another set after the first run."""

    def play(operator: Month) -> Path:
        _play(operator.begin(), 1)
        operator.state_set(month, **other)
        return operator.retire()

    return play


def _early(operator: Month) -> Path:
    """Retire the cohort of the next month in its place."""
    _play(operator.begin(), 1)
    operator.retirement = {"cohort": "cohort-2027-01"}
    return operator.retire()


def _begun(**other: object) -> Callable[[Month], Path]:
    """State the first set so."""

    def play(operator: Month) -> Path:
        operator.commit_all()
        operator.state_set(**other)
        _play(operator, 1)
        return operator.retire()

    return play


def _past(operator: Month) -> Path:
    """Promise a cohort that should have retired a month ago."""
    operator.cohorts["cohort-2026-11"] = operator.cohorts.pop("cohort-2027-03")
    _play(operator.begin(), 1)
    return operator.retire()


LIES = {
    "a pass with a call too many": Lie(_results(calls=13, passed=True, verdict="true"), "results", "13 calls"),
    "more unlisted calls than calls": Lie(_results(unlisted=50, calls=1), "results", "50 of them unlisted"),
    "an attempt that stands twice": Lie(_attempts(1, 1), "runs", "attempt 1 of favourite"),
    "attempts that were exchanged": Lie(_attempts(2, 1), "runs", "attempt 2 of favourite"),
    "an attempt that is missing": Lie(_attempts(1, 3), "runs", "attempt 3 of favourite"),
    "a first attempt that nobody sees": Lie(_attempts(2, 3), "runs", "attempt 2 of favourite"),
    "a run on one private cohort, which no release opens": Lie(
        _run(["cohort-2027-03"]), "runs", "the track docker, which was served cohort-2026-12, "
    ),
    "a run that skips a cohort": Lie(
        _run([RETIRED, "cohort-2027-01", "cohort-2027-02"]), "runs", "which was served cohort-2026-12, "
    ),
    "an endpoint that read a sealed cohort": Lie(
        _run(["cohort-2027-01"], track="endpoint"), "runs", "the track endpoint, which was served cohort-2026-12 then"
    ),
    "an endpoint that read everything": Lie(_run(track="endpoint"), "runs", "the track endpoint"),
    "a run of the dev set in the log": Lie(_run(track="dev"), "runs", "of the track dev, which"),
    "a track that nobody knows": Lie(_run(track="frobnicate"), "runs", "of the track frobnicate, which"),
    "a cohort that no set promised": Lie(_run(["cohort-2027-04"], track="docker"), "runs", "it names cohort-2027-04"),
    "a second set of a month, with another draw": Lie(
        _sets(next_draw=bytes(32)), "statements", "is of 2026-12, the one at leaf 10 before it of 2026-12"
    ),
    "a set that skips a month": Lie(_sets("2027-02"), "statements", "is of 2027-02"),
    "a set that denies the public grammar of its tasks": Lie(
        _begun(public_grammar=False), "statements", "says public_grammar false"
    ),
    "a set with a cohort of the past": Lie(_past, "statements", "is of 2026-12, and lists cohort-2026-11"),
    "a cohort that retires before its month": Lie(_early, "statements", "retires cohort-2027-01 in 2026-12"),
    "a run of another year's month": Lie(_run(month="2031-12"), "runs", "is of 2031-12, the set before it of 2026-12"),
}
