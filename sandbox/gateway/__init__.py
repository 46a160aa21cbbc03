"""Gateway: the process between a hostile agent and its world. It holds one task and no key, and logs everything."""

from __future__ import annotations

from sandbox.gateway.process import FORK_SERVER, Gateway, listen, start
from sandbox.gateway.spec import CALL_SECONDS, GatewaySpec, listing

__all__ = ["CALL_SECONDS", "FORK_SERVER", "Gateway", "GatewaySpec", "listen", "listing", "start"]
