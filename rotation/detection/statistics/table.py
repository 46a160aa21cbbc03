"""The detectors' input: a table of results, runs by tasks, in an order independent of the input's order. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rotation.detection.statistics.lookback import LOOKBACK
from rotation.detection.statistics.served_values import SaidValues

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class ResultTable:
    """The results of P runs on T tasks by S submitters; a run is one submission in one rotation.

    Runs are sorted by (rotation, submitter, name); tasks, families and submitters by their bytes.

    Attributes:
        runs: the submissions' names, P of them.
        submitter: (P,) the run's submitter, an index into `submitters`.
        rotation: (P,) when it was made; 1 is the first.
        submitters: their names, S of them.
        tasks: their names, T of them.
        family: (T,) which template a task came from, an index into `families`.
        families: their names.
        server: (T,) a code of the server that a task is of; all 0 if the servers are not known.
        first: (T,) the rotation in which a task went live; may be 0 or less.
        cap: (T,) the most tool calls that a task allows.
        taken: (P, T) whether the run has a result of the task; if not, the fields below mean nothing.
        passed: (P, T) whether it passed.
        calls: (P, T) how many tool calls it made.
        sequence: (P, T) a code of the tools that it called in order: equal codes of a task mean equal calls. All 0 if
            the calls are not known.
        exposed: (P, T) whether this submitter could have known the task before this run.
        said: which served values the runs said; none where nothing is known of it.
        rates: (P, T) the share of several samples that passed; `passed` is then one of them. None for single results.
        groups: what each submitter stands on (a model, a base), S of them, or none; "" where it is not known.
    """

    runs: tuple[str, ...]
    submitter: Ints
    rotation: Ints
    submitters: tuple[str, ...]
    tasks: tuple[str, ...]
    family: Ints
    families: tuple[str, ...]
    server: Ints
    first: Ints
    cap: Ints
    taken: Bools
    passed: Bools
    calls: Ints
    sequence: Ints
    exposed: Bools
    said: tuple[SaidValues, ...] = ()
    rates: Floats | None = None
    groups: tuple[str, ...] = ()

    def until(self, rotation: int) -> ResultTable:
        """Return the table up to a rotation, without later runs and the tasks and submitters that only they have."""
        return self.only(np.flatnonzero(self.rotation <= rotation))

    def recent(self, rotation: int) -> ResultTable:
        """Return the table that a rotation is tested on: its own runs and those of the five rotations before it."""
        return self.only(np.flatnonzero((self.rotation <= rotation) & (self.rotation > rotation - LOOKBACK)))

    def only(self, rows: Ints) -> ResultTable:
        """Return the table of some runs, without the tasks and submitters that only others have."""
        seen = np.flatnonzero(self.taken[rows].any(axis=0))
        present, submitter = np.unique(self.submitter[rows], return_inverse=True)
        families, family = np.unique(self.family[seen], return_inverse=True)
        kept = set(self.rotation[rows].tolist())
        return replace(
            self,
            runs=tuple(self.runs[run] for run in rows),
            submitter=submitter.astype(np.int64),
            rotation=self.rotation[rows],
            submitters=tuple(self.submitters[index] for index in present),
            tasks=tuple(self.tasks[task] for task in seen),
            family=family.astype(np.int64),
            families=tuple(self.families[index] for index in families),
            server=np.unique(self.server[seen], return_inverse=True)[1].astype(np.int64),
            first=self.first[seen],
            cap=self.cap[seen],
            taken=self.taken[np.ix_(rows, seen)],
            passed=self.passed[np.ix_(rows, seen)],
            calls=self.calls[np.ix_(rows, seen)],
            sequence=self.sequence[np.ix_(rows, seen)],
            exposed=self.exposed[np.ix_(rows, seen)],
            said=tuple(row for row in self.said if row.rotation in kept),
            rates=None if self.rates is None else self.rates[np.ix_(rows, seen)],
            groups=tuple(self.groups[index] for index in present) if self.groups else (),
        )

    @property
    def share(self) -> Floats:
        """(P, T) the share of samples that passed: 0 or 1 where there is one."""
        return self.passed.astype(np.float64) if self.rates is None else self.rates

    @property
    def last(self) -> int:
        """The latest rotation in it; 0 where it holds no run."""
        return int(self.rotation.max(initial=0))
