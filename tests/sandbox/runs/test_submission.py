"""Tests of submitted programs, images and endpoints: what is accepted, and what a digest covers."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from sandbox.boxes.box import Program
from sandbox.endpoint.address import parse
from sandbox.errors import Malformed, NotFound, Refused
from sandbox.runs import submission

DIGEST = "sha256:" + "ab" * 32


def an_agent(folder: Path, *, program: str = "print('hello')\n") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "agent.py").write_text(program)
    (folder / "rules").mkdir(exist_ok=True)
    (folder / "rules" / "one.txt").write_text("look first")
    return folder / "agent.py"


def held(made) -> list[str]:
    folder = made.program.folder
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_the_folder_of_the_first_file_is_what_the_agent_may_read(tmp_path, monkeypatch):
    an_agent(tmp_path / "mine")
    monkeypatch.chdir(tmp_path)
    made = submission.command("python mine/agent.py --fast", submitter="ada")
    assert held(made) == ["agent.py", "rules/one.txt"]
    assert list(made.program.command) == ["python", str(made.program.folder / "agent.py"), "--fast"]
    assert (made.name, made.kind, made.submittable) == ("mine", "command", True)


def test_an_interpreter_given_by_its_path_is_not_taken_for_the_agent(tmp_path):
    file = an_agent(tmp_path / "mine")
    made = submission.command(f"/usr/bin/env python3 {file}", submitter="ada")
    assert held(made) == ["agent.py", "rules/one.txt"]


def test_a_command_of_no_file_has_no_folder():
    made = submission.command("sleep 1", submitter="ada")
    assert made.program.folder is None
    assert made.name == "sleep"


def test_a_program_of_ones_own_may_be_started_directly(tmp_path):
    file = an_agent(tmp_path / "mine")
    file.chmod(0o755)
    assert held(submission.command(str(file), submitter="ada")) == ["agent.py", "rules/one.txt"]


def test_the_agent_runs_from_a_copy_that_nobody_else_can_change_or_listen_in(tmp_path):
    file = an_agent(tmp_path / "mine")
    made = submission.command(f"python {file}", submitter="ada")
    file.write_text("print('another')")
    assert (made.program.folder / "agent.py").read_text() == "print('hello')\n"
    assert made.program.folder != tmp_path / "mine"
    assert made.program.folder.stat().st_mode & 0o022 == 0


@pytest.mark.parametrize("kind", ["pipe", "socket"])
def test_a_folder_with_a_socket_or_a_pipe_is_refused(tmp_path, monkeypatch, kind):
    file = an_agent(tmp_path / "mine")
    monkeypatch.chdir(tmp_path / "mine")
    if kind == "pipe":
        os.mkfifo("out")
    else:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind("out")
    with pytest.raises(Refused, match="holds out, a socket, pipe or device"):
        submission.command(f"python {file}", submitter="ada")


@pytest.mark.parametrize(("cap", "limit"), [("MAX_FILES", 2), ("MAX_BYTES", 40)])
def test_a_folder_is_refused_from_one_file_or_byte_too_many_on_and_folders_are_not_counted(
    tmp_path, monkeypatch, cap, limit
):
    file = an_agent(tmp_path / "mine", program="x" * (40 - len("look first")))
    (tmp_path / "mine" / "empty").mkdir()
    monkeypatch.setattr(submission, cap, limit)
    submission.command(f"python {file}", submitter="ada")
    (tmp_path / "mine" / "more.txt").write_text("!")
    with pytest.raises(Refused, match=r"mine holds more than .* files or .* MiB; leave in it only"):
        submission.command(f"python {file}", submitter="ada")


def test_packages_lie_beside_the_agents_files_and_are_digested_with_them(tmp_path):
    agent, packages = an_agent(tmp_path / "mine"), tmp_path / "site-packages"
    (packages / "tool").mkdir(parents=True)
    (packages / "tool" / "__init__.py").write_text("NAME = 1\n")
    alone = submission.command(f"python3 {agent}", submitter="me")
    made = submission.command(f"python3 {agent}", submitter="me", packages=packages)
    assert (made.program.folder / "site-packages" / "tool" / "__init__.py").read_text() == "NAME = 1\n"
    assert made.program.environment == {"PYTHONPATH": "/submission/site-packages"}
    assert made.digest != alone.digest
    (packages / "tool" / "__init__.py").write_text("NAME = 2\n")
    assert submission.command(f"python3 {agent}", submitter="me", packages=packages).digest != made.digest


def test_packages_that_cannot_lie_beside_an_agent_are_refused(tmp_path):
    agent, packages = an_agent(tmp_path / "mine"), tmp_path / "lib"
    with pytest.raises(NotFound, match="no folder of packages"):
        submission.command(f"python3 {agent}", submitter="me", packages=packages)
    packages.mkdir()
    with pytest.raises(Malformed, match="no file of its own"):
        submission.command("true", submitter="me", packages=packages)
    (agent.parent / "lib").touch()
    with pytest.raises(Refused, match="already holds lib"):
        submission.command(f"python3 {agent}", submitter="me", packages=packages)


def test_the_digest_is_the_same_wherever_the_folder_lies(tmp_path):
    here = submission.command(f"python {an_agent(tmp_path / 'a' / 'mine')}", submitter="ada")
    there = submission.command(f"python {an_agent(tmp_path / 'b' / 'mine')}", submitter="bob")
    assert here.digest == there.digest


@pytest.mark.parametrize("change", ["content", "name", "new file", "argument", "boundary", "link"])
def test_any_change_is_another_submission(tmp_path, change):
    file = an_agent(tmp_path / "mine")
    before = submission.command(f"python {file}", submitter="ada").digest
    line = f"python {file}"
    if change == "content":
        file.write_text("print('other')\n")
    elif change == "name":
        (file.parent / "rules" / "one.txt").rename(file.parent / "rules" / "two.txt")
    elif change == "new file":
        (file.parent / "empty").touch()
    elif change == "argument":
        line += " --fast"
    elif change == "boundary":  # the same bytes in a row, cut elsewhere
        (file.parent / "rules" / "one.txt").rename(file.parent / "rules" / "one.txtlook")
        (file.parent / "rules" / "one.txtlook").write_text(" first")
    else:
        (file.parent / "link").symlink_to("/etc/hostname")
    assert submission.command(line, submitter="ada").digest != before


def test_a_link_is_digested_as_a_link_and_never_followed(tmp_path):
    file = an_agent(tmp_path / "mine")
    secret = tmp_path / "secret"
    secret.write_text("one")
    (file.parent / "link").symlink_to(secret)
    before = submission.command(f"python {file}", submitter="ada").digest
    secret.write_text("two")
    assert submission.command(f"python {file}", submitter="ada").digest == before


def test_a_folder_that_holds_a_home_is_never_given_to_an_agent(tmp_path):
    file = an_agent(tmp_path / "home")
    (file.parent / "quarterturn.toml").touch()
    with pytest.raises(Refused, match="with its keys"):
        submission.command(f"python {file}", submitter="ada")


def test_a_program_lying_in_the_users_own_folder_is_refused(tmp_path, monkeypatch):
    file = an_agent(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(Refused, match="a folder of their own"):
        submission.command(f"python {file}", submitter="ada")


@pytest.mark.parametrize(("line", "error"), [("", Malformed), ("python 'open", Malformed), ("./gone.sh", NotFound)])
def test_a_command_that_cannot_be_is_refused_in_a_sentence(line, error):
    with pytest.raises(error, match="the agent's"):
        submission.command(line, submitter="ada")


def test_an_image_is_bound_by_the_digest_that_the_engine_gives():
    made = submission.image("registry.invalid:5000/team/my_agent:v2", submitter="ada", resolve=lambda _: DIGEST)
    assert (made.kind, made.name, made.digest) == ("image", "my-agent", DIGEST)
    assert made.program.image == DIGEST  # the name may mean something else by the time that it runs


def test_an_image_that_is_named_by_a_registrys_digest_is_looked_up_below_its_name():
    named = f"registry.invalid/team/agent@{DIGEST}"
    made = submission.image(named, submitter="ada", resolve=lambda reference: reference.digest)
    assert (made.digest, made.program.image) == (DIGEST, named)


@pytest.mark.parametrize("reference", ["", "--privileged", "a b"])
def test_a_reference_that_an_engine_could_take_for_an_option_is_no_image(reference):
    with pytest.raises(Malformed, match="not the name of an image"):
        submission.image(reference, submitter="ada", resolve=lambda _: DIGEST)


def test_an_engine_that_gives_no_digest_is_not_believed():
    with pytest.raises(Malformed, match="64 hexadecimal digits"):
        submission.image("agent", submitter="ada", resolve=lambda _: "latest")


@pytest.mark.parametrize("submitter", ["", "Ada", "a b", "-a", "a" * 41, "a\n"])
def test_a_pseudonym_must_be_able_to_stand_in_a_statement(submitter):
    with pytest.raises(Malformed, match="submitter"):
        submission.command("sleep 1", submitter=submitter)


def test_the_reference_agent_cannot_be_submitted(tmp_path):
    oracle = submission.reference(f"python {an_agent(tmp_path / 'oracle')}")
    assert (oracle.kind, oracle.submitter) == ("reference", "reference")
    with pytest.raises(Refused, match="handed the solutions"):
        submission.must_be_submittable(oracle)
    submission.must_be_submittable(submission.command("sleep 1", submitter="ada"))


def test_an_endpoint_is_its_url_in_its_one_form_and_has_no_program_of_ours():
    made = submission.endpoint(parse("https://Agent.Example.org:443/tasks"), submitter="me")
    assert (made.kind, made.name, made.program, made.submittable) == ("endpoint", "agent-example-org", Program(), True)
    same = submission.endpoint(parse("https://agent.example.org/tasks"), submitter="you", name="other")
    another = submission.endpoint(parse("https://agent.example.org/other"), submitter="me")
    assert made.digest == same.digest != another.digest
