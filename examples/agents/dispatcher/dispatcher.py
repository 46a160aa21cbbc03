"""Dispatcher: of all tools that it is offered it shortlists those whose descriptions fit the goal, and uses no other.

It acts by the rules of the ladder beside it (`--packages examples/agents/ladder`): what it fails at is what the
shortlist lacks. `dispatcher.py K` keeps the first K tools, and tells the whole ranking, so that recall can be measured.
"""

from __future__ import annotations

import sys
from typing import Any

import bm25
from ladder import SKILLS, work
from protocol import Gateway, ToolFailed
from rules import Stuck

RULE = "Leave everything else as it is, unless the task says otherwise."  # ends most goals, and tells no tool apart


class ShortlistedGateway(Gateway):
    """Connection to a task of which no tools but a shortlist may be called.

    Args:
        size: how many tools are on it.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        task = self.get("/task")
        texts = {tool["name"]: f"{tool['name']} {tool.get('description', '')}" for tool in task["tools"]}
        ranking = bm25.rank(task["goal"].removesuffix(RULE), texts)
        self._send("POST", "/shortlist", {"tools": ranking})
        self.shortlist = set(ranking[:size])

    def call(self, name: str, arguments: dict[str, Any]) -> str:
        """Call a tool of the shortlist and return the text of its result.

        Raises:
            ToolFailed: it is not on the shortlist, which costs no call, or it answered with an error.
        """
        if name not in self.shortlist:
            raise ToolFailed(f"{name} is not on the shortlist")
        return super().call(name, arguments)


def main(arguments: list[str]) -> None:
    """Work on the task with as many tools as the command line says."""
    if len(arguments) != 1 or not arguments[0].isdecimal():
        sys.exit("usage: dispatcher.py K, how many tools to keep")
    try:
        work(ShortlistedGateway(int(arguments[0])), len(SKILLS))
    except (Stuck, ToolFailed) as reason:
        sys.stderr.write(f"gave up: {reason}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
