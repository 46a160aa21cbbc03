"""Registry of the wire formats that agents may use, by path."""

from __future__ import annotations

from collections.abc import Mapping

from sandbox.model_gateway.formats.chat import Chat
from sandbox.model_gateway.formats.messages import Messages
from sandbox.model_gateway.formats.responses import Responses
from sandbox.model_gateway.formats.wire_format import Wire

WIRES: Mapping[str, Wire] = {wire.path: wire for wire in (Chat(), Responses(), Messages())}
BY_NAME: Mapping[str, Wire] = {wire.name: wire for wire in WIRES.values()}
