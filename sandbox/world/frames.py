"""Frame format of the channel between a world and the outside, over one duplex byte stream.

    channel (1 byte) | length (4 bytes, big-endian) | payload

Channel 0 carries control messages (one JSON object a frame), channels 1 to 63 the standard input and output of the
servers in the order in which the start message names them, and channel 64 the state as a tar: the seed on its way in,
the frozen copy on its way out, each ended by an empty frame. Chunks have no meaning: a server's lines may be cut
anywhere. An empty frame on a server's channel ends that direction: the server's output has ended, or its input is to
be closed.

Control messages into the world are `start` and `freeze`; out of it come `started`, `exited`, `frozen` and `failed`.
The world's init (`sandbox/images/world/init.py`) has its own copy of this format, since nothing of ours is installed
in there.
"""

from __future__ import annotations

import struct

from sandbox.errors import Malformed

HEADER = struct.Struct(">BI")
CONTROL, FIRST_SERVER, STATE = 0, 1, 64
LAST_SERVER = STATE - 1
MAX_PAYLOAD = 1 << 20


def pack(channel: int, payload: bytes) -> bytes:
    """Make one frame; a payload is at most MAX_PAYLOAD bytes."""
    if len(payload) > MAX_PAYLOAD:
        raise Malformed(f"a frame holds at most {MAX_PAYLOAD} bytes, not {len(payload)}: send it in several")
    return HEADER.pack(channel, len(payload)) + payload


class FrameReader:
    """Cuts a byte stream into frames; holds at most one frame that has not come in whole."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[tuple[int, bytes]]:
        """Take the next bytes and give the frames that are complete, as (channel, payload).

        Raises:
            Malformed: a frame announces more than MAX_PAYLOAD bytes; the stream cannot be read on.
        """
        self._buffer += data
        frames, start = [], 0
        while len(self._buffer) - start >= HEADER.size:
            channel, length = HEADER.unpack_from(self._buffer, start)
            if length > MAX_PAYLOAD:
                raise Malformed(f"a frame on channel {channel} announces {length} bytes; {MAX_PAYLOAD} are allowed")
            end = start + HEADER.size + length
            if end > len(self._buffer):
                break
            frames.append((channel, bytes(self._buffer[start + HEADER.size : end])))
            start = end
        del self._buffer[:start]
        return frames
