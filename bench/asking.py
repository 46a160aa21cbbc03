"""Load-generating client: keeps many connections open and sends each its next request as soon as it is answered."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from report import Failed


@dataclass(frozen=True, slots=True)
class Asked:
    """Measurements of a client: how long it sent requests, and how long each answer took, in seconds."""

    seconds: float
    answers: tuple[float, ...]

    @property
    def each(self) -> float:
        """Seconds for one request, all connections together."""
        return self.seconds / len(self.answers)

    def quantile(self, share: float) -> float:
        """Return how long the slowest of the fastest `share` took."""
        return sorted(self.answers)[min(len(self.answers) - 1, int(share * len(self.answers)))]


def ask(url: str, *, clients: int, requests: int, headers: Mapping[str, str] | None = None) -> Asked:
    """Request `url` so many times in all.

    Raises:
        Failed: an answer is not 200.
    """
    parts = urlsplit(url)
    target = parts.path + (f"?{parts.query}" if parts.query else "")
    given = "".join(f"{name}: {value}\r\n" for name, value in (headers or {}).items())
    sent = f"GET {target} HTTP/1.1\r\nhost: {parts.netloc}\r\n{given}\r\n".encode()
    return asyncio.run(_all(parts.hostname or "", parts.port or 80, sent, clients, requests))


async def _all(host: str, port: int, sent: bytes, clients: int, requests: int) -> Asked:
    answers: list[float] = []
    left = iter(range(requests))
    start = time.perf_counter()
    await asyncio.gather(*(_one(host, port, sent, left, answers) for _ in range(clients)))
    return Asked(time.perf_counter() - start, tuple(answers))


async def _one(host: str, port: int, sent: bytes, left: Iterator[int], answers: list[float]) -> None:
    reader, writer = await asyncio.open_connection(host, port, limit=1 << 22)
    for _ in left:  # which all connections share
        start = time.perf_counter()
        writer.write(sent)
        head = await reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200"):
            raise Failed(f"the service answered {head.splitlines()[0].decode()}")
        await reader.readexactly(_length(head))
        answers.append(time.perf_counter() - start)
    writer.close()


def _length(head: bytes) -> int:
    return int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
