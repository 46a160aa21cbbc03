"""Service for runners: what a runner may ask, answered from rows and offers. It opens nothing that is handed in."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from quarterturn.errors import NotAllowed, NotFound, Refused, Unavailable
from quarterturn.runners.dispatcher import Offer
from quarterturn.runners.fleet import RunnerFleet
from quarterturn.runners.programs import INTERFACE_VERSION, digests_of_servers
from quarterturn.runners.store import RunnerRecord, ServingRecord
from sandbox.runs.store import ENDED, Runs
from vault.canonical import canonical

WHO = "runners"
"""Who opens sealed results, in the access log."""


@dataclass(frozen=True, slots=True)
class Registration:
    """What a runner says about itself.

    Attributes:
        version: of the interface that it speaks.
        box: `docker` or `bwrap`.
        run_class: the class of runs that it plays.
        places: how many servings it plays at a time.
        servers: the digest of each server that it has, with its locks and backend, by name.
    """

    version: int
    box: str
    run_class: str
    places: int
    servers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class PlayedServing:
    """A serving of an official run that a runner started.

    Attributes:
        run: the run.
        task: the task.
        serving: its row; None where only the sealed result names the runner, so the row was changed or taken away.
        gave_result: whether the run's result of the task came of it.
        sealed_as: whom the sealed result names, where that contradicts the row; else empty.
    """

    run: int
    task: str
    serving: ServingRecord | None
    gave_result: bool
    sealed_as: str = ""


class RunnerService:
    """The runners' side of one home.

    Args:
        fleet: the runners, with what is offered to them and what they handed in.
        runs: the official runs; for one that has ended nothing is taken any more.
        servers_of_set: gives the digests of servers that the `set` statement of the present month names.
    """

    def __init__(self, fleet: RunnerFleet, runs: Runs, servers_of_set: Callable[[], Mapping[str, str]]) -> None:
        self._servers_of_set, self.models = servers_of_set, fleet.models
        self._fleet, self._runners, self._dispatcher = fleet, fleet.runners, fleet.dispatcher
        self._key, self._handed_in, self._runs = fleet.key, fleet.handed_in, runs

    def register(self, token: int, registration: Registration) -> bytes:
        """Take a runner in, and return the public key to which it seals what it hands in.

        Raises:
            Refused: it speaks another version, or has other servers than this service.
            NotFound: the token is no runner's.
        """
        if registration.version != INTERFACE_VERSION:
            raise _unfit(
                f"The service speaks version {INTERFACE_VERSION} of the interface for runners, and this runner "
                f"{registration.version}. Install the same version of Quarterturn on both."
            )
        self._require_servers(registration.servers)
        self._runners.register(
            token,
            box=registration.box,
            run_class=registration.run_class,
            places=registration.places,
            programs=hashlib.sha256(canonical(registration.servers)).hexdigest(),
        )
        return self._key.public

    def _require_servers(self, servers: Mapping[str, str]) -> None:
        """Refuse a runner that lacks a server of this service or of the month's set, or has another one of its name.

        Raises:
            Refused: the message names them.
        """
        expected = {*digests_of_servers().items(), *self._servers_of_set().items()}
        if differing := sorted({name for name, digest in expected if servers.get(name) != digest}):
            raise _unfit(
                f"This runner has other servers than the service or its set: {', '.join(differing)}. Install the same "
                "version of Quarterturn on both, and give the runner a copy of the home's folder `servers` (--servers)."
            )

    def runner(self, token: int) -> RunnerRecord:
        """Return the runner of a token, which is heard of by asking.

        Raises:
            NotAllowed: it has not registered since it was made or revoked.
        """
        runner = self._runners.record_contact(token)
        if runner is None or runner.box is None:
            raise NotAllowed("this runner has not registered: it registers before it asks for work")
        return runner

    def revoke(self, name: str) -> Sequence[PlayedServing]:
        """Put a runner out, and return every serving of an official run that it started, the oldest first.

        Rows can be changed by whoever writes to the database, and what is sealed with a result cannot. So results that
        name the runner and have no row of it are listed too, and rows that a result contradicts are marked.

        Raises:
            NotFound: there is no runner of this name.
            Locked: the key ring is; the runner is put out all the same.
        """
        served = [
            (serving.run, serving.task, serving) for serving in self._runners.revoke(name) if serving.run is not None
        ]
        sealed = self._sealed_players(name, {run for run, _, _ in served})
        listed = [self._played(name, run, serving, sealed.get((run, task), ("",))[-1]) for run, task, serving in served]
        with_row = {(run, task) for run, task, _ in served}
        return listed + [
            PlayedServing(run, task, None, gave_result=players[-1] == name)
            for (run, task), players in sealed.items()
            if name in players and (run, task) not in with_row
        ]

    def _sealed_players(self, name: str, served: Collection[int]) -> dict[tuple[int, str], Sequence[str]]:
        """Map each run and task to who played its attempts, of runs that were served or open after it was added."""
        since, why = self._runners.added_at(name), f"list what runner {name} played"
        return {
            (run.number, task): players
            for run in self._runs.list()
            if run.ended_at is None or run.ended_at >= since or run.number in served
            for task, players in self._runs.players(run.number, who=WHO, why=why).items()
        }

    def _played(self, name: str, run: int, serving: ServingRecord, sealed_player: str) -> PlayedServing:
        """Compare a row with the one whom the sealed result names: empty where there is none, or it is an old one."""
        rows = self._runners.servings(run=run, task=serving.task)
        is_last = rows[-1] == serving
        if sealed_player == name:
            is_last_of_runner = [row for row in rows if row.runner == serving.runner][-1] == serving
            return PlayedServing(run, serving.task, serving, gave_result=is_last_of_runner)
        if sealed_player:
            return PlayedServing(run, serving.task, serving, gave_result=False, sealed_as=sealed_player * is_last)
        return PlayedServing(
            run, serving.task, serving, gave_result=is_last and serving.task in self._runs.finished(run)
        )

    def take(self, runner: RunnerRecord) -> Offer | None:
        """Give a runner the next serving for its box and class, encrypted; None where there is none now."""
        return self._dispatcher.take(runner)

    def start(self, token: int, handle: str) -> bytes | None:
        """Return the key of a serving that a runner took, or None where it is not granted yet.

        A key is lost with the process of its run. A runner that still asks for one has not begun to play.

        Raises:
            NotFound: it is not the runner's (any more).
        """
        try:
            return self._dispatcher.request_start(handle, token)
        except KeyError:
            self._runners.record_failure(handle, token, "unbegun")
            self._dispatcher.notify()
            raise NotFound(f"the serving {handle} is not this runner's any more") from None

    def report_failure(self, token: int, handle: str, *, agent_started: bool) -> None:
        """Record that a serving ended on its runner and left nothing; doing it again changes nothing.

        An agent may have brought it about, so its task is failed; where none was let go, it is served again.

        Raises:
            Unavailable: its start is being recorded; report it again.
        """
        if not self._dispatcher.give_back(handle, token):
            raise Unavailable(f"the start of the serving {handle} is being recorded: report its end again")
        self._runners.record_failure(handle, token, "lost" if agent_started else "unbegun")
        self._dispatcher.notify()

    def still_wanted(self, token: int, handles: Collection[str]) -> list[str]:
        """Return which of a runner's servings are still wanted; it ends the others."""
        rows = map(self._runners.serving, set(handles))
        played = {row.handle for row in rows if row is not None and self._is_open(row, token)}
        return sorted(played | self._dispatcher.keep(handles, token, is_playing=bool(played)))

    async def receive(self, token: int, handle: str, body: AsyncIterable[bytes]) -> None:
        """Keep what a serving left, unread; doing it again changes nothing.

        Raises:
            NotAllowed: the serving is not the runner's, or nothing is taken for it any more.
            TooLarge, OSError: as for `HandInFolder.receive`.
        """
        row = await asyncio.to_thread(self._runners.serving, handle)
        if row is not None and row.runner == token and row.state == "handed-in":
            return
        if row is None or not await asyncio.to_thread(self._is_open, row, token):
            raise NotAllowed(f"nothing is taken for the serving {handle} any more")
        await self._handed_in.receive(handle, body)
        if not await asyncio.to_thread(self._runners.hand_in, handle, token):
            self._handed_in.remove(handle)
            raise NotAllowed(f"nothing is taken for the serving {handle} any more")
        self._dispatcher.notify()

    def remove_leftovers(self) -> None:
        """Remove what was handed in and nobody waits for any more: its run ended, or its process died, before."""
        for handle in self._handed_in.handles():
            row = self._runners.serving(handle)
            if row is None or row.state == "closed" or self._has_ended(row):
                self._fleet.close(handle)
        self._handed_in.remove_parts()

    def _has_ended(self, row: ServingRecord) -> bool:
        return self._runners.now() >= row.due if row.run is None else self._runs.get(row.run).state in ENDED

    def _is_open(self, row: ServingRecord, token: int) -> bool:
        """Say whether a serving may be handed in; who waits for it closes it, once it is overdue."""
        if row.runner != token or row.state != "started":
            return False
        return row.run is None or self._runs.get(row.run).state not in ENDED


def _unfit(sentence: str) -> Refused:
    return Refused(sentence, detail=sentence)
