"""relay.py PORT SOCKET: copies bytes between 127.0.0.1:PORT and the unix socket SOCKET, and does nothing else.

The counterpart of relay.c for the bubblewrap box, where nothing is compiled; standard library only. It inspects no
byte, keeps no log and trusts neither side. CAP connections of two bounded buffers each; one more is accepted and closed
at once, so that it is refused and not left waiting. `ready` goes to standard output once the port listens.
"""

from __future__ import annotations

import select
import socket
import sys
from collections.abc import Iterator

CAP = 64
SIZE = 16384


class Flow:
    """One direction of a connection: at most SIZE bytes that were read and not yet written."""

    def __init__(self, source: socket.socket, sink: socket.socket) -> None:
        self.source, self.sink = source, sink
        self.waiting = b""
        self.eof = self.closed = False  # nothing more comes; and the other side has been told

    def move(self) -> None:
        """Move what can be moved; an OSError means that the connection is beyond use."""
        try:
            if not self.eof and not self.waiting:
                self.waiting = self.source.recv(SIZE)
                self.eof = not self.waiting
            if self.waiting:
                self.waiting = self.waiting[self.sink.send(self.waiting) :]
        except BlockingIOError:
            return
        if self.eof and not self.waiting and not self.closed:
            self.sink.shutdown(socket.SHUT_WR)
            self.closed = True


class Pair:
    """One connection of the agent and the one to the gateway that belongs to it."""

    def __init__(self, agent: socket.socket, gateway: socket.socket) -> None:
        self.agent, self.gateway = agent, gateway
        self.out, self.back = Flow(agent, gateway), Flow(gateway, agent)

    def wishes(self) -> Iterator[tuple[int, int]]:
        """Say what to wait for. A descriptor with no wish is left out: its hang-up would be told over and over."""
        for end, reading, writing in ((self.agent, self.out, self.back), (self.gateway, self.back, self.out)):
            events = 0 if reading.eof or reading.waiting else select.POLLIN
            events |= select.POLLOUT if writing.waiting else 0
            if events:
                yield end.fileno(), events

    def move(self) -> bool:
        """Move bytes both ways, and say whether the connection lives on."""
        try:
            self.out.move()
            self.back.move()
        except OSError:
            return False
        return not (self.out.closed and self.back.closed)

    def drop(self) -> None:
        """Close both ends."""
        self.agent.close()
        self.gateway.close()


def admit(listener: socket.socket, path: str, pairs: list[Pair]) -> None:
    """Take one connection of the agent, if there is room and the gateway answers."""
    agent = listener.accept()[0]
    agent.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # a call is many small writes
    gateway = socket.socket(socket.AF_UNIX)
    for end in (agent, gateway):
        end.settimeout(0)
    try:
        if len(pairs) >= CAP:
            raise BlockingIOError
        gateway.connect(path)
    except OSError:
        agent.close()
        gateway.close()
    else:
        pairs.append(Pair(agent, gateway))


def serve(listener: socket.socket, path: str) -> None:
    """Copy for ever."""
    pairs: list[Pair] = []
    while True:
        poll = select.poll()
        poll.register(listener, select.POLLIN)
        owners: dict[int, Pair] = {}
        for pair in pairs:
            for descriptor, events in pair.wishes():
                poll.register(descriptor, events)
                owners[descriptor] = pair
        ready = [descriptor for descriptor, _ in poll.poll()]
        for pair in {id(owners[at]): owners[at] for at in ready if at in owners}.values():
            if not pair.move():
                pair.drop()
                pairs.remove(pair)
        if listener.fileno() in ready:
            admit(listener, path, pairs)


def main(port: int, path: str) -> None:
    """Listen, say so, and serve."""
    with socket.socket(socket.AF_INET) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(CAP)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        serve(listener, path)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
