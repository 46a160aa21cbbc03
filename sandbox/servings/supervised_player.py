"""Plays servings in supervisors of this machine: the process that asks may hold keys, and plays no agent.

    1. A supervisor of its own (`sandbox.servings.supervisor`) makes each serving ready, ahead of its turn.
    2. It asks for a turn before the agent is let go. The serving is recorded then, and only after that it may begin.
    3. It asks for a turn alone before it checks the machinery, for no agent of the run may be at work meanwhile.
    4. What was left comes back over the same socket, and is read as strictly as what a runner elsewhere hands in.

A session with a language model is opened here, where its provider's key is known to the model process alone; the
supervisor is handed the gateway's end of the link, and the log is read here. A supervisor whose socket is closed ends
its agent and its world.
"""

from __future__ import annotations

import atexit
import os
import select
import socket
import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TypeAlias

from sandbox.boxes.box import BoxRecipe, ReproducibleBox
from sandbox.errors import Lost, Malformed, NotAllowed, NotFound, Refused, SandboxError, Unavailable
from sandbox.judge.process import READER
from sandbox.model_gateway.process import ModelLink, ModelLinks
from sandbox.results.failure import AttemptFacts, Stage
from sandbox.servers.definition import server_digest
from sandbox.servers.registry import SERVERS
from sandbox.servings.handed_in import MAX_BYTES, HandIn
from sandbox.servings.player import require_wanted
from sandbox.servings.serving import Serving
from sandbox.servings.supervisor import ALONE, ERROR, GO, HAND_IN, MAX_MESSAGE_BYTES, OVER, SHARED, Supervisors
from sandbox.shared_lock import SharedLock

POLL_MILLISECONDS = 250
"""Between two looks at whether the run was given up."""
END_SECONDS = 60.0
"""For a supervisor to take its world down, once nobody waits for it."""
ERRORS: tuple[type[SandboxError], ...] = (Lost, Malformed, NotAllowed, NotFound, Refused)
"""What making a serving ready may raise, beside `Unavailable`."""


class SupervisedPlayer:
    """Plays servings in supervisors of this machine (`sandbox.servings.player.ServingPlayer`).

    Args:
        box: the box, which supervisors make again; this process only checks it.
        supervisors: whoever starts them.
        workers: how many agents are at work at a time.
        models: the language model that agents may ask, or None.
    """

    def __init__(
        self, box: ReproducibleBox, supervisors: Supervisors, *, workers: int = 2, models: ModelLinks | None = None
    ) -> None:
        self.workers, self.models, self.turns = workers, models, SharedLock(workers)
        self.supervisors, self._box = supervisors, box
        supervisors.warm()
        box.disconnect()

    def check(self) -> None:
        """Make sure that the box can be had.

        Raises:
            Unavailable: it cannot.
        """
        self._box.check()
        self._box.disconnect()

    def prepare(self, serving: Serving) -> SupervisedServing:
        """Have a supervisor make a serving ready, and don't wait for it.

        Raises:
            Unavailable: no process can be made; or it needs a language model, and there is none here.
        """
        if serving.session.model is None:
            return SupervisedServing(self, self.supervisors.open(serving))
        if self.models is None:
            raise Unavailable("the serving needs a language model, and this player has none")
        link = self.models.open()
        try:
            channel = self.supervisors.open(serving, link.gateway_end.fileno())
        except BaseException:
            link.finish()
            raise
        link.gateway_end.close()  # the supervisor has it, and hands it to its gateway
        return SupervisedServing(self, channel, link)


class SupervisedServing:
    """One serving that a supervisor plays (`sandbox.servings.player.PreparedServing`)."""

    def __init__(self, player: SupervisedPlayer, channel: socket.socket, model: ModelLink | None = None) -> None:
        self._player, self._channel, self._model = player, channel, model

    def play(self, record_serving: Callable[[], None], stop: threading.Event) -> HandIn:
        """Have it played, and return what was left.

        Raises:
            Lost: the run was given up.
            SandboxError: the supervisor could not make it ready at all; the message says why.
        """
        turns, stage = self._player.turns, Stage.NOTHING
        with ExitStack() as turn:
            while True:
                message, descriptors = self._receive(stop)
                kind = message[:1]
                if kind == HAND_IN:
                    return self._with_model_calls(_read(descriptors))
                if kind == ERROR:
                    raise _error_of(message[1:].decode(errors="replace"))
                if kind not in (SHARED, ALONE, OVER):  # it died
                    return HandIn.of_lost_runner() if stage is Stage.SERVED else HandIn(AttemptFacts(stage))
                turn.close()
                if kind == OVER:
                    continue
                turn.enter_context(turns.alone() if kind == ALONE else turns.shared())
                if kind == SHARED:
                    require_wanted(stop)
                    if self._has_died():
                        continue
                    record_serving()
                    stage = Stage.SERVED
                with suppress(BrokenPipeError):
                    self._channel.send(GO)

    def close(self) -> None:
        """Wait until the supervisor has taken everything down, which it does where nobody waits for it."""
        with suppress(OSError):
            self._channel.shutdown(socket.SHUT_WR)
            self._channel.settimeout(END_SECONDS)
            while self._channel.recv(MAX_MESSAGE_BYTES):
                pass
        self._channel.close()
        if self._model:
            self._model.finish()

    def _receive(self, stop: threading.Event) -> tuple[bytes, list[int]]:
        """Wait for the supervisor's next message; an empty one says that it has ended.

        Raises:
            Lost: the run was given up meanwhile.
        """
        poll = select.poll()
        poll.register(self._channel, select.POLLIN)
        while not poll.poll(POLL_MILLISECONDS):
            require_wanted(stop)
        try:
            message, descriptors, _, _ = socket.recv_fds(self._channel, MAX_MESSAGE_BYTES, 1)
        except ConnectionError:
            return b"", []
        return message, descriptors

    def _has_died(self) -> bool:
        poll = select.poll()
        poll.register(self._channel, select.POLLRDHUP)
        return bool(poll.poll(0))

    def _with_model_calls(self, hand_in: HandIn) -> HandIn:
        """Add what was asked of the language model; its log comes to its end with the gateway."""
        if self._model is None:
            return hand_in
        self._model.finish()
        return hand_in.with_model_calls(self._model.calls, lost=self._model.lost)


def supervisors_of(recipe: BoxRecipe, servers: Path | None = None) -> Supervisors:
    """Return the warm parent of this process for a box; it is started anew where programs of its have changed.

    Args:
        recipe: what the box is made from.
        servers: the folder of added servers, or None.
    """
    key = (recipe.name, recipe.run_class, recipe.runtime)
    added = tuple(server_digest(name) for name, server in sorted(SERVERS.items()) if server.folder)
    parts = (recipe, servers, added)
    with _STARTING:
        known = _SUPERVISORS.get(key)
        if known is not None and known[0] == parts:
            return known[1]
        if known is not None:
            known[1].close()
        made = Supervisors(recipe.name, recipe.run_class, servers=servers, runtime=recipe.runtime, readers=READER)
        _SUPERVISORS[key] = parts, made
        return made


_Parts: TypeAlias = tuple[BoxRecipe, Path | None, tuple[str, ...]]
_SUPERVISORS: dict[tuple[str, str, str], tuple[_Parts, Supervisors]] = {}
_STARTING = threading.Lock()


@atexit.register
def _close_all() -> None:
    for _, supervisors in _SUPERVISORS.values():
        supervisors.close()


def _read(descriptors: list[int]) -> HandIn:
    """Read what was left from a file in memory; what is of no form of ours is as good as nothing."""
    with os.fdopen(descriptors[0], "rb", buffering=0) as file:
        if os.fstat(file.fileno()).st_size > MAX_BYTES:
            return HandIn.of_lost_runner()
        file.seek(0)
        data = file.read()
    try:
        return HandIn.from_bytes(data)
    except Malformed:
        return HandIn.of_lost_runner()


def _error_of(message: str) -> SandboxError:
    """Return the error that a supervisor met, as one of this process."""
    name, _, text = message.partition(":")
    return next((error for error in ERRORS if error.__name__ == name), Unavailable)(text)
