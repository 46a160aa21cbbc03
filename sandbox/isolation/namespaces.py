"""Switches of the kernel that keep an ordinary user from making user namespaces, and the command that turns each."""

from __future__ import annotations

from pathlib import Path

SWITCHES = Path("/proc/sys")
_CLOSED = (
    ("kernel.apparmor_restrict_unprivileged_userns", "1", "0"),  # Ubuntu from 23.10 on
    ("kernel.unprivileged_userns_clone", "0", "1"),  # older Debian
    ("user.max_user_namespaces", "0", "15000"),
)

IN_DOCKER = "--security-opt seccomp=unconfined --security-opt systempaths=unconfined"
"""Options with which Docker permits namespaces and a /proc inside; our boxes bring filters of their own."""


def how_to_allow() -> str:
    """Return the command that allows user namespaces here; where no switch is closed, what a container needs."""
    for name, closed, opened in _CLOSED:
        switch = SWITCHES / name.replace(".", "/")
        if switch.is_file() and switch.read_text().strip() == closed:
            return f"sudo sysctl -w {name}={opened}"
    return f"in a container, run as an ordinary user, and start the container with {IN_DOCKER}"
