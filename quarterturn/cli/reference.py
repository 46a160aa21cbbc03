"""Generator of the command line's reference page: `python -m quarterturn.cli.reference`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from quarterturn.cli import NAME, whole_tree
from quarterturn.cli.terminal.exits import BUG, EXITS, INTERRUPTED, OK
from quarterturn.cli.terminal.verb_groups import group_of

MEANINGS = {
    OK: "yes, done",
    EXITS["no"]: "the check's answer is no",
    EXITS["malformed"]: "usage error, or a malformed document",
    EXITS["not-found"]: "something that was named does not exist",
    EXITS["not-allowed"]: "not allowed now, or not to this caller",
    EXITS["quota"]: "a quota is used up",
    EXITS["unavailable"]: "an engine, an address or another part of the machine is not to be had",
    EXITS["locked"]: "a key is locked or missing",
    EXITS["refused"]: "it would break a rule or a promise; nothing was done",
    BUG: "an internal error",
    INTERRUPTED: "interrupted; run the same command again to resume",
}

HEAD = """# The command line

This page is written by `python -m quarterturn.cli.reference`; a test fails where the two differ.

With `--json` a verb prints exactly one object, `{"ok": bool, "data": ...}`, on standard output, whatever happens; for
an error `data` is `{"error": sentence, "exit": code}`. Progress and errors go to standard error. A passphrase is taken
from `QUARTERTURN_PASSPHRASE` or a prompt, never from an argument. `QUARTERTURN_TRACE=1` shows the traceback of an
internal error; it may quote a task.

| exit | meaning |
|---|---|
"""


def page() -> str:
    """Write the page."""
    exits = "".join(f"| {code} | {meaning} |\n" for code, meaning in sorted(MEANINGS.items()))
    return HEAD + exits + "\n" + "\n".join(_groups(whole_tree())).rstrip() + "\n"


def _groups(command: Any) -> Iterator[str]:
    """Describe the options of the bare command, then the groups of verbs in the order of `--help`."""
    context = command.context_class(command, info_name=NAME)
    yield "Before any verb:\n"
    yield from _parameters(command, context)
    for title, verbs in groupby(command.commands.items(), key=lambda item: group_of(item[1])):
        yield f"## {title}\n"
        for name, verb in verbs:
            yield from _described(verb, name, context)


def _described(command: Any, name: str, above: Any) -> Iterator[str]:
    """Describe a command and, below it, those of its group; each one's context lies in the one above."""
    context = command.context_class(command, info_name=name, parent=above)
    below = getattr(command, "commands", {})
    yield f"{'#' * min(len(context.command_path.split()) + 1, 4)} {context.command_path}\n"
    yield f"{command.help}\n"
    if not below:
        yield f"`{' '.join([context.command_path, *command.collect_usage_pieces(context)])}`\n"
        yield from _parameters(command, context)
    for part in sorted(below):
        yield from _described(below[part], part, context)


def _parameters(command: Any, context: Any) -> Iterator[str]:
    records = [parameter.get_help_record(context) for parameter in command.get_params(context)]
    lines = [f"- `{left.strip()}`: {right}" for left, right in filter(None, records) if "--help" not in left]
    yield from [*lines, ""] if lines else []


if __name__ == "__main__":
    sys.stdout.write(page())
