"""Generator of the command line's reference page: `python -m quarterturn.cli.reference`."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

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
internal error; it may quote a task. Headings name a verb without `quarterturn`.

| exit | meaning |
|---|---|
"""


MIN_VERBS_TO_SHARE = 3
"""An option that this many verbs have, with the same meaning, is described once."""


class Verb(NamedTuple):
    """Section of a verb or of a group of verbs: its heading, its help, and an entry for each parameter."""

    heading: str
    help: str
    parameters: dict[str, str]


def page() -> str:
    """Return the page."""
    command = whole_tree()
    context = command.context_class(command, info_name=NAME)
    groups: dict[str, list[Verb]] = {}
    for name, verb in command.commands.items():
        groups.setdefault(group_of(verb), []).extend(_verbs(verb, name, context))
    entries = Counter(entry for verbs in groups.values() for verb in verbs for entry in verb.parameters.items())
    shared = {entry for entry, verbs in entries.items() if verbs >= MIN_VERBS_TO_SHARE and entry[0].startswith("`-")}
    return HEAD + "\n".join(_lines(groups, shared, _parameters(command, context))).rstrip() + "\n"


def _lines(groups: dict[str, list[Verb]], shared: set[tuple[str, str]], bare: dict[str, str]) -> Iterator[str]:
    """Write exit codes, options before any verb and shared ones, then the verbs in the order of `--help`."""
    yield from (f"| {code} | {meaning} |" for code, meaning in sorted(MEANINGS.items()))
    yield "\nBefore any verb:\n"
    yield from _entries(bare.items())
    yield "\nOptions of several verbs, which only name them:\n"
    yield from _entries(sorted(shared))
    for title, verbs in groups.items():
        yield f"\n## {title}"
        for verb in verbs:
            yield f"\n{verb.heading}\n\n{verb.help}"
            own = [entry for entry in verb.parameters.items() if entry not in shared]
            yield from ["", *_entries(own)] if own else []
            if named := [left for left, right in verb.parameters.items() if (left, right) in shared]:
                yield f"\nAlso {', '.join(left.partition(' ')[0].strip('`').join('``') for left in named)}."


def _entries(entries: Iterable[tuple[str, str]]) -> list[str]:
    return [f"- {left}: {right}" for left, right in entries]


def _verbs(command: Any, name: str, above: Any) -> Iterator[Verb]:
    """Describe a command and, below it, those of its group; each one's context lies in the one above."""
    context = command.context_class(command, info_name=name, parent=above)
    below = getattr(command, "commands", {})
    level = "#" * min(len(context.command_path.split()) + 1, 4)
    usage = [] if below else [piece for piece in command.collect_usage_pieces(context) if piece != "[OPTIONS]"]
    heading = f"{level} {context.command_path.removeprefix(NAME + ' ')}" + (f" `{' '.join(usage)}`" if usage else "")
    yield Verb(heading, command.help, {} if below else _parameters(command, context))
    for part in sorted(below):
        yield from _verbs(below[part], part, context)


def _parameters(command: Any, context: Any) -> dict[str, str]:
    """Describe parameters as the help does; that an argument is required stands in the heading."""
    described = {}
    for parameter in command.get_params(context):
        left, right = parameter.get_help_record(context) or ("--help", "")
        if parameter.param_type_name == "argument":
            left, right = left.removesuffix(" <str>"), right.removesuffix("  [required]")
        if "--help" not in left:
            described[f"`{left.strip()}`"] = right
    return described


if __name__ == "__main__":
    sys.stdout.write(page())
