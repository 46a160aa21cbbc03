"""Six agents that differ by what they can do, from `ladder.py 0`, which reads its task and ends, to `ladder.py 5`.

Each rung knows the rules of the rungs below it and those of one module more. A rule is a wording to look for in the
goal, and what to do about it with the tools; no rule knows a task, and nothing is left to chance.
"""

from __future__ import annotations

import sys

import decisions
import questions
import repairs
import transfers
import writes
from protocol import Gateway, ToolFailed
from rules import Stuck, Tools, find

SKILLS = (writes, questions, transfers, decisions, repairs)
"""What each rung adds, from the first."""
PATIENT = 5
"""The rung that asks again where a tool answers with an error."""
ATTEMPTS = 4


def work(gateway: Gateway, rung: int) -> None:
    """Work on the task with what the rung can do, and answer where the goal asks for an answer.

    Raises:
        Stuck: no rule of the rung is about the goal.
        ToolFailed: a tool answered with an error, and the rung believes it.
    """
    task = gateway.get("/task")
    if not rung:
        return
    act, arguments = find(task["goal"], [module.__name__ for module in SKILLS[:rung]])
    answer = act(Tools(gateway, attempts=ATTEMPTS if rung >= PATIENT else 1), **arguments)
    if answer is not None:
        gateway.answer(answer)


def main(words: list[str]) -> None:
    """Play the rung that the command line names."""
    if words not in [[str(rung)] for rung in range(len(SKILLS) + 1)]:
        sys.exit(f"usage: ladder.py RUNG, a number from 0 to {len(SKILLS)}")
    try:
        work(Gateway(), int(words[0]))
    except (Stuck, ToolFailed) as reason:
        sys.stderr.write(f"gave up: {reason}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
