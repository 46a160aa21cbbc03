"""Fixtures of a world without a box: the real servers as plain processes behind one framed channel."""

import os
import socket
import subprocess
import threading
from contextlib import suppress

import pytest

from sandbox.gateway import FORK_SERVER
from sandbox.servers.registry import SERVERS
from sandbox.world import frames

from ...patience import PATIENCE
from ..installed import here


class OpenWorld:
    """Serves a world's channel without any isolation, for tests only."""

    def __init__(self, names, folder):
        self.processes = []
        for name in names:
            server = SERVERS[name]
            (folder / server.root).mkdir(exist_ok=True)
            environment = {**os.environ, **server.environment, "HOME": str(folder)}
            self.processes.append(
                subprocess.Popen(
                    here(server.command, folder),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    env=environment,
                    bufsize=0,
                )
            )
        self._ours, self._theirs = socket.socketpair()
        self._threads = [threading.Thread(target=self._inward)]
        self._threads += [threading.Thread(target=self._outward, args=(n, p)) for n, p in enumerate(self.processes, 1)]
        for thread in self._threads:
            thread.start()

    def channel(self):
        return self._theirs

    def _inward(self):
        reader = frames.FrameReader()
        with suppress(OSError):
            while data := self._ours.recv(65536):
                for number, payload in reader.feed(data):
                    self.processes[number - 1].stdin.write(payload)

    def _outward(self, number, process):
        with suppress(OSError):
            while data := os.read(process.stdout.fileno(), 65536):
                self._ours.sendall(frames.pack(number, data))
            self._ours.sendall(frames.pack(number, b""))

    def close(self):
        with suppress(OSError):
            self._ours.shutdown(socket.SHUT_RDWR)
        for process in self.processes:
            process.kill()
            process.wait()
        for thread in self._threads:
            thread.join(PATIENCE)
        for process in self.processes:
            process.stdin.close()
            process.stdout.close()
        self._ours.close()
        self._theirs.close()


@pytest.fixture
def open_world(tmp_path):
    worlds = []

    def make(*names):
        worlds.append(OpenWorld(names, tmp_path))
        return worlds[-1]

    yield make
    for world in worlds:
        world.close()


@pytest.fixture
def channel():
    """Give the gateway's end of a channel on which nobody answers, and the other end."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield theirs, ours


@pytest.fixture(scope="session", autouse=True)
def fork_server():
    yield FORK_SERVER
    FORK_SERVER.close()
