"""Key `services` of a manifest: helper programs that are started beside a server, such as an HTTP API or a site.

They are the server's backend: the program `sandbox/kinds/common/services` starts them, with the backend of the state
kind first, and keeps them up. They start in the server's folder, where what they keep is seeded and frozen as its own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sandbox.kinds.common.state_kind import OUR_KINDS, Backend

HOST = "127.0.0.1"
KIND_PORTS = (1025, 1143, 5232, 5432, 6379)  # of the state kinds' own backends
KEEPER = ("/usr/bin/env", "python3", "-I", "-S", f"{OUR_KINDS}/common/services/services.py", "keep")


def schema(name: str, package: Mapping[str, Any], version: Mapping[str, Any], command: Any, environment: Any) -> Any:
    """Return the JSON Schema of the key."""
    return {
        "type": "object",
        "propertyNames": {"pattern": name},
        "minProperties": 1,
        "maxProperties": 8,
        "description": "Helper programs that start before it, in this order and in its folder, by name. `{NAME}` in a "
        "later command or environment is the address, `127.0.0.1:PORT`.",
        "additionalProperties": {
            "type": "object",
            "additionalProperties": False,
            "required": ["command", "port"],
            "properties": {
                "package": {**package, "description": "Its own package, as the server's; else it has the server's."},
                "version": {**version, "description": "The exact version of that package, in quotes."},
                "command": {**command, "description": "The words that start it. It listens on 127.0.0.1."},
                "environment": {**environment, "description": "Its variables."},
                "port": {
                    "type": "integer",
                    "minimum": 1024,
                    "maximum": 65535,
                    "description": "Where it listens. It is ready once it accepts connections.",
                },
                "ready": {
                    "type": "string",
                    "pattern": r"^/[!-~]{0,200}$(?!\n)",
                    "description": "A path: it is ready once GET is answered there with a status below 400.",
                },
            },
        },
    }


def addresses(document: Mapping[str, Any]) -> dict[str, str]:
    """Return where each service listens, by name."""
    return {name: f"{HOST}:{about['port']}" for name, about in document.get("services", {}).items()}


def backend(services: Mapping[str, Mapping[str, Any]], kind: Backend | None, seconds: float) -> Backend:
    """Return the backend that keeps services up, after that of the state kind.

    Args:
        services: by name, each with `command`, `environment`, `port` and perhaps `ready`, all places filled in.
        kind: the backend of the server's state kind.
        seconds: how long each has to become ready.
    """
    programs: list[dict[str, Any]] = []
    if kind is not None:
        own = {"command": list(kind.command), "environment": dict(kind.environment)}
        programs.append({"name": "of the state kind", "port": 0, "line": True, **own})
    programs += [{"name": name, **about} for name, about in services.items()]
    return Backend((*KEEPER, json.dumps(programs), str(seconds)), needs=kind.needs if kind else ())
