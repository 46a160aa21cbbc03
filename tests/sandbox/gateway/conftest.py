"""Fixtures of gateways."""

import socket

import pytest

from sandbox.gateway import FORK_SERVER


@pytest.fixture
def channel():
    """Yield the gateway's end of a channel on which nobody answers, and the other end."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield theirs, ours


@pytest.fixture(scope="session", autouse=True)
def fork_server():
    yield FORK_SERVER
    FORK_SERVER.close()
