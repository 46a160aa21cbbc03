"""Allocation of tasks to cohorts: a pure, deterministic function of the candidates and the set's mix.

Every cohort gets exactly the mix that the set specifies, and all tasks of one skeleton are in one cohort, since
publishing one of them gives the others away. Candidates are taken in the order of their commitments, which nobody can
choose; those left over become the reserve, in the same order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from rotation.errors import Refused
from rotation.month.sets import SetSpec, Stratum


@dataclass(frozen=True, slots=True)
class Candidate:
    """A reviewed task that could go live.

    Attributes:
        id: the task's id.
        stratum: its cell of the mix (server, category and difficulty).
        skeleton: the opaque tag of its skeleton.
        commitment: its commitment, 32 bytes.
    """

    id: str
    stratum: Stratum
    skeleton: str
    commitment: bytes


@dataclass(frozen=True, slots=True)
class Allocation:
    """The result of an allocation: each cohort's tasks in promised order, and each stratum's reserve in its order."""

    cohorts: Mapping[str, tuple[Candidate, ...]]
    reserve: Mapping[Stratum, tuple[Candidate, ...]]


def allocate(
    candidates: Iterable[Candidate],
    spec: SetSpec,
    cohorts: Sequence[str],
    *,
    taken: Mapping[str, str] | None = None,
    seen: Collection[str] = (),
) -> Allocation:
    """Fill `cohorts` with the mix of `spec`, and stop reading candidates as soon as all is filled.

    A candidate after the last chosen one changes nothing.

    Args:
        candidates: the tasks to choose from, in the order of their commitments.
        spec: the set, with the mix that each cohort gets.
        cohorts: the names of the cohorts to fill.
        taken: skeleton tag -> cohort, for the skeletons that are live already.
        seen: tags of the skeletons that were published or served; their tasks are skipped.

    Raises:
        Refused: there are too few tasks for a stratum; the message names it and says how many are missing.
    """
    filling, look = _Filling(spec, cohorts, taken or {}, seen), 0
    for read, candidate in enumerate(candidates):
        filling.take(candidate)
        if not filling.places and read >= look:
            if filling.full():
                break
            look = read + read // 8 + 1  # a reserve is chosen anew each time
    return filling.allocation()


class _Filling:
    """State of an allocation while cohorts are filled from candidates in the order of their commitments.

    Attributes:
        places: how many places are still free.
    """

    def __init__(self, spec: SetSpec, cohorts: Sequence[str], taken: Mapping[str, str], seen: Collection[str]) -> None:
        self.places = spec.cohort_size * len(cohorts)
        self._spec, self._seen, self._home = spec, seen, dict(taken)
        self._filled: dict[str, dict[Stratum, list[Candidate]]] = {name: defaultdict(list) for name in cohorts}
        self._spare: dict[Stratum, list[Candidate]] = defaultdict(list)

    def take(self, candidate: Candidate) -> None:
        """Place the next candidate in a cohort, keep it as a spare, or skip it."""
        if candidate.skeleton in self._seen or candidate.stratum not in self._spec.per_cohort:
            return
        name = _place(candidate, self._spec, self._filled, self._home)
        if name is None:
            self._spare[candidate.stratum].append(candidate)
        else:
            self._home[candidate.skeleton] = name
            self._filled[name][candidate.stratum].append(candidate)
            self.places -= 1

    def full(self) -> bool:
        """Say whether no later candidate can change the result; only called when no place is free."""
        reserve = self._reserve()
        return all(len(reserve.get(stratum, ())) == count for stratum, count in self._spec.reserve.items())

    def allocation(self) -> Allocation:
        """Return the result.

        Raises:
            Refused: some places are still free.
        """
        _refuse_gaps(self._spec, self._filled)
        return Allocation(
            cohorts={
                name: tuple(sorted((c for held in by.values() for c in held), key=lambda c: c.commitment))
                for name, by in self._filled.items()
            },
            reserve=self._reserve(),
        )

    def _reserve(self) -> dict[Stratum, tuple[Candidate, ...]]:
        return _reserve(self._spare, set(self._home), self._spec.reserve)


def _reserve(
    spare: Mapping[Stratum, Sequence[Candidate]], used: set[str], most: Mapping[Stratum, int]
) -> dict[Stratum, tuple[Candidate, ...]]:
    """Choose up to so many spares of each stratum, no two of one skeleton, so that any may enter any cohort."""
    reserve: dict[Stratum, tuple[Candidate, ...]] = {}
    for stratum, rest in spare.items():
        fresh = {c.skeleton: c for c in reversed(rest) if c.skeleton not in used}
        reserve[stratum] = tuple(sorted(fresh.values(), key=lambda c: c.commitment))[: most.get(stratum, 0)]
        used |= {c.skeleton for c in reserve[stratum]}
    return reserve


def _place(
    candidate: Candidate,
    spec: SetSpec,
    filled: Mapping[str, Mapping[Stratum, list[Candidate]]],
    home: Mapping[str, str],
) -> str | None:
    """Choose the cohort with most room; a skeleton that has a cohort goes to that one or nowhere."""
    room = {
        name: spec.per_cohort[candidate.stratum] - len(by.get(candidate.stratum, []))
        for name, by in filled.items()
        if home.get(candidate.skeleton, name) == name
    }
    best = max(room, key=lambda name: room[name], default=None)
    return best if best is not None and room[best] > 0 else None


def _refuse_gaps(spec: SetSpec, filled: Mapping[str, Mapping[Stratum, list[Candidate]]]) -> None:
    missing = {
        stratum: sum(wanted - len(by.get(stratum, [])) for by in filled.values())
        for stratum, wanted in spec.per_cohort.items()
    }
    gaps = [f"{stratum} lacks {count}" for stratum, count in missing.items() if count]
    if gaps:
        raise Refused(
            f"too few reviewed tasks of unseen skeletons: {'; '.join(gaps)}. "
            "Review what waits (`quarterturn task review`); if nothing does, draw more (`quarterturn task admit`). "
            "Then try again"
        )
