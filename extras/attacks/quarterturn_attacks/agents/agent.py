"""Runs hostile agents: `agent.py NAME...` makes the named attempts and prints the result of each as one JSON line.

Standard library only. It runs wherever its folder is: its modules are found beside it under the name that they have in
the package.
"""

from __future__ import annotations

import json
import os
import sys
import types
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

for _name in ("quarterturn_attacks", "quarterturn_attacks.agents"):
    if _name not in sys.modules:
        sys.modules[_name] = types.ModuleType(_name)
        sys.modules[_name].__path__ = [str(Path(__file__).parent)] if _name.endswith("agents") else []

from quarterturn_attacks.agents import (  # noqa: E402
    denial_of_service,
    documents,
    exfiltration,
    persistence,
    request_smuggling,
    tampering,
    unauthorized_access,
)

ATTEMPTS: Mapping[str, Callable[[], Mapping[str, Any]]] = {
    name: attempt
    for module in (
        documents,
        request_smuggling,
        unauthorized_access,
        denial_of_service,
        persistence,
        tampering,
        exfiltration,
    )
    for name, attempt in module.ATTEMPTS.items()
}


def say(line: Mapping[str, Any]) -> None:
    """Print one line, at once: nobody waits for us to flush."""
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def main(names: list[str]) -> int:
    """Make the attempts in order; the list of all names where none, or a wrong one, is given."""
    if not names or set(names) - ATTEMPTS.keys():
        sys.stderr.write(f"usage: agent.py NAME...\n  {' '.join(ATTEMPTS)}\n")
        return 2
    if set(names) & persistence.ATTEMPTS.keys() and not persistence.walled():
        sys.stderr.write("there is a way out of here, so nothing is left behind: run this behind a wall\n")
        return 3
    for name in names:
        say({"begun": name})
        try:
            say({"attempt": name, "met": ATTEMPTS[name]()})
        except OSError as error:
            say({"attempt": name, "met": {"error": type(error).__name__}})
    return 0


if __name__ == "__main__":
    os._exit(main(sys.argv[1:]))
