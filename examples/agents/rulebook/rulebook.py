"""How rules are kept: a sentence to look for in the goal, and what to do about it. The first match wins.

A rule looks with the tools before it acts, gives the answer as text or None, and raises `Stuck` where it does not know
on. There is no table of answers in here. There are goals that no rule is about, and those are not solved.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any, Protocol


class Tools(Protocol):
    """The task's tools: their names on the wire, and a call of one by its name, which returns its result's text."""

    names: set[str]

    def __call__(self, name: str, **arguments: Any) -> Awaitable[str]:
        """Call a tool."""


Rule = Callable[..., Awaitable[str | None]]
Found = tuple[Rule, dict[str, str]]

RULES: list[tuple[re.Pattern[str], Rule]] = []

# What a sentence may name: a file or folder, a repository, a number, a word.
NAMES = {"PATH": r"/data/(?!repos/)\w+/\S*\w", "REPO": r"/data/repos/\w+", "N": r"\d+", "WORD": r"\w[\w-]*"}


class Stuck(Exception):
    """No rule knows on."""


def rule(sentence: str) -> Callable[[Rule], Rule]:
    """Make a function the rule for goals with this sentence in them; `<name:PATH>` becomes the argument `name`."""
    pattern = re.sub(r"<(\w+):(\w+)>", lambda match: f"(?P<{match[1]}>{NAMES[match[2]]})", sentence)

    def keep(function: Rule) -> Rule:
        RULES.append((re.compile(pattern, re.IGNORECASE | re.DOTALL), function))
        return function

    return keep


def find(goal: str) -> Found:
    """Find the rule for a goal, and its arguments."""
    for pattern, function in RULES:
        if match := pattern.search(goal):
            return function, match.groupdict()
    raise Stuck("no rule is about this goal")
