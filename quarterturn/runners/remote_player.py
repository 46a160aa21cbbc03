"""Player of servings on runners: offers each to them, and waits for what they hand in.

1. A serving is offered when its turn comes. Before its key is granted, the exposure and the serving's row are recorded.
2. What a runner hands in is a file, sealed to this service. It is opened here, and removed once its run has recorded
   what came of it: a run that is resumed before that opens it again.
3. A run that another process goes on with finds its started servings by their rows, and waits for what they left.
4. Where nothing comes until a serving is due, its runner is lost: nobody can tell what happened there, so it is a fail.
   After an outage of the service or its database, the runner first has time to hand in.
5. While no runner of the class is alive, nothing is served; after `NO_RUNNER_SECONDS` the run is put off.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from quarterturn.errors import Unavailable
from quarterturn.runners.dispatcher import Offer
from quarterturn.runners.fleet import RunnerFleet
from quarterturn.runners.runner_box import RunnerBox
from sandbox.errors import Malformed
from sandbox.model_gateway.process import ModelLink, ModelLinks
from sandbox.results.failure import AttemptFacts, Stage
from sandbox.servings.handed_in import HandIn
from sandbox.servings.player import require_wanted
from sandbox.servings.relayed_model import model_token
from sandbox.servings.sealing import KEY_BYTES, encrypt_serving
from sandbox.servings.serving import Serving
from vault.errors import Unavailable as DatabaseAway

NO_RUNNER_SECONDS = 600.0
OUTAGE_SECONDS = 600.0
"""For how long after an agent's time a runner may be out of reach: an outage of ours costs no point."""
PREPARATION_SECONDS = 300.0
"""For making a world ready, freezing it and reading a backend back."""
POLL_SECONDS = 0.5
"""Seconds between two looks at the rows, which another process may have changed."""


class RemotePlayer:
    """Plays the servings of one run on runners (`sandbox.servings.player.ServingPlayer`).

    Args:
        fleet: the runners, with what is offered to them and what they handed in.
        box: the box of the run.
        run: its number, or None for tasks that no official run is served.
        workers: how many servings of it are played at a time.
        models: the language model that agents may ask, or None.
    """

    def __init__(
        self,
        fleet: RunnerFleet,
        box: RunnerBox,
        run: int | None = None,
        workers: int = 2,
        models: ModelLinks | None = None,
    ) -> None:
        self.fleet, self.box, self.run, self.workers, self.models = fleet, box, run, workers, models

    def check(self) -> None:
        """Make sure that a runner is alive.

        Raises:
            Unavailable: none is.
        """
        self.box.check()

    def prepare(self, serving: Serving) -> RemoteServing:
        """Return a serving to be offered, or one that an earlier process of this run has started, by its handle."""
        row = self.fleet.runners.serving(serving.handle)
        return RemoteServing(self, serving, self.fleet.runners.name(row.runner) if row is not None else None)


class RemoteServing:
    """One serving on a runner (`sandbox.servings.player.PreparedServing`).

    Args:
        player: whose fleet offers it.
        serving: what is played.
        started_by: the name of the runner on which an earlier process has started it, or None.
    """

    def __init__(self, player: RemotePlayer, serving: Serving, started_by: str | None) -> None:
        self._player, self._fleet, self._serving = player, player.fleet, serving
        self._has_started, self._played_by = started_by is not None, started_by or ""
        self._is_over = False
        self._model: ModelLink | None = None

    def play(self, record_serving: Callable[[], None], stop: threading.Event) -> HandIn:
        """Have it played, and return what was left.

        Raises:
            Lost: the run was given up here; the serving goes on where it has started.
            Unavailable: no runner of this class was alive for `NO_RUNNER_SECONDS`, and nothing was served; or what was
                handed in cannot be read.
        """
        if not self._has_started:
            self._start(record_serving, stop)
        hand_in = replace(self._wait_for_hand_in(stop), played_by=self._played_by)
        self._is_over = True
        return hand_in if self._serving.session.model is None else self._with_model_calls(hand_in)

    def close(self) -> None:
        """Offer it no more; the journal of an official run settles it, once what came of it is recorded."""
        handle = self._serving.handle
        self._fleet.dispatcher.close(handle)
        self._fleet.models.close(handle)
        is_settled_here = self._is_over and self._player.run is None
        has_lost_model = self._model is not None and not self._is_over  # its session went with this process
        if is_settled_here or has_lost_model:
            self._fleet.close(handle)

    def _start(self, record_serving: Callable[[], None], stop: threading.Event) -> None:
        """Offer it, and grant its key to the runner that asks for it."""
        serving, box, dispatcher = self._serving, self._player.box, self._fleet.dispatcher
        key = os.urandom(KEY_BYTES)
        seconds = serving.agent.wall + PREPARATION_SECONDS + OUTAGE_SECONDS
        offer = Offer(serving.handle, box.name, box.run_class, encrypt_serving(serving, key), key, seconds)
        dispatcher.offer(offer)
        alone_since = time.monotonic()
        while not dispatcher.wait_for_request(offer, POLL_SECONDS):
            require_wanted(stop)
            if self._is_anybody_alive():
                alone_since = time.monotonic()
            elif time.monotonic() - alone_since > NO_RUNNER_SECONDS:
                minutes = NO_RUNNER_SECONDS / 60
                raise Unavailable(f"no runner for {box.run_class} runs was alive for {minutes:.0f} minutes")
        if self._serving.session.model is not None and self._player.models is not None:
            self._model = self._player.models.open()
            self._fleet.models.open(serving.handle, self._model, model_token(key))
        if offer.runner is not None:
            self._played_by = self._fleet.runners.name(offer.runner)
        record_serving()
        if self._player.run is None:
            self._fleet.record_start(serving.handle)
        dispatcher.grant(offer)

    def _wait_for_hand_in(self, stop: threading.Event) -> HandIn:
        """Wait until what was left arrives, or is overdue.

        While we were away nothing could be handed in: after that, a runner has `OUTAGE_SECONDS` whatever the row says.
        """
        handle, runners = self._serving.handle, self._fleet.runners
        back_at = time.monotonic() if self._has_started else float("-inf")
        while True:
            try:
                row = runners.serving(handle)
                if row is not None and row.state == "handed-in":
                    return self._opened()
                if row is not None and row.state == "unbegun":
                    return HandIn(AttemptFacts(Stage.GATEWAY))  # as where a place cannot be made: it is served again
                is_late = row is not None and runners.now() >= row.due and time.monotonic() >= back_at + OUTAGE_SECONDS
                if row is None or row.state in ("closed", "lost") or is_late:
                    return HandIn.of_lost_runner()
            except DatabaseAway:  # nobody can tell; what is handed in waits on the runner's disk or on ours
                back_at = time.monotonic()
            require_wanted(stop)
            self._fleet.dispatcher.wait(POLL_SECONDS)

    def _with_model_calls(self, hand_in: HandIn) -> HandIn:
        """Put what was asked of a language model into the transcript, from our own log and not by the runner's word.

        A session that an earlier process opened went with that process, and its log too.
        """
        self._fleet.models.close(self._serving.handle)
        calls, lost = (self._model.calls, self._model.lost) if self._model else ((), True)
        return hand_in.with_model_calls(calls, lost=lost)

    def _opened(self) -> HandIn:
        """Open what was handed in; what is of no form of ours is as good as nothing.

        Raises:
            Unavailable: it cannot be read from the disk.
        """
        handle = self._serving.handle
        try:
            return self._fleet.key.open(handle, self._fleet.handed_in.read(handle))
        except Malformed:
            return HandIn.of_lost_runner()
        except OSError as error:
            raise Unavailable(f"what was handed in for {handle} cannot be read: {error.strerror}") from None

    def _is_anybody_alive(self) -> bool:
        with suppress(DatabaseAway):
            return self._player.box.is_alive()
        return True
