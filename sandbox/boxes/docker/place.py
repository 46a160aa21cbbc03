"""Agent sandbox in Docker containers: a relay and an agent that share one loopback."""

from __future__ import annotations

import threading
import time

from sandbox.boxes.box import ExitFacts
from sandbox.boxes.docker.attachment import Attachment
from sandbox.boxes.docker.engine import POLL_SECONDS, Container
from sandbox.boxes.output import CappedOutput
from sandbox.errors import Lost

START_SECONDS = 20.0
LOOK_SECONDS = 2.0
"""Between two looks at containers of which nothing was heard."""


class Relay:
    """Container of a relay, with a watch on its output, which ends with it."""

    def __init__(self, container: Container, attachment: Attachment) -> None:
        self.container, self._attachment = container, attachment
        self._output: CappedOutput | None = None

    def start(self, ended: threading.Event) -> None:
        """Start it and wait until its port listens; `ended` is set should it end later.

        Raises:
            Lost: it did not come up.
        """
        self._attachment.settimeout(START_SECONDS)
        self.container.start()
        output = b""
        try:
            while b"\n" not in output:
                data = self._attachment.read(64)
                if not data:
                    raise Lost("the relay did not come up: is the gateway's socket there, and may the relay open it?")
                output += data
        except TimeoutError as error:
            raise Lost(f"the relay did not come up within {START_SECONDS:g} s") from error
        self._attachment.settimeout(None)
        self._output = CappedOutput(self._attachment, 0, ended)

    def close(self) -> None:
        """Remove it."""
        self.container.remove()
        self._attachment.close()
        if self._output is not None:
            self._output.close()


class DockerPlace:
    """A relay that listens, and beside it an agent's container that was not started (`sandbox.boxes.box.Place`).

    Args:
        relay: the relay.
        agent: the agent's container.
        attachment: what the agent prints.
        cap: how much of that is kept.
        ended: set when the streams of one of the two end, which is most often its own end.
    """

    def __init__(
        self, relay: Relay, agent: Container, attachment: Attachment, cap: int, ended: threading.Event
    ) -> None:
        self.relay, self.agent = relay, agent
        self._attachment, self._cap, self._ended = attachment, cap, ended
        self._closing = threading.Lock()
        self._closed = False

    def start(self) -> DockerAgent:
        """Start the agent's container."""
        self.agent.start()
        return DockerAgent(self, CappedOutput(self._attachment, self._cap, self._ended), self._ended)

    def close(self) -> None:
        """Kill and remove both; safe to call twice."""
        with self._closing:
            if not self._closed:
                self._closed = True
                self.agent.remove()
                self._attachment.close()
                self.relay.close()


class DockerAgent:
    """A relay and an agent, in two containers with one loopback (`sandbox.boxes.box.RunningAgent`)."""

    def __init__(self, place: DockerPlace, output: CappedOutput, ended: threading.Event) -> None:
        self._place, self._output, self._ended = place, output, ended
        self._last: ExitFacts | None = None
        self._look = time.monotonic() + LOOK_SECONDS

    def wait(self, timeout: float) -> ExitFacts:
        """Wait until the agent ends; the relay's end is the agent's, and a fact of its own.

        The engine is asked when a stream has ended, and else now and then: an agent may end without closing what it
        handed on, and may close its streams and go on.
        """
        deadline = time.monotonic() + timeout
        while self._last is None:
            now = time.monotonic()
            if self._ended.is_set() or now >= self._look:
                self._look = now + LOOK_SECONDS
                self._last = self._end()
            if self._last is None and now >= deadline:
                return ExitFacts(running=True)
            if self._last is None:
                self._pause(min(deadline, self._look) - now)
        return self._last

    def output(self) -> str:
        """Return what it printed, escaped and cut at the cap."""
        return self._output.text()

    def kill(self) -> None:
        """Kill and remove both; safe to call twice."""
        self._last = self._last or ExitFacts(running=False)
        self._place.close()
        self._output.close()

    def _end(self) -> ExitFacts | None:
        seen = self._place.agent.facts()
        if not seen.running:
            return seen
        relay = self._place.relay.container.facts()
        return None if relay.running else ExitFacts(running=False, lost=relay.lost, relay_died=not relay.lost)

    def _pause(self, seconds: float) -> None:
        if self._ended.is_set():
            time.sleep(max(min(POLL_SECONDS, seconds), 0))
        else:
            self._ended.wait(seconds)
