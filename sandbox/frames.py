"""The channel between a world and the outside: frames on one duplex byte stream.

    channel (1 byte) | length (4 bytes, big-endian) | payload

Channel 0 carries control messages (one JSON object a frame), channels 1 to 63 the standard input and output of the
servers in the order in which the start message names them, and channel 64 the frozen state as a tar, ended by an empty
frame. The world's init (`sandbox/images/world/init.py`) has its own copy of this format, since nothing of ours is
installed in there.
"""

from __future__ import annotations

import struct

HEADER = struct.Struct(">BI")
CONTROL, FIRST_SERVER, STATE = 0, 1, 64
MAX_PAYLOAD = 1 << 20


def pack(channel: int, payload: bytes) -> bytes:
    """Make one frame; a payload is at most MAX_PAYLOAD bytes."""
    return HEADER.pack(channel, len(payload)) + payload
