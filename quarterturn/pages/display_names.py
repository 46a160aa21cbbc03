"""Forms that name a submitter's agents on the leaderboard, each with what is wrong in it. Pure.

They ask for what `PUT /display-names/{agent}` takes; an empty name asks for what `DELETE` of it does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from quarterturn.display_names.rules import FORM, MAX_NAME_CHARACTERS, WORDS
from quarterturn.display_names.store import MAX_NAMES, NamedAgent

PROBLEMS: Mapping[str, str] = {
    "malformed": f"A name has {FORM}.",
    "invalid": f"This name is reserved: choose one without the words {', '.join(WORDS)}.",
    "conflict": "This name is taken, or looks like one that is: choose another one.",
    "quota": f"Your account has chosen {MAX_NAMES} names, as many as it may: choose one that it had before.",
}
"""Each mistake, and what is said of it."""
REMOVED = "The operator removed the name {name}. Choose another one, or ask the operator why."


@dataclass(frozen=True, slots=True)
class NameForm:
    """The form of one agent: its submitter and name, and its display name as it stands in the form."""

    agent: str
    name: str = ""
    problem: str = ""
    note: str = ""
    longest: int = MAX_NAME_CHARACTERS


def forms(account: str, agents: Sequence[NamedAgent], sent: NameForm | None = None) -> list[NameForm]:
    """Lay the forms of an account's agents out; `sent` is one that was sent, and what is wrong in it."""
    shown = []
    for agent in agents:
        note = REMOVED.format(name=agent.removed) if agent.removed else ""
        name, problem = agent.display_name or "", ""
        if sent is not None and sent.agent == agent.agent:
            name, problem = sent.name, PROBLEMS[sent.problem]
        shown.append(NameForm(f"{account}/{agent.agent}", name, problem, note))
    return shown
