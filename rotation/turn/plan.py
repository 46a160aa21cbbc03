"""Plan of a turn: which cohort retires, and which tasks enter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass

from rotation.calendar import Month
from rotation.errors import Refused
from rotation.month.cohort import Candidate, allocate
from rotation.month.sets import SetSpec, Stratum
from rotation.month.store import Cohort, MonthStore
from vault.store.tasks import TaskRecord, Vault
from vault.task.lifecycle import TaskState


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of a turn: what it would retire and activate.

    Attributes:
        month: the month that it ends.
        retire: the cohort that retires, or None at the first turn and in a month in which none does.
        enter: the tasks of each entering cohort by the month in which it retires, in promised order.
        reserve: the spare tasks, by stratum and in the order of their reserve.
    """

    month: Month
    retire: Cohort | None
    enter: Mapping[Month, tuple[Candidate, ...]]
    reserve: tuple[Candidate, ...]


class Planner:
    """Plans turns.

    Args:
        vault: the reviewed tasks.
        months: the store of cohorts and seen skeletons.
        spec: the set, with the mix of each cohort.
        approve: is called with a plan that is about to be carried out; raises if it may not be carried out yet.
    """

    def __init__(
        self, vault: Vault, months: MonthStore, spec: SetSpec, approve: Callable[[Plan], None] = lambda _: None
    ) -> None:
        self._vault, self._months, self._spec, self._approve = vault, months, spec, approve

    def plan(self, month: Month) -> Plan:
        """Return the plan of the turn of `month`; changes nothing.

        Raises:
            Refused: too few tasks are ready to enter, or the set has other cohorts than those that are live.
        """
        self._require_same_plan(month)
        self._require_even_cohorts(month)
        spec, retiring = self._spec, self._months.cohort_retiring(month)
        entering = [month.plus(spec.lifetime)] if retiring else []
        if not self._months.cohorts():
            entering = [month.plus(spec.period * (place + 1)) for place in range(spec.cohorts)]
        promised = {record.id for record in committed(self._vault)}
        with closing(self._vault.by_commitment(TaskState.REVIEWED)) as reviewed:
            allocation = allocate(
                (candidate(task) for task in reviewed if task.may_enter(str(month)) or task.id in promised),
                self._spec,
                [retires.cohort for retires in entering],
                taken=self._months.taken(),
                seen=self._months.seen(),
            )
        enter = {retires: allocation.cohorts[retires.cohort] for retires in entering}
        reserve = tuple(spare for rest in allocation.reserve.values() for spare in rest)
        return Plan(month, retiring, enter, reserve)

    def _require_same_plan(self, month: Month) -> None:
        """Refuse a set with another number or lifetime of cohorts than was promised: both stay as they are."""
        spec, cohorts = self._spec, self._months.cohorts()
        retire = [cohort.retires for cohort in cohorts if cohort.retires >= month]
        wanted = [retire[0].plus(spec.period * place) for place in range(spec.cohorts)] if retire else []
        if cohorts and retire != wanted:
            raise Refused(
                f"the set '{spec.name}' has {spec.cohorts} cohorts, of which one retires every {spec.period} months, "
                f"and those that are live were promised to retire with {', '.join(map(str, retire))}: put the home's "
                "set back to the one that the home was made with"
            )

    def _require_even_cohorts(self, month: Month) -> None:
        """Refuse a set whose cohorts differ from those that stay live by more than one task, as they were promised."""
        size = self._spec.cohort_size
        for cohort in self._months.cohorts("promised", "live"):
            promised = self._months.promised_size(cohort.id)
            if cohort.retires > month and abs(promised - size) > 1:
                raise Refused(
                    f"{cohort.id} was promised with {promised} tasks, and a cohort of the set '{self._spec.name}' has "
                    f"{size}: cohorts that are live together have the same size. Set `benchmark.set` in the home's "
                    "settings back to the set that the home was made with"
                )

    def approved(self, month: Month) -> Plan:
        """Return the plan of the turn of `month`, which may be carried out.

        Raises:
            Refused: too few tasks are ready to enter.
            Exception: what `approve` raises.
        """
        plan = self.plan(month)
        self._approve(plan)
        return plan


def committed(vault: Vault) -> list[TaskRecord]:
    """List the reviewed tasks that have a `commit` leaf, in the order of their commitments: the spare ones."""
    with closing(vault.by_commitment(TaskState.REVIEWED, leaf="commit/")) as tasks:
        return list(tasks)


def candidate(record: TaskRecord) -> Candidate:
    """Return the allocation's candidate for a task."""
    return Candidate(
        id=record.id,
        stratum=Stratum.of(record),
        skeleton=record.skeleton_tag,
        commitment=record.commitment,
    )
