"""Fork server of gateways: `python -I -m sandbox.gateway.forkserver`, started by `sandbox.isolation.forkserver`.

It loads what a gateway needs by playing one warm-up session (`warmup`), leaves the machine's processes, files
and networks behind, and forks a gateway for each request.
The descriptors of a request: specification, world channel, report, and maybe a listener and a
link to the model process.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from sandbox.gateway import child
from sandbox.gateway.warmup import warm_up
from sandbox.isolation.confine import leave
from sandbox.isolation.forking import serve


def _prepare() -> None:
    asyncio.run(warm_up())
    leave()  # a container may forbid it; then the user and the system calls of each gateway must do


def _gateway(descriptors: Sequence[int]) -> None:
    specification, channel, report, *others = descriptors
    child.main(specification, channel, report, others)


if __name__ == "__main__":
    serve(_prepare, _gateway)
