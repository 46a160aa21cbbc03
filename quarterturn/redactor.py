"""Log redactor: drops the words of tasks, by field name and by content.

1. Of an error its type and place are written, and no text: it may quote a task.
2. Values under a name of `KEYS` are dropped.
3. Each task that is opened in this process is its own canary: every run of three words of its texts is remembered, as
   a hash that means nothing in another process. A value that contains one of them is dropped, whichever module logs it
   and whatever the case of letters, the quotes and the blanks.

It is a safety net under the rule that a task's words are not logged, and no licence to log them: a single word passes
it, and so does encoded text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

from quarterturn.errors import where
from vault.task.document import Task

# fmt: off
KEYS = frozenset((
    "answer", "arguments", "available_tools", "content", "data", "detail", "document", "evidence", "faults", "free",
    "goal", "initial_state", "messages", "output", "prompt", "provenance", "request", "response", "result",
    "results", "solution", "state", "success_predicate", "task", "tasks", "text", "transcript", "transcripts",
))
# fmt: on
DROPPED = "[dropped]"
RUN = 3
MAX_SCANNED_WORDS = 20_000  # of one text: a table of a million rows is known by its beginning
_WORD = re.compile(r"[^\W_]+")


class Redactor:
    """Remembers tasks, and cleans each log record (a structlog processor)."""

    def __init__(self) -> None:
        self._known: set[int] = set()

    def learn(self, task: Task) -> None:
        """Remember a task's texts."""
        for text in _texts(task.document):
            self._known.update(_runs(text))

    def __call__(self, _logger: Any, _method: str, event: MutableMapping[str, Any]) -> dict[str, Any]:
        """Clean an event."""
        error = event.pop("exc_info", None)
        event.pop("stack_info", None)
        cleaned = {key: value if key.startswith("_") else self._clean(key, value) for key, value in event.items()}
        if isinstance(error, tuple) and error[1] is not None:
            error = error[1]
        if isinstance(error, BaseException):
            cleaned["error"] = where(error)
        return cleaned

    def _clean(self, key: str, value: Any) -> Any:
        if key in KEYS:
            return DROPPED
        if isinstance(value, Mapping):
            return {str(name): self._clean(str(name), inner) for name, inner in value.items()}
        if isinstance(value, list | tuple | set | frozenset):
            return [self._clean("", inner) for inner in value]
        if isinstance(value, BaseException):
            return where(value)
        if value is None or isinstance(value, bool | int | float):
            return value
        text = value.decode(errors="replace") if isinstance(value, bytes) else str(value)
        return DROPPED if any(run in self._known for run in _runs(text)) else text


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield str(name)
            yield from _texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner)


def _runs(text: str) -> Iterator[int]:
    """Return each run of words as a hash; Python's own is keyed anew in each process."""
    words = [match[0].casefold() for match, _ in zip(_WORD.finditer(text), range(MAX_SCANNED_WORDS), strict=False)]
    return (hash(tuple(words[place : place + RUN])) for place in range(len(words) - RUN + 1))


REDACTOR = Redactor()
"""The redactor of this process: every task opened here is known to it."""
