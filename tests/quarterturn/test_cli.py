"""Tests of the command line's contract: one JSON object, one sentence, the right exit code."""

import errno
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer.main

from quarterturn import cli, errors
from quarterturn.cli import whole_tree
from quarterturn.cli.terminal import output
from quarterturn.cli.terminal.exits import EXITS, exit_code

LIGHT = {
    "mcp",
    "docker",
    "sqlmodel",
    "sqlalchemy",
    "fastapi",
    "alembic",
    "cryptography",
    "yaml",
    "jsonschema",
    "pydantic",
}
MAX_MODULES = {
    "--version": 240,
    "turn --help": 240,
    "server list": 530,
    "task list": 700,
    "keys list": 760,
    "turn status": 720,
    "turn plan": 780,
    "leaderboard": 780,
}
"""How many modules a verb imports at most: their import is what a verb that computes nothing costs."""


def verbs() -> Iterator[tuple[str, ...]]:
    def walk(command: object, words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        yield words
        for name, below in getattr(command, "commands", {}).items():
            yield from walk(below, (*words, name))

    yield from walk(whole_tree(), ())


@pytest.mark.slow
def test_help_loads_nothing_heavy():
    words = json.dumps([[*words, "--help"] for words in verbs()])
    program = (
        "import json, sys; from quarterturn.cli import run; sys.stdout = sys.stderr\n"
        f"codes = [run(words) for words in json.loads({words!r})]\n"
        "print(json.dumps([codes, sorted({name.partition('.')[0] for name in sys.modules})]), file=sys.__stdout__)"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    codes, loaded = json.loads(said.stdout)
    assert set(codes) == {0}
    assert not LIGHT & set(loaded)


@pytest.mark.parametrize("verb", MAX_MODULES)
def test_a_verb_that_computes_nothing_imports_few_modules(verb, home):
    words = (
        verb.split() if verb in {"--version", "turn --help", "server list"} else [*verb.split(), "--home", str(home)]
    )
    program = (
        "import sys; from quarterturn.cli import run; out, sys.stdout = sys.stdout, sys.stderr\n"
        f"code = run({words!r}); print(code, len(sys.modules), file=out)"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    code, modules = map(int, answer.split())
    assert code in {0, 4, 8}, "an empty home has no month that is live, and no tasks for a turn"
    assert modules <= MAX_MODULES[verb]


def test_the_help_lists_each_verb_on_one_line_of_its_group(say, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert say().out == say("--help").out, "which the bare command shows, too"
    sections = dict(re.findall(r"^([A-Z][\w -]+):\n((?:  \S.*\n)+)", say("--help").out, re.MULTILINE))
    assert list(sections) == ["Options", *cli.GROUPS]
    listed = [line.split()[0] for title in cli.GROUPS for line in sections[title].splitlines()]
    assert sorted(listed) == sorted(words[0] for words in verbs() if len(words) == 1)
    assert "..." not in "".join(sections[title] for title in cli.GROUPS)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["frobnicate"], "No such command 'frobnicate'"),
        (["tsak", "list"], "Did you mean 'task'?"),
        (["task", "lst"], "Did you mean 'list'?"),
        (["leaderboard", "--colour"], "No such option: --colour"),
        (["task", "show"], "Missing argument"),
        (["task", "show", "t-x"], "Missing option '--as'"),
        (["task", "show", "t-x", "--as", " "], "1 to 200 printable characters"),
        (["task", "show", "t-x", "--as", "a\tb"], "1 to 200 printable characters"),
        (["log", "proof", "one"], "'index': it must be a whole number"),
        (["run", "--as", "me", "--agent", "x", "--box", "fake"], "'fake' is not one of 'auto', 'docker', 'bwrap'"),
        (["run", "--as", "me", "--agent", "x", "--set", "live"], "'live' is not one of 'dev', 'private'"),
        (["run", "--as", "me"], "one of --image, --agent and --endpoint"),
        (["run", "--as", "me", "--image", "i", "--endpoint", "e"], "one of --image, --agent and --endpoint"),
        (["run", "--as", "me", "--image", "i", "--box", "bwrap"], "needs the docker box"),
        (["doctor", "--box", "vm"], "'vm' is not one of"),
        (["task", "list", "--state", "done"], "'done' is not one of"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_usage_error_is_one_sentence_and_exit_code_2(words, named, say):
    plain, asked = say(*words), say(*words, "--json")
    assert (plain.code, asked.code) == (2, 2)
    assert plain.out == ""
    assert plain.err.count("\n") == 1
    assert named in plain.sentence
    assert asked.object["ok"] is False
    assert named in asked.data["error"]
    assert asked.data["exit"] == 2


def test_a_group_alone_names_the_help_that_lists_its_verbs(say):
    said = say("task")
    assert (said.code, said.sentence) == (2, "quarterturn: Missing command; see `quarterturn task --help`")


def test_a_name_may_come_from_the_environment(say, home, monkeypatch):
    monkeypatch.setenv("QUARTERTURN_USER", "grace")
    monkeypatch.setenv("QUARTERTURN_HOME", str(home))
    assert say("task", "review").out == "nothing waits for a review\n"


def test_every_kind_of_error_has_its_number():
    kinds = {kind.kind for kind in vars(errors).values() if isinstance(kind, type) and hasattr(kind, "kind")}
    assert kinds <= set(EXITS)
    assert [EXITS[kind] for kind in ("no", "malformed", "not-found", "not-allowed", "quota")] == [1, 2, 3, 4, 5]
    assert [EXITS[kind] for kind in ("unavailable", "locked", "refused")] == [6, 7, 8]
    assert exit_code(errors.Refused("x")) == 8
    assert exit_code(ValueError("x")) is None


@pytest.mark.parametrize(
    "case",
    [
        (RuntimeError("the goal is: bring the amaranth lantern"), 70, "RuntimeError in stumble"),
        (KeyboardInterrupt(), 130, "the same command resumes"),
    ],
    ids=["a mistake of ours", "an interrupt"],
)
def test_what_stops_a_verb_is_told_and_no_words_of_an_error_of_ours(say, home, monkeypatch, case):
    error, code, words = case

    def stumble(*_: object) -> None:
        raise error

    monkeypatch.setattr("quarterturn.month.turn_status.status", stumble)
    said = say("turn", "status", "--home", home, "--json")
    assert (said.code, words in said.data["error"]) == (code, True)
    assert "amaranth" not in said.out + said.err


def test_an_option_without_its_value_names_the_verb_that_it_belongs_to(say):
    assert "requires an argument; see `quarterturn task list --help`" in say("task", "list", "--state").sentence


@pytest.mark.parametrize(
    ("number", "sentence"),
    [
        (errno.ENOSPC, "No space left on device; make room on its disk, then try again"),
        (errno.EACCES, "Permission denied; run it as the user who may, or let this one use it"),
        (errno.EROFS, "Read-only file system; have it mounted for writing, or name another place"),
    ],
)
def test_a_disk_that_fails_is_named_with_the_next_step(number, sentence, say, home, monkeypatch):
    def failing(*_: object) -> None:
        raise OSError(number, os.strerror(number), "/some/where")

    monkeypatch.setattr("quarterturn.month.turn_status.status", failing)
    said = say("turn", "status", "--home", home)
    assert (said.code, said.sentence) == (6, f"quarterturn: /some/where: {sentence}")


def test_doctor_reports_a_home_whose_files_cannot_be_read(say, home, monkeypatch):
    monkeypatch.setattr("quarterturn.cli.setup.doctor_checks._boxes", dict)

    def unreadable(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(home / "quarterturn.toml"))

    monkeypatch.setattr("quarterturn.settings.load", unreadable)
    said = say("doctor", "--home", home)
    assert said.code == 6
    assert f"wrong   home        {home}/quarterturn.toml: Permission denied; run it as the user who may" in said.out


@pytest.mark.slow
def test_a_reader_that_goes_away_is_no_error(home):
    program = Path(sys.executable).parent / "quarterturn"
    piped = f"{program} predicate list --json | head -c 1; exit ${{PIPESTATUS[0]}}"
    said = subprocess.run(["bash", "-c", piped], capture_output=True, text=True, check=False)
    assert (said.returncode, said.stderr) == (0, "")


@pytest.mark.slow
@pytest.mark.parametrize(
    "closed", [*(pytest.param(one, marks=pytest.mark.full) for one in ("0<&-", ">&-", "2>&-")), "0<&- >&- 2>&-"]
)
def test_a_closed_stream_is_an_empty_one_and_never_a_file_of_the_home(home, closed):
    program = Path(sys.executable).parent / "quarterturn"
    before = (home / "quarterturn.db").read_bytes()[:100]
    words = ["bash", "-c", f"{program} keys add passphrase --as ada --home {home} {closed}"]
    said = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert said.returncode == 2
    assert said.stderr.startswith(f"{cli.NAME}: there is nobody to ask") == ("2>&-" not in closed)
    assert (home / "quarterturn.db").read_bytes()[:100] == before


@pytest.mark.slow
@pytest.mark.parametrize("words", [["predicate", "list"], ["predicate", "list", "--json"], ["nope", "--json"]])
def test_an_answer_that_does_not_get_there_is_no_success(words):
    program = Path(sys.executable).parent / "quarterturn"
    with Path("/dev/full").open("w") as full:
        said = subprocess.run([program, *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert said.returncode == (2 if words[0] == "nope" else 6)
    assert said.stderr.count("\n") == 1


def test_a_terminal_is_shown_control_characters_and_does_not_obey_them(capsys):
    output.Output(as_json=False).result(None, "a\x1b[2Jb\nc\x07")
    assert capsys.readouterr().out == "a\\x1b[2Jb\nc\\x07\n"


def test_a_no_is_said_before_the_exit(capsys):
    with pytest.raises(typer.Exit) as stop:
        output.Output(as_json=True).result({"found": 1}, ok=False, otherwise=6)
    assert stop.value.exit_code == 6
    assert json.loads(capsys.readouterr().out) == {"ok": False, "data": {"found": 1}}


def test_progress_is_a_line_a_tenth_where_nobody_watches(capsys):
    out = output.Output(as_json=True)
    with out.progress("steps", 20) as advance:
        for _ in range(20):
            advance(1)
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.splitlines()[0] == "  steps: 2 of 20"
    assert len(said.err.splitlines()) == 10
