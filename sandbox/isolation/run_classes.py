"""Classes of runs by their exits: a run that may tell nobody shares no memory with one that tells everything.

    sealed      a private run of an image with no language model: it has no exit
    unofficial  a private run of a command: it has no exit either, and the walls around it are not the official ones
    open        everything else: dev sets and checks tell all, a model's upstream and a hosted endpoint read the task,
                the upstream of a claim judge reads the answers

Runs of two classes never take place on one machine at the same time (`sandbox.isolation.machine_lock`), and what they
read there are separate copies (`sandbox.isolation.program_copies`, `sandbox.boxes.docker.image_copies`). Machines of
their own are better: a worker of one class (`quarterturn worker --only`) never plays the other. Pure.
"""

from __future__ import annotations

from typing import Literal

RunClass = Literal["sealed", "unofficial", "open"]


def run_class(*, private: bool, kind: str, model: str | None = None, judged: bool = False) -> RunClass:
    """Say which class a run has.

    Args:
        private: whether it is served the private set.
        kind: of its submission: `image`, `command`, `endpoint` or `reference`.
        model: the language model that its agents may ask, or None.
        judged: whether a language model judges claims about its answers.
    """
    if not private or model is not None or kind == "endpoint" or judged:
        return "open"
    return "sealed" if kind == "image" else "unofficial"
