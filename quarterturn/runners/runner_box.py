"""Box of runs that are played on runners: named after the box that these have, and empty on this machine."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import NoReturn

from quarterturn.errors import Refused, Unavailable
from quarterturn.runners.store import Runners
from sandbox.boxes.box import Box, Program
from sandbox.image_reference import ImageReference
from sandbox.isolation.run_classes import RunClass


class RunnerBox:
    """The box of the runners of one class (`sandbox.boxes.box.Box`), in which this process starts nothing.

    Args:
        runners: the runners.
        run_class: the class of the runs.

    Raises:
        Unavailable: no runner of this class is alive.
    """

    local_box: Box | None = None
    """The box in which the local runner of this process plays; None where the runners are elsewhere."""

    def __init__(self, runners: Runners, run_class: RunClass) -> None:
        self._runners, self.run_class = runners, run_class
        self.name = self._alive()
        self.official = self.name == "docker"

    def playing(self, stopped: Callable[[], bool]) -> AbstractContextManager[None]:  # noqa: ARG002 - nothing is waited for
        """Take nothing: runners take the lock of their own machine, and check their own box before they register."""
        return nullcontext()

    def check(self) -> None:
        """Make sure that a runner is alive.

        Raises:
            Unavailable: none is.
        """
        self._alive()

    def is_alive(self) -> bool:
        """Say whether a runner of this box and class is alive."""
        return any((runner.box, runner.run_class) == (self.name, self.run_class) for runner in self._runners.alive())

    def digest(self, reference: ImageReference) -> str:
        """Return the digest that a reference names: this machine has no engine that could look a tag up.

        Raises:
            Refused: it names none.
        """
        if reference.digest is None:
            raise Refused("submissions are played on runners, so an image is named by its digest: NAME@sha256:…")
        return reference.digest

    def fits(self, program: Program) -> None:
        """Leave it to the runner: one that cannot start the program says so in what it hands in."""

    def world(self, *_: object) -> NoReturn:
        """Refuse: worlds are made on runners."""
        raise Unavailable("this machine makes no world: submissions are played on runners")

    def place(self, *_: object) -> NoReturn:
        """Refuse likewise."""
        raise Unavailable("this machine starts no agent: submissions are played on runners")

    def _alive(self) -> str:
        for runner in self._runners.alive():
            if runner.run_class == self.run_class and runner.box is not None:
                return runner.box
        raise Unavailable(
            f"no runner for {self.run_class} runs is alive: start one with `quarterturn runner start --to URL --only "
            f"{self.run_class}`, or take the class out of run.runners"
        )
