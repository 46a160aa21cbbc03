"""Output of verbs: one JSON object or sentences on standard output, progress on standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import typer

from quarterturn.cli.terminal.colour import painted
from quarterturn.cli.terminal.exits import NO


class Output:
    """Prints the result of a verb.

    With `--json`, exactly one object `{"ok": bool, "data": ...}` reaches standard output, whatever happens.
    """

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json

    def result(self, data: Any, *lines: str, ok: bool = True, otherwise: int = NO) -> None:
        """Print the outcome: `data` for programs, `lines` for people. It is the last thing that a verb does.

        Raises:
            Exit: the answer is no; the exit code is `otherwise`.
        """
        if self.as_json:
            print(json.dumps({"ok": ok, "data": data}, sort_keys=True))
        else:
            for line in lines:
                print(painted(printable(line), line, sys.stdout))
        if not ok:
            raise typer.Exit(otherwise)

    def again(self, data: Any, *lines: str, ok: bool = True) -> None:
        """Print one of several outcomes: each is an object on its own line, or a page of sentences."""
        if self.as_json:
            print(json.dumps({"ok": ok, "data": data}, sort_keys=True), flush=True)
        else:
            shown = [painted(printable(line), line, sys.stdout) for line in lines]
            print("\n".join(["", *shown]), flush=True)

    def say(self, line: str) -> None:
        """Print a line of progress to standard error."""
        print(painted(printable(line), line, sys.stderr), file=sys.stderr, flush=True)

    @contextmanager
    def progress(self, what: str, total: int, *, transient: bool = False) -> Iterator[Callable[[int], None]]:
        """Show a bar on a terminal, and a line each tenth elsewhere; yields `advance(steps)`.

        A `transient` bar disappears at its end.
        """
        if sys.stderr.isatty():
            yield from _bar(what, total, transient=transient)
        else:
            yield _Tenths(self, what, total).advance

    @contextmanager
    def show_on_terminal(self, what: str, total: int = 1) -> Iterator[Callable[[int], None]]:
        """Show on a terminal that something is being done, until it is; yields `advance(steps)`. Elsewhere nothing."""
        if sys.stderr.isatty():
            yield from _bar(what, total, transient=True)
        else:
            yield lambda _steps: None


def printable(text: str) -> str:
    """Write control characters so that a terminal shows them instead of obeying them: a bundle may be hostile."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)


def _bar(what: str, total: int, *, transient: bool) -> Iterator[Callable[[int], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("  {task.description:<34}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=transient) as bar:
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
