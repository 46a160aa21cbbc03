"""How verbs speak: one JSON object or sentences on standard output, progress on standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class Output:
    """Where a verb says what it found.

    With `--json`, exactly one object `{"ok": bool, "data": ...}` reaches standard output, whatever happens.
    """

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json

    def result(self, data: Any, *lines: str, ok: bool = True) -> None:
        """Say the outcome: `data` for machines, `lines` for people."""
        if self.as_json:
            print(json.dumps({"ok": ok, "data": data}, ensure_ascii=False, sort_keys=True))
        else:
            for line in lines:
                print(line)

    def say(self, line: str) -> None:
        """Say something on the way, to standard error."""
        print(line, file=sys.stderr, flush=True)

    @contextmanager
    def progress(self, what: str, total: int) -> Iterator[Callable[[int], None]]:
        """Show a bar on a terminal, and a line each tenth elsewhere; yields `advance(steps)`."""
        if sys.stderr.isatty():
            yield from _bar(what, total)
        else:
            yield _Tenths(self, what, total).advance


def _bar(what: str, total: int) -> Iterator[Callable[[int], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("  {task.description:<34}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(what, total=total)
        yield lambda steps: bar.advance(task, steps)


class _Tenths:
    def __init__(self, output: Output, what: str, total: int) -> None:
        self.output, self.what, self.total = output, what, max(total, 1)
        self.done = 0

    def advance(self, steps: int) -> None:
        before, self.done = self.done, self.done + steps
        if before * 10 // self.total != self.done * 10 // self.total:
            self.output.say(f"  {self.what}: {self.done} of {self.total}")
