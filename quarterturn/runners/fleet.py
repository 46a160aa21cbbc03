"""Fleet: the runners of a home, what is offered to them, and what they handed in."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from sqlmodel import Session

from quarterturn.runners.dispatcher import Dispatcher
from quarterturn.runners.hand_in_folder import HandInFolder
from quarterturn.runners.hand_in_key import HandInKey
from quarterturn.runners.local_runner import LocalRunner
from quarterturn.runners.model_relays import ModelRelays
from quarterturn.runners.runner_box import RunnerBox
from quarterturn.runners.store import Runners
from sandbox.boxes.box import Box
from sandbox.isolation.run_classes import RunClass


@dataclass(frozen=True, slots=True)
class RunnerFleet:
    """What playing servings on runners takes, and answering them.

    Attributes:
        runners: the runners, and the rows of the servings that they started.
        dispatcher: the offers of this process.
        key: to which runners seal what they hand in.
        handed_in: where that arrives.
        classes: the classes of runs that are played on runners elsewhere.
        local: the runner of this process, for all others; None where this process plays them itself.
        models: what carries the links of their servings to language models.
    """

    runners: Runners
    dispatcher: Dispatcher
    key: HandInKey
    handed_in: HandInFolder
    classes: Collection[str] = ()
    local: LocalRunner | None = None
    models: ModelRelays = field(default_factory=ModelRelays)

    def plays(self, run_class: RunClass) -> bool:
        """Say whether runs of a class are played on runners, elsewhere or of this process."""
        return self.local is not None or run_class in self.classes

    def box(self, run_class: RunClass, make_box: Callable[[], Box]) -> Box:
        """Return the box of runs of a class: that of runners elsewhere, or this machine's.

        Raises:
            Unavailable: no runner elsewhere is alive, or this machine's cannot be had.
        """
        if run_class in self.classes:
            return RunnerBox(self.runners, run_class)
        return self.local.box(make_box()) if self.local else make_box()

    def record_start(
        self, handle: str, *, run: int | None = None, task: str = "", session: Session | None = None
    ) -> None:
        """Record that an offered serving begins on the runner that asked for its key.

        Args:
            handle: of the serving.
            run: the number of its official run, or None.
            task: the id of that run's task, or empty.
            session: the transaction in which its exposure is recorded, or None.
        """
        offer = self.dispatcher.find(handle)
        if offer is None or offer.runner is None:
            raise RuntimeError("no runner has asked for this serving")
        self.runners.start(handle, offer.runner, run=run, task=task, seconds=offer.seconds, session=session)

    def close(self, handle: str) -> None:
        """Take nothing more for a serving, and remove what was handed in."""
        self.runners.close(handle)
        self.handed_in.remove(handle)

    def settle(self, run: int, task: str) -> None:
        """Close the servings of a task of a run, once what came of it is recorded."""
        for serving in self.runners.outstanding(run, task):
            self.close(serving.handle)
