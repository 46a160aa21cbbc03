"""Tests that the gateway's memory holds one task and no key."""

from __future__ import annotations

import os
import secrets
import socket
from pathlib import Path

import pytest

from sandbox.gateway import FORK_SERVER, GatewaySpec, listen, listing, start
from vault.keys.ring import FileKeyRing
from vault.task.document import Task

from ...patience import PATIENCE
from ..processes import holds, parent, pid_of

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def held(tmp_path_factory):
    """Hold a key ring, a passphrase, another task and an open file; returns the words that nobody else may have."""
    canary, other = secrets.token_bytes(32), f"the-{secrets.token_hex(16)}-of-margarethe"
    ring = FileKeyRing.create(tmp_path_factory.mktemp("ring") / "ring.json", b"test-" + canary.hex().encode())
    kept = [canary, other, ring, ring.wrap(canary, b"context"), Task]
    with pytest.MonkeyPatch.context() as patch, (tmp_path_factory.mktemp("file") / "secret").open("w") as file:
        os.set_inheritable(file.fileno(), True)
        patch.setenv("QUARTERTURN_PASSPHRASE", "test-" + canary.hex())
        yield canary, canary.hex().encode(), other.encode()
    assert kept


@pytest.fixture(scope="module")
def begun(held, tmp_path_factory):
    """Start a gateway that serves one task while its runner holds a key ring and another task."""
    FORK_SERVER.close()  # so that it is started, and not only used, by a process that has something to hide
    spec = GatewaySpec("r-1", "find the kingfisher", listing(["filesystem.read_text_file"]), ("filesystem",), 5)
    world, ours = socket.socketpair()
    with world, ours:
        gateway = start(spec, world, listen(tmp_path_factory.mktemp("gateway")))
        gateway.ready(PATIENCE)
        yield pid_of(gateway.child.pidfd)
        gateway.kill()


@pytest.mark.needs("root")  # a gateway lets nobody else read it
def test_no_key_and_no_other_task_is_in_a_gateways_memory(held, begun):
    assert holds(os.getpid(), *held) == list(held), "whoever has them can be seen to"
    program, goal = b"\x7fELF", b"find the kingfisher"  # the first shows that its memory could be read
    assert holds(begun, *held, program, goal) == [program, goal]
    assert holds(parent(begun), *held, program, goal) == [program]


def test_a_gateway_is_no_child_of_its_runner_and_its_fork_server_was_executed(begun):
    fork_server = FORK_SERVER._process.pid
    first = parent(begun)  # of the namespace that the fork server made
    assert (parent(first), parent(fork_server)) == (fork_server, os.getpid())
    assert b"sandbox.gateway.forkserver" in Path(f"/proc/{fork_server}/cmdline").read_bytes()
    assert set(Path(f"/proc/{fork_server}/environ").read_bytes().strip(b"\0").split(b"\0")) <= {
        f"PATH={os.defpath}".encode(),
        b"LC_ALL=C.UTF-8",
    }


@pytest.mark.needs("root")
def test_every_descriptor_of_a_gateway_is_one_that_it_was_handed_or_made(begun):
    links = sorted(str(link.readlink()) for link in Path(f"/proc/{begun}/fd").iterdir())
    kinds = [link.partition(":")[0] if ":" in link else link for link in links]
    # The world's channel, the report, the listener; and of its own loop a poll and a pair to wake it.
    assert set(kinds) == {"/dev/null", "anon_inode", "socket"}, links
    assert (kinds.count("anon_inode"), kinds.count("socket")) == (1, 5), links
