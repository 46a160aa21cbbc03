"""Simulated leaks of drawn tasks: who was shown what, and how the text is altered on its way out.

Tasks come from the shipped grammars. Each submitter is shown each task in each of the months that it lives, in the
variant of that month. A leak is the goal alone, or the goal with the contents of its world; it is cut, reworded, or
mixed from two recipients' texts. The random generator is an argument.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from grammars.draw.sample import sample
from grammars.language.load import library
from rotation.detection.tracing import Recipient, ServedTask
from vault.task import variant
from vault.task.document import Task, texts

from ..shipped import shipped

MONTHS = ("2026-09", "2026-10", "2026-11", "2026-12")
SYNONYMS = {
    "file": "document", "files": "documents", "folder": "directory", "folders": "directories", "write": "put",
    "every": "each", "each": "every", "find": "look up", "please": "kindly", "new": "fresh", "make": "create",
    "leave": "keep", "change": "alter", "changes": "alters", "stays": "remains", "stay": "remain", "look": "check",
    "answer": "reply", "whose": "of which the", "exactly": "precisely", "only": "just", "alone": "by itself",
    "everything": "all", "else": "other", "must": "has to", "nothing": "no thing", "into": "to", "all": "the whole",
    "same": "identical", "open": "unsettled", "state": "status", "name": "title", "number": "count",
    "table": "relation", "columns": "fields", "commit": "check in", "branch": "line", "mail": "message",
    "mails": "messages", "then": "next", "with": "having", "other": "remaining", "rows": "records",
    "calendar": "diary", "calendars": "diaries",
}  # fmt: skip


@dataclass(frozen=True)
class Shown:
    """A drawn task, and what `rotation.detection.tracing` knows of it."""

    task: Task
    served: ServedTask

    def text(self, values: Mapping[str, str], *, world: bool) -> str:
        """Return the text that a run was shown: the goal, and all contents of its world."""
        task = self.task.filled(values)
        parts = [task.goal, *(_sentences(task.document["initial_state"]) if world else ())]
        return "\n".join(parts)


def drawn(dice: Random, tasks: int, submitters: int, months: Sequence[str] = MONTHS) -> list[Shown]:
    """Draw traceable tasks, server after server, each served to all submitters in each of the months."""
    recipients = [Recipient(f"submitter-{n}", month) for n in range(submitters) for month in months]
    grammars = [shipped(name) for name in library()]
    out: list[Shown] = []
    while len(out) < tasks:
        task = Task.parse(sample(grammars[len(out) % len(grammars)], dice).task)
        if variant.traceable(task.free):
            key = variant.task_key(b"test-master-key", task.id)
            shown = {who: variant.assigned(key, who.submitter, who.month, task.free) for who in recipients}
            out.append(Shown(task, ServedTask(task.id, task.goal, task.free, shown)))
    return out


def _sentences(state: Any) -> Iterator[str]:
    return (text for _, text in texts(state))


def cut(text: str, dice: Random) -> str:
    """Remove a third of a text, in one piece, at a random place."""
    parts = text.split(" ")
    start = dice.randrange(len(parts))
    gone = {(start + n) % len(parts) for n in range(len(parts) // 3)}
    return " ".join(part for n, part in enumerate(parts) if n not in gone)


def reworded(text: str, dice: Random) -> str:
    """Paraphrase lightly: synonyms, another order of sentences, other signs, and at times other case."""
    sentences = re.split(r"(?<=[.!?])\s+", text)
    dice.shuffle(sentences)
    parts = [_reworded(part, dice) for sentence in sentences for part in sentence.split(" ")]
    said = " ".join(parts).translate(str.maketrans({'"': "'", ";": ",", ":": " -", "!": "."}))
    return dice.choice([str, str.lower, str.upper])(said).replace("-", dice.choice(["-", " ", "_"]))


def _reworded(part: str, dice: Random) -> str:
    plain = part.strip('.,;:"!?()').casefold()
    return part.casefold().replace(plain, SYNONYMS[plain]) if plain in SYNONYMS and dice.random() < 0.7 else part


def mixed(one: str, other: str, dice: Random) -> str:
    """Mix two recipients' texts: either's words wherever they differ."""
    left, right = (re.split(r"(\s+)", text) for text in (one, other))
    if len(left) != len(right):  # values of different length: line by line, then
        left, right = one.splitlines(keepends=True), other.splitlines(keepends=True)
    return "".join(dice.choice(pair) for pair in zip(left, right, strict=True))


def untouched(text: str, dice: Random) -> str:
    """Return the text as it was shown."""
    return text


def both(text: str, dice: Random) -> str:
    """Reword a text, and then cut a third of it."""
    return cut(reworded(text, dice), dice)


SPOILT: Mapping[str, Callable[[str, Random], str]] = {
    "as it was": untouched,
    "a third missing": cut,
    "reworded": reworded,
    "reworded, a third missing": both,
}


def guilty(among: Sequence[Shown], count: int, dice: Random) -> list[Recipient]:
    """Draw one recipient, or two of different submitters, or nobody on record."""
    recipients = list(among[0].served.shown)
    while True:
        chosen = dice.sample(recipients, count)
        if len({who.submitter for who in chosen}) == count:
            return chosen


def leak(
    among: Sequence[Shown],
    by: Sequence[Recipient],
    dice: Random,
    spoil: str,
    *,
    tasks: int = 1,
    world: bool = False,
) -> str:
    """Leak some of the tasks: by one recipient, by two who mix their texts, or by somebody not on record."""
    leaked_texts = []
    for shown in dice.sample(list(among), tasks):
        served = [shown.served.shown[who] for who in by] or [
            {name: dice.choice(choices) for name, choices in shown.task.free.items()}
        ]
        versions = [shown.text(values, world=world) for values in served]
        leaked_texts.append(SPOILT[spoil](versions[0] if len(versions) == 1 else mixed(*versions, dice), dice))
    return "\n\n".join(leaked_texts)
