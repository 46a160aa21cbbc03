"""Tests of choosing a box: the official one where it answers, else the other, else one sentence on what each lacks."""

from datetime import UTC, datetime
from functools import partialmethod
from types import SimpleNamespace

import pytest
from sqlalchemy import create_engine, text

from quarterturn import boxes
from quarterturn.app import Application
from quarterturn.boxes import choose_box
from quarterturn.cli.setup import doctor_checks
from quarterturn.errors import Unavailable
from sandbox.boxes.bwrap.box import BwrapBox
from sandbox.boxes.docker.box import DockerBox
from sandbox.errors import NotFound, Refused
from sandbox.errors import Unavailable as NoBox
from sandbox.isolation import namespaces
from sandbox.judge import JUDGING


class Stub:
    def __init__(self, name, lacks=None):
        self.name, self.lacks = name, lacks

    def check(self):
        if self.lacks:
            raise self.lacks


@pytest.fixture
def there(monkeypatch):
    def put(docker=None, bwrap=None):
        stubs = {"docker": lambda **_: Stub("docker", docker), "bwrap": lambda **_: Stub("bwrap", bwrap)}
        monkeypatch.setattr(boxes, "BOXES", stubs)
        monkeypatch.setattr(doctor_checks, "BOXES", boxes.BOXES)

    return put


def test_the_official_box_comes_first_and_bubblewrap_where_no_engine_answers(there):
    there()
    assert [choose_box(name).name for name in ("auto", "bwrap")] == ["docker", "bwrap"]
    there(docker=NoBox("no engine"))
    assert choose_box("auto").name == "bwrap"
    with pytest.raises(Unavailable, match=r"^no engine$"):
        choose_box("docker")  # a box that was named is not replaced by another
    there(docker=NoBox("no engine"), bwrap=NoBox("no bwrap"))
    with pytest.raises(Unavailable, match=r"^no engine; no bwrap$"):
        choose_box("auto")


def test_a_runtime_is_the_docker_boxs_own(monkeypatch):
    monkeypatch.setattr(DockerBox, "check", lambda self: None)
    assert choose_box("docker", "runsc").runtime == "runsc"
    assert choose_box("docker").runtime is None
    monkeypatch.setattr(BwrapBox, "check", lambda self: None)
    assert choose_box("bwrap", "runsc").name == "bwrap"


def test_a_box_that_is_broken_is_not_passed_over(there):
    there(docker=Refused("the image is for another machine"))
    with pytest.raises(Refused):
        choose_box("auto")


def test_an_engine_without_images_is_told_to_build_them(monkeypatch):
    class Box:
        def check(self):
            raise NoBox("the engine has no image x") from NotFound("x")

    monkeypatch.setitem(boxes.BOXES, "docker", Box)
    assert doctor_checks._box("docker", "nothing is official", "start an engine").mend == "./run images"


# -- doctor -----------------------------------------------------------------------------------------------------------


def test_the_doctor_says_what_is_there_and_what_works_without_it(there, say, home, monkeypatch):
    there(docker=NoBox("no engine"))
    before = partialmethod(Application.__init__, now=lambda: datetime(2026, 11, 15, tzinfo=UTC))
    monkeypatch.setattr(Application, "__init__", before)  # no turn is near
    said = say("doctor", "--home", home, "--json")
    assert said.code == 0
    assert {name: found["ok"] for name, found in said.data.items()} == {
        "system": True,
        "python": True,
        "git": True,
        "bwrap box": True,
        "docker box": False,
        "judging": True,
        "rooms": True,
        "home": True,
        "keys": False,  # nothing but its mode protects the ring
        "witnesses": False,
        "approvals": False,
        "clock": True,
        "public view": True,
    }
    assert {name for name, found in said.data.items() if found["level"] == "advice"} == {
        name for name, found in said.data.items() if not found["ok"]
    }
    assert said.data["docker box"] == {
        "ok": False,
        "level": "advice",
        "detail": "no engine (without it, images cannot be run, and no score can be official)",
        "mend": "start a Docker engine",
    }


def test_each_line_of_the_doctor_that_is_not_ok_says_what_mends_it(there, say, home):
    there(docker=NoBox("no engine"))
    lines = {line[8:19].strip(): line for line in say("doctor", "--home", home).out.splitlines()}
    assert {line.split()[0] for line in lines.values()} == {"ok", "advice"}
    assert all(("To mend it: " in line) == line.startswith("advice") for line in lines.values())
    for name, mend in (
        ("keys", f"quarterturn keys add passphrase --as NAME --home {home}"),
        ("witnesses", f"ledger.policy in {home}/quarterturn.toml"),
        ("approvals", f"approvals.actions in {home}/quarterturn.toml"),
    ):
        assert f"To mend it: {mend}" in lines[name]


def test_the_doctor_says_what_a_reader_of_states_can_reach(there, say, tmp_path, monkeypatch):
    there()
    for reach, said in ([], "reaches neither files nor networks"), (["files"], "keeps files from it"):
        monkeypatch.setattr(JUDGING, "in_reach", lambda reach=reach: reach)
        assert said in say("doctor", "--home", tmp_path / "none", "--json").data["judging"]["detail"]


@pytest.mark.parametrize(
    ("machine", "level", "said"),
    [
        (("Linux", "x86_64", "debian", "12"), "ok", "on x86_64, as tested"),
        (("Linux", "x86_64", "ubuntu", "24.04"), "ok", "on x86_64; tested on Debian 12, and the demo on Debian 13"),
        (("Linux", "aarch64", "debian", "12"), "advice", "on aarch64; tested on x86-64 alone"),
        (("Darwin", "arm64", "", ""), "wrong", "Darwin on arm64; it runs on Linux alone"),
    ],
)
def test_the_doctor_says_what_is_tested(machine, level, said, monkeypatch):
    kind, architecture, system, version = machine
    monkeypatch.setattr("platform.uname", lambda: SimpleNamespace(system=kind))
    monkeypatch.setattr("platform.machine", lambda: architecture)
    monkeypatch.setattr("platform.freedesktop_os_release", lambda: {"ID": system, "VERSION_ID": version})
    found = doctor_checks._system()
    assert (found.level, said in found.detail) == (level, True), found


@pytest.mark.parametrize(
    ("switch", "command"),
    [
        ("kernel.apparmor_restrict_unprivileged_userns=1", "sudo sysctl -w {}=0"),
        ("user.max_user_namespaces=0", "sudo sysctl -w {}=15000"),
        (
            "user.max_user_namespaces=9",
            f"in a container, run as an ordinary user, and start the container with {namespaces.IN_DOCKER}",
        ),
    ],
)
def test_a_box_without_user_namespaces_is_mended_by_one_command(switch, command, there, tmp_path, monkeypatch):
    name, value = switch.split("=")
    file, command = tmp_path / name.replace(".", "/"), command.format(name)
    file.parent.mkdir()
    file.write_text(f"{value}\n")
    monkeypatch.setattr(namespaces, "SWITCHES", tmp_path)
    assert namespaces.how_to_allow() == command
    there(bwrap=NoBox(f"bwrap cannot make user namespaces here: {command}"))
    assert doctor_checks._box("bwrap", "no agents", "apt-get install bubblewrap").mend == command


def test_without_a_box_the_doctor_says_six(there, say, tmp_path):
    there(docker=NoBox("no engine"), bwrap=NoBox("no bwrap"))
    said = say("doctor", "--home", tmp_path / "none", "--json")
    assert (said.code, said.object["ok"]) == (6, False)
    assert {name for name, found in said.data.items() if found["level"] == "wrong"} == {"bwrap box", "docker box"}
    assert "make one with `quarterturn init" in said.data["home"]["detail"]
    assert said.data["home"]["mend"] == f"quarterturn init --home {tmp_path / 'none'}"


def test_a_broken_home_is_a_finding_and_not_the_doctors_end(there, say, home):
    there()
    (home / "quarterturn.toml").write_text("[rum]\n")
    said = say("doctor", "--home", home, "--json")
    assert said.code == 6
    assert (said.data["home"]["ok"], said.data["home"]["level"]) == (False, "wrong")
    assert said.data["home"]["mend"] == f"correct {home}/quarterturn.toml"
    assert "'benchmark' is missing" in said.data["home"]["detail"]


def test_doctor_says_how_a_lost_database_and_a_newer_one_are_mended(there, say, home):
    there()
    engine = create_engine(f"sqlite:///{home}/quarterturn.db")
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = 'newer'"))
    engine.dispose()
    assert "the version of quarterturn" in say("doctor", "--home", home, "--json").data["home"]["mend"]
    for left in home.glob("quarterturn.db*"):
        left.unlink()
    assert "quarterturn restore BACKUP" in say("doctor", "--home", home, "--json").data["home"]["mend"]


def test_controls_without_an_attack_are_a_usage_error(there, say):
    there()
    assert say("doctor", "--with-controls").code == 2


@pytest.mark.slow
@pytest.mark.parametrize("words", [["run", "--as", "me", "--agent", "true"], ["demo"]], ids=" ".join)
def test_a_machine_without_any_box_is_six_in_one_sentence(words, say, tmp_path, monkeypatch):
    """Without an engine and without bwrap nothing is run, and the message says what to install."""
    for name, value in {"PATH": tmp_path, "HOME": tmp_path, "DOCKER_HOST": f"unix://{tmp_path}/none.sock"}.items():
        monkeypatch.setenv(name, str(value))
    said = say(*words, "--home", tmp_path / "home", "--json")
    assert said.code == 6, said.err
    assert said.object["ok"] is False
    assert "bubblewrap" in said.out
    assert "Traceback" not in said.err
    assert not list(tmp_path.iterdir())
