"""Command line: its verbs, JSON output and exit codes are the contract with scripts and tests.

Only this package prints or exits. Verbs import what they need when they run, so that `--help` answers at once. Exit
codes: 0 ok, 1 the check's answer is no, 2 usage or malformed input, 3 not found, 4 not allowed, 5 quota, 6 an engine,
an address or a remote is unavailable, 7 key locked or missing, 8 refused by policy, 70 an internal error, 130
interrupted (run the same command again to resume).
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any

import typer

from quarterturn import foreign_packages
from quarterturn.cli.auditing import access, audit, fetch, log, plumb
from quarterturn.cli.daily import approval, grammar, leaderboard, month, server, submit, task, watch
from quarterturn.cli.daily import run as run_verb
from quarterturn.cli.setup import backup, benchmark_set, home, keys, model, runner, service, signer, token
from quarterturn.cli.terminal.exits import BUG, EXITS, INTERRUPTED, OK, exit_code
from quarterturn.cli.terminal.extra_verbs import EXPORT, JUDGE, MEASURE, RATINGS
from quarterturn.cli.terminal.output import printable
from quarterturn.cli.terminal.secrets import take_secrets
from quarterturn.cli.terminal.verb_groups import GroupedVerbs, load_all, make_root
from quarterturn.cli.terminal.version import show as show_version
from quarterturn.errors import Malformed, where

NAME = "quarterturn"
COMPLETING = f"_{NAME.upper()}_COMPLETE"
"""The variable in which a shell asks for completions."""
_NO_FILE = (FileNotFoundError, IsADirectoryError, NotADirectoryError)

_PLAIN_WORDS = {
    "Input should be a valid integer, unable to parse string as an integer": "it must be a whole number",
    "Input should be a valid number, unable to parse string as a number": "it must be a number",
    "Input should be greater than or equal to": "it must be at least",
    "Input should be less than or equal to": "it must be at most",
    "Input should be greater than": "it must be more than",
    "Input should be less than": "it must be less than",
    "is not readable": "cannot be read: run it as the user who may, or let this one use it",
}
"""What Pydantic says of an option's value, and what is said here."""

app = typer.Typer(
    name=NAME,
    cls=GroupedVerbs,
    help="Keep a benchmark's tasks secret while they count, and fix in public which were used when.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
GROUPS = {
    "Submitting": (submit.verbs, MEASURE.verbs, RATINGS.verbs, submit.name_verbs),
    "Daily work": (
        *(run_verb.verbs, leaderboard.verbs, month.turn_verbs, month.release_verbs, task.verbs, approval.verbs),
        *(grammar.grammar_verbs, grammar.predicate_verbs, watch.verbs),
    ),
    "Set-up": (
        *(home.verbs, service.verbs, signer.verbs, JUDGE.verbs, backup.verbs),
        *(benchmark_set.verbs, keys.verbs, server.verbs, runner.verbs, token.verbs, model.verbs),
    ),
    "Audit": (audit.verbs, fetch.verbs, EXPORT.verbs, log.verbs, access.verbs),
    "Plumbing": (plumb.verbs,),
}
for title, parts in GROUPS.items():
    for part in parts:
        app.add_typer(part, rich_help_panel=title)


@app.callback()
def options(
    _version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Take the options that stand before a verb."""


def main() -> None:
    """Run the command line and exit with its code."""
    _stand_in()
    if os.environ.get(COMPLETING):
        tree().main([], prog_name=NAME)  # answers the shell and ends
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # both are text files here
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command and give its exit code; every error of ours becomes one sentence."""
    try:
        foreign_packages.require_ours()
        take_secrets()
        return _invoke(list(arguments) or ["--help"])
    except typer.Exit as stop:
        return stop.exit_code
    except BrokenPipeError:
        _say_no_more()
        return OK
    except (Exception, KeyboardInterrupt) as error:
        message, code = _explained(error, arguments)
        if "--json" in arguments:
            _say(json.dumps({"ok": False, "data": {"error": message, "exit": code}}))
        print(printable(f"{NAME}: {message}"), file=sys.stderr)
        return code


@cache
def tree() -> Any:
    """Return the verbs in their groups, as click's commands; each is loaded when it is used."""
    return make_root(app)


def whole_tree() -> Any:
    """Return the same with all verbs loaded, for the reference and for tests."""
    return load_all(tree())


def _stand_in() -> None:
    """Open what was closed of the three standard streams; else the next file that is opened, a database, is one."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115, PTH123 - until the end


def _say(line: str) -> None:
    """Print a line, unless the disk that it would go to is full, which the next line on standard error says."""
    try:
        print(line, flush=True)
    except OSError:
        _say_no_more()


def _say_no_more() -> None:
    """Discard what standard output still holds, or it would fail once more at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _invoke(arguments: list[str]) -> int:
    """Run a command; unlike `app()` this leaves interrupts and broken pipes to us."""
    _require_values(arguments)
    command = tree()
    with command.make_context(NAME, arguments) as context:
        command.invoke(context)
    sys.stdout.flush()  # whether it got there is a part of the answer
    return OK


def _require_values(arguments: Sequence[str]) -> None:
    """Refuse a value that is empty, as of a variable of the shell that is not set: a folder would be this one.

    Only an agent's answer has a meaning when it is empty.

    Raises:
        Malformed: there is one.
    """
    before = ""
    for word in arguments:
        if word == "--":
            return
        name, sign, value = word.partition("=") if word.startswith("--") else (before, "=", word)
        if sign and not value and name != "--answer":
            what = name if name.startswith("--") else "an argument"
            raise Malformed(f"{what} is empty: give it a value, or leave it out; is a variable of the shell not set?")
        before = word


def _explained(error: BaseException, arguments: Sequence[str]) -> tuple[str, int]:
    """Return the one sentence and the exit code of anything that a verb raised."""
    if isinstance(error, typer.TyperException):
        return _usage(error, arguments), EXITS["malformed"]
    if isinstance(error, KeyboardInterrupt | typer.Abort):
        return (
            "interrupted; nothing half-done is kept; the same command resumes, unless another one is named above",
            INTERRUPTED,
        )
    if (code := exit_code(error)) is not None:
        return " ".join(str(error).split()), code
    if isinstance(error, OSError):
        from vault.errors import reason_and_step  # a foreign `vault` is named before ours is looked for

        name = error.filename or "standard output, or a file"
        if isinstance(error, _NO_FILE):
            return f"{name}: {error.strerror or error}", EXITS["not-found"]
        return f"{name}: {reason_and_step(error)}", EXITS["unavailable"]
    return _bug(error), BUG


def _usage(error: typer.TyperException, arguments: Sequence[str]) -> str:
    """Say what was wrong with the command line, and which `--help` explains it."""
    context = getattr(error, "ctx", None)
    place = context.command_path if context else _verb(arguments)
    sentence = " ".join(error.format_message().replace("Value error, ", "").split()).rstrip(".")
    for theirs, ours in _PLAIN_WORDS.items():
        sentence = sentence.replace(theirs, ours)
    if place == NAME and sentence.startswith("No such option"):
        sentence += "; the options of a verb come after the verb"
    return f"{sentence}; see `{place} --help`"


def _verb(arguments: Sequence[str]) -> str:
    """Return the program with the verb that a command line begins with."""
    command, words = tree(), [NAME]
    for word in arguments:
        if word not in getattr(command, "commands", {}):
            break
        command = command.get_command(typer.Context(command), word)
        words.append(word)
    return " ".join(words)


def _bug(error: BaseException) -> str:
    """Return an internal error's place without its message, which might quote a task."""
    if os.environ.get("QUARTERTURN_TRACE"):
        traceback.print_exception(error)
    return f"internal error: {where(error)}. Nothing half-done is kept; QUARTERTURN_TRACE=1 shows the traceback"
