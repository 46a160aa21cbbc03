"""Output of the demo: one line a step, details with `--verbose`, and a bar on a terminal while a step lasts."""

from __future__ import annotations

import shutil
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from quarterturn.cli.terminal.colour import StatusLine
from quarterturn.cli.terminal.output import Output

LABEL = 9
"""Width of the steps' names."""


class Steps:
    """The steps of the demo, numbered, each with the time that it took.

    Args:
        out: where lines go.
        count: how many steps there are.
        verbose: whether details are shown.
    """

    def __init__(self, out: Output, count: int, *, verbose: bool) -> None:
        self._out, self._count, self._verbose = out, count, verbose
        self.seconds: dict[str, float] = {}

    @contextmanager
    def step(self, name: str) -> Iterator[Step]:
        """Yield a step; at its end its line is printed, then its details if they are wanted."""
        step, began = Step(self._out, verbose=self._verbose), time.monotonic()
        yield step
        self.seconds[name] = round(time.monotonic() - began, 1)
        self._out.say("\n".join(self._wrapped(f"{len(self.seconds)}/{self._count} {name:<{LABEL}}  ", step.meaning)))
        if self._verbose:
            for line in step.details:
                for part in self._wrapped(" " * (LABEL + 6), line):
                    self._out.say(StatusLine(part, line.status) if isinstance(line, StatusLine) else part)

    def times(self) -> str:
        """Say how long each step took."""
        return "Seconds by step: " + ", ".join(f"{name} {seconds:.1f}" for name, seconds in self.seconds.items())

    def _wrapped(self, head: str, text: str) -> list[str]:
        """Break a line at words for the width of a terminal; elsewhere it stays whole."""
        if not sys.stderr.isatty():
            return [head + text]
        width = max(shutil.get_terminal_size().columns, len(head) + 40)
        wrapper = textwrap.TextWrapper(width, break_long_words=False, break_on_hyphens=False)
        wrapper.initial_indent, wrapper.subsequent_indent = head, " " * len(head)
        return wrapper.wrap(text) or [head]


class Step:
    """One step of the demo, and what shows the progress of the long calls in it.

    Attributes:
        meaning: the step's line, set before its end.
        details: lines for `--verbose`.
    """

    def __init__(self, out: Output, *, verbose: bool) -> None:
        self._out, self._verbose = out, verbose
        self._advance: Callable[[int], None] | None = None
        self.meaning = ""
        self.details: list[str] = []

    @contextmanager
    def bar(self, what: str, total: int) -> Iterator[Callable[[int], None]]:
        """Show a bar on a terminal until the block ends; elsewhere lines, if details are wanted."""
        if not sys.stderr.isatty() and not self._verbose:
            yield lambda _steps: None
            return
        with self._out.progress(what, total, transient=True) as advance:
            self._advance = advance
            try:
                yield advance
            finally:
                self._advance = None

    def say(self, text: str) -> None:
        """Keep a detail."""
        self.details.append(text)

    def progress(self, what: str, total: int) -> AbstractContextManager[Callable[[int], None]]:
        """Advance the step's own bar, which is open."""
        if self._advance is None:
            return self.bar(what, total)
        return nullcontext(self._advance)
