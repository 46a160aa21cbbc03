"""Who goes into which cohort, as a pure decision.

Two promises are kept here. Every cohort gets exactly the mix that the set asks for, and all tasks of one skeleton lie
in one cohort, since publishing one of them gives the others away. Candidates come in the order of their commitments,
which nobody chose; what is left over becomes the reserve, in the same order.
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
        stratum: its cell of the mix.
        skeleton: the opaque tag of its skeleton.
        commitment: its commitment, 32 bytes.
    """

    id: str
    stratum: Stratum
    skeleton: str
    commitment: bytes


@dataclass(frozen=True, slots=True)
class Allocation:
    """The outcome: the tasks of each cohort in promised order, and the reserve of each stratum in its order."""

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
    """Fill `cohorts` with the mix of `spec`.

    Args:
        candidates: what there is to choose from.
        spec: the mix that each cohort gets.
        cohorts: the names of the cohorts to fill.
        taken: skeleton tag -> cohort, for the skeletons that are live already.
        seen: skeleton tags that were published or served; their tasks are passed over.

    Raises:
        Refused: there are too few tasks for a stratum; the message names it and says how many are missing.
    """
    filling = _Filling(spec, cohorts, taken or {}, seen)
    for candidate in sorted(candidates, key=lambda c: c.commitment):
        filling.take(candidate)
    return filling.allocation()


def allocate_first(
    candidates: Iterable[Candidate],
    spec: SetSpec,
    cohorts: Sequence[str],
    *,
    taken: Mapping[str, str] | None = None,
    seen: Collection[str] = (),
) -> Allocation:
    """Do as `allocate` with candidates that come in the order of their commitments, and read no more than it takes.

    Who comes later than the last that is chosen changes nothing: they are passed over in that order.

    Raises:
        Refused: as for `allocate`.
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
    """Cohorts while they are filled from candidates that come in the order of their commitments.

    Attributes:
        places: how many are still free.
    """

    def __init__(self, spec: SetSpec, cohorts: Sequence[str], taken: Mapping[str, str], seen: Collection[str]) -> None:
        self.places = spec.cohort_size * len(cohorts)
        self._spec, self._seen, self._home = spec, seen, dict(taken)
        self._filled: dict[str, dict[Stratum, list[Candidate]]] = {name: defaultdict(list) for name in cohorts}
        self._spare: dict[Stratum, list[Candidate]] = defaultdict(list)

    def take(self, candidate: Candidate) -> None:
        """Give the next one a place, or keep it as a spare, or pass it over."""
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
        """Say whether nobody who comes later can change anything; asked when no place is free."""
        reserve = self._reserve()
        return all(len(reserve.get(stratum, ())) == self._spec.reserve for stratum in self._spec.per_cohort)

    def allocation(self) -> Allocation:
        """Give the outcome.

        Raises:
            Refused: places are free.
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
    spare: Mapping[Stratum, Sequence[Candidate]], used: set[str], most: int
) -> dict[Stratum, tuple[Candidate, ...]]:
    """Choose so many spare tasks of each stratum, no two of one skeleton: any of them may enter any cohort."""
    reserve: dict[Stratum, tuple[Candidate, ...]] = {}
    for stratum, rest in spare.items():
        fresh = {c.skeleton: c for c in reversed(rest) if c.skeleton not in used}
        reserve[stratum] = tuple(sorted(fresh.values(), key=lambda c: c.commitment))[:most]
        used |= {c.skeleton for c in reserve[stratum]}
    return reserve


def _place(
    candidate: Candidate,
    spec: SetSpec,
    filled: Mapping[str, Mapping[Stratum, list[Candidate]]],
    home: Mapping[str, str],
) -> str | None:
    """Choose the emptiest cohort with room; a known skeleton goes to its own cohort or nowhere."""
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
            f"too few reviewed tasks of unseen skeletons: {'; '.join(gaps)}. Draw and review more, then try again"
        )
