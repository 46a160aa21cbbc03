"""Tests of what a terminal is shown: version, completion, colours, and a server's busy address."""

import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from quarterturn.cli.terminal.colour import GREEN, RED, YELLOW, StatusLine
from quarterturn.cli.terminal.version import version

from ..terminals import environment, on_a_terminal

ROOT = Path(__file__).resolve().parents[2]
QUARTERTURN = Path(sys.executable).parent / "quarterturn"


LINES = (
    "from quarterturn.cli.terminal.colour import StatusLine\n"
    "from quarterturn.cli.terminal.output import Output\n"
    "out = Output(as_json={})\n"
    "out.say(StatusLine('advices  advice keys', 'advice'))\n"
    "out.result({{}}, StatusLine('ok  ok git', 'ok'), StatusLine('wrong \\x1b[2J', 'wrong'), 'ok of a plain line')\n"
)


def test_a_terminal_shows_each_status_in_its_colour_and_obeys_nothing_else():
    code, shown = on_a_terminal(sys.executable, "-c", LINES.format(False), env=environment())
    assert code == 0
    assert shown.splitlines() == [
        f"advices  {YELLOW}advice\x1b[0m keys",
        f"{GREEN}ok\x1b[0m  ok git",
        f"{RED}wrong\x1b[0m \\x1b[2J",
        "ok of a plain line",
    ]


@pytest.mark.parametrize("changed", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=str)
def test_a_terminal_that_wants_no_colours_gets_none(changed):
    _, shown = on_a_terminal(sys.executable, "-c", LINES.format(False), env=environment(**changed))
    assert "\x1b" not in shown


def test_pipes_and_json_get_no_colours():
    words = [sys.executable, "-c", LINES.format(False)]
    piped = subprocess.run(words, env=environment(), capture_output=True, text=True, check=True)
    assert "\x1b" not in piped.stdout + piped.stderr
    _, shown = on_a_terminal(sys.executable, "-c", LINES.format(True), env=environment())
    assert shown.splitlines()[-1] == '{"data": {}, "ok": true}'


def test_a_status_without_a_colour_is_plain_text():
    assert StatusLine("drafted  t-a", "drafted") == "drafted  t-a"


def test_the_version_is_that_of_the_project():
    (written,) = re.findall(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    said = subprocess.run([QUARTERTURN, "--version"], capture_output=True, text=True, check=False)
    assert (said.returncode, said.stdout, said.stderr) == (0, f"quarterturn {written}\n", "")


def test_a_package_without_its_checkout_knows_its_version(monkeypatch, tmp_path):
    monkeypatch.setattr("quarterturn.cli.terminal.version._PROJECT", tmp_path / "pyproject.toml")
    installed = version()
    assert re.fullmatch(r"\d+\.\d+\.\d+", installed)
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "another"\nversion = "9.9.9"\n')
    assert version() == installed


@pytest.mark.full
def test_bash_completes_verbs_options_and_choices():
    for line, expected in (
        ("quarterturn task re", {"review"}),
        ("quarterturn task list --sta", {"--state"}),
        ("quarterturn doctor --box ", {"auto", "bwrap", "docker"}),
    ):
        words = line.split(" ")
        asked = {"_QUARTERTURN_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
        said = subprocess.run([QUARTERTURN], env=environment(**asked), capture_output=True, text=True, check=False)
        assert (said.returncode, set(said.stdout.split())) == (0, expected)


def in_bash(command: str, **changed: str) -> subprocess.CompletedProcess[str]:
    """Run a command below a bash, which is how the shell is found out that asks for its completion."""
    bash = ["bash", "-c", f"{command}; exit $?"]
    return subprocess.run(bash, env=environment(**changed), capture_output=True, text=True, check=False)


def test_the_completion_of_the_shell_is_shown_and_installed(tmp_path):
    shown = in_bash(f"{QUARTERTURN} --show-completion")
    assert shown.returncode == 0
    assert "complete -o default -F _quarterturn_completion quarterturn" in shown.stdout
    assert in_bash(f"{QUARTERTURN} --install-completion", HOME=str(tmp_path)).returncode == 0
    known = in_bash(f"source {tmp_path}/.bashrc; complete -p quarterturn")
    assert known.stdout == "complete -o default -F _quarterturn_completion quarterturn\n"


def test_a_busy_port_is_said_in_one_sentence_with_exit_6(say, home, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        busy = say("serve", "--home", home, "--port", port)
        say("log", "witness-key", "w.example/w", "--out", tmp_path / "w.key")
        words = ("--key", tmp_path / "w.key", "--state", tmp_path / "state", "--log", home / "public" / "log.vkey")
        witness = say("log", "witness", *words, "--listen", f"127.0.0.1:{port}")
    sentence = f"quarterturn: cannot listen on 127.0.0.1 port {port}: another program listens there: end it, or name"
    assert (busy.code, busy.err) == (6, f"{sentence} another port with --host and --port\n")
    assert (witness.code, witness.sentence) == (6, f"{sentence} another port with --listen")


@pytest.mark.parametrize(
    ("host", "says"), [("192.0.2.1", "this machine has no such address"), ("a..b", "a..b is no known address")]
)
def test_an_address_that_is_not_ours_is_said_likewise(say, home, host, says):
    said = say("serve", "--home", home, "--host", host, "--port", "0").refuses(6, says)
    assert said.err.count("\n") == 1


def test_a_service_that_is_refused_while_it_starts_says_so_in_one_sentence(say, home):
    """Its exit code is that of the reason, as it is of every verb, and no traceback is logged."""
    (home / "public" / "view" / "dev.json").mkdir(parents=True)
    refused = say("serve", "--home", home, "--port", "0", "--workers", "0", "--no-clock")
    refused.refuses(3, "public/view", "Is a directory")
    assert "Traceback" not in refused.err
