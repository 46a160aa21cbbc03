"""What holds for every test: it reaches nothing but this machine, and reads nothing of whoever runs it."""

from __future__ import annotations

import ipaddress
import os
import socket
from typing import Any

import pytest
from hypothesis import settings

settings.register_profile("house", deadline=None)  # two cores are shared by many tests: time says nothing there
settings.load_profile("house")

for _name in [name for name in os.environ if name.startswith("QUARTERTURN_")]:
    del os.environ[_name]

_connect = socket.socket.connect


def _connect_here(self: socket.socket, address: Any) -> None:
    if self.family in {socket.AF_INET, socket.AF_INET6} and not ipaddress.ip_address(_numeric(address[0])).is_loopback:
        pytest.fail(f"a test tried to reach {address[0]}; tests reach nothing but this machine")
    _connect(self, address)


def _numeric(host: str) -> str:
    return "127.0.0.1" if host == "localhost" else host


socket.socket.connect = _connect_here  # type: ignore[method-assign, assignment]
