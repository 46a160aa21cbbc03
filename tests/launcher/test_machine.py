"""Tests of the machine's requirements: reported in one line or installed, and an engine that the launcher may stop."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from launcher import control_group, engine
from quarterturn.launcher import machine
from quarterturn.launcher.steps import Stop

from ..patience import PATIENCE, until

REFRESH = machine.refresh


def put(folder: Path, name: str, script: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder that is the whole path: the programs that a test puts there, and the shell's few."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(machine, "SBIN", ())
    monkeypatch.setattr(engine, "PID_FILE", tmp_path / "docker.pid")
    monkeypatch.setattr(machine, "refresh", lambda: None)
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    for program in machine.FOR_THE_TESTS:
        if program != "docker" and not program.startswith("/"):
            put(folder, program, "exit 0")
    return folder


@pytest.fixture
def engine_of_sorts(bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a stub `dockerd` that is up once it has written its process id, and a stub `docker` that checks that."""
    up = tmp_path / "up"
    put(bare, "docker", f"[ -s {up} ] && kill -0 $(/bin/cat {up}) && echo 20.10")
    put(bare, "dockerd", f"echo $* >{up}.options\necho $$ >{up}\nexec /bin/sleep 600")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return up


def test_an_ordinary_users_missing_packages_are_named_in_one_line(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    (bare / "bwrap").unlink()
    (bare / "git").unlink()
    with pytest.raises(Stop) as stop:
        machine.need(machine.FOR_THE_DEMO, "the demo")
    assert str(stop.value) == ("the demo needs bubblewrap and git; on Debian, as root: apt-get install bubblewrap git")
    assert stop.value.code == 6


def test_root_on_debian_has_it_installed(bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    (bare / "bwrap").unlink()
    put(bare, "apt-get", f'echo "$DEBIAN_FRONTEND $*" >>{tmp_path}/asked')
    machine.need(machine.FOR_THE_DEMO, "the demo")
    asked = (tmp_path / "asked").read_text()
    assert asked == "noninteractive install -q -y --no-install-recommends bubblewrap\n"


def test_package_lists_are_refreshed_once(bare: Path, tmp_path: Path) -> None:
    put(bare, "apt-get", f'echo "$DEBIAN_FRONTEND $*" >>{tmp_path}/asked')
    REFRESH.cache_clear()
    REFRESH()
    REFRESH()
    assert (tmp_path / "asked").read_text() == "noninteractive update -q\n"


def test_one_package_that_cannot_be_had_stops_no_other(
    bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    (bare / "git").unlink()
    (bare / "bwrap").unlink()
    put(bare, "apt-get", f'case "$*" in *git*) exit 100;; *bubblewrap) /bin/ln -s /bin/true {bare}/bwrap;; esac')
    with pytest.raises(Stop, match="installing bubblewrap git failed"):
        machine.need_all(machine.FOR_THE_DEMO, "testing")
    assert machine.missing(machine.FOR_THE_DEMO) == ["git"]


def test_a_failed_install_is_told_in_apts_own_words(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    (bare / "git").unlink()
    put(bare, "apt-get", "echo E: no such mirror >&2; exit 100")
    with pytest.raises(Stop, match="ended with status 100 and said:\nE: no such mirror"):
        machine.need(machine.FOR_THE_DEMO, "the demo")


def test_installed_packages_are_not_requested(bare: Path) -> None:
    machine.need(machine.FOR_THE_DEMO, "the demo")


def test_an_engine_that_answers_is_left_alone(bare: Path) -> None:
    put(bare, "docker", "echo 20.10")
    put(bare, "dockerd", "exit 99")
    with engine.provide():
        assert engine.answers()


def test_an_engine_that_we_start_is_stopped_by_its_process_id(engine_of_sorts: Path) -> None:
    with engine.provide():
        daemon = int(engine_of_sorts.read_text())
        os.kill(daemon, 0)
    with pytest.raises(ProcessLookupError):
        os.kill(daemon, 0)


def test_it_is_stopped_also_when_the_tests_are_interrupted(engine_of_sorts: Path) -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell in the background has it ignored
    with pytest.raises(KeyboardInterrupt), engine.provide():
        signal.raise_signal(signal.SIGINT)
    signal.signal(signal.SIGINT, before)
    with pytest.raises(ProcessLookupError):
        os.kill(int(engine_of_sorts.read_text()), 0)


def test_an_engine_that_does_not_come_up_is_told_in_its_own_words(engine_of_sorts: Path, bare: Path) -> None:
    put(bare, "dockerd", "echo failed to mount overlay; exit 1")
    with pytest.raises(Stop, match=r"did not come up .*\nfailed to mount"), engine.provide():
        pytest.fail("there is no engine")


def test_an_engine_that_is_closing_is_waited_for(
    engine_of_sorts: Path, bare: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    earlier = bare.parent / "dockerd"  # the kernel takes a process' name from its program's
    shutil.copy2("/bin/sleep", earlier)
    with subprocess.Popen([earlier, "600"]) as closing:
        engine.PID_FILE.write_text(str(closing.pid))
        ended: list[bool] = []

        def close() -> None:
            until(lambda: "waiting for the dockerd of an earlier run" in capsys.readouterr().err, "the wait to be told")
            ended.append(engine_of_sorts.exists())
            closing.terminate()
            closing.wait()
            engine.PID_FILE.unlink()

        with ThreadPoolExecutor(1) as pool:
            closed = pool.submit(close)
            with engine.provide():
                assert engine.answers()
            closed.result(PATIENCE)
        assert ended == [False], "the next engine started while the earlier one lived"


def test_a_process_id_that_no_engine_has_is_removed(engine_of_sorts: Path) -> None:
    engine.PID_FILE.write_text(str(os.getpid()))
    with engine.provide():
        assert not engine.PID_FILE.exists()


def test_containers_run_below_the_launchers_own_control_group(
    engine_of_sorts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cgroup").write_text("4:memory:/m\n2:cpuacct,cpu:/limited/here\n0::/\n")
    monkeypatch.setattr(control_group, "MEMBERSHIP", tmp_path / "cgroup")
    monkeypatch.setattr(control_group, "MOUNTED", tmp_path)
    with engine.provide():
        assert Path(f"{engine_of_sorts}.options").read_text() == "--cgroup-parent /limited/here\n"


def test_an_ordinary_user_is_told_to_start_one(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(bare, "docker", "exit 1")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(Stop, match="no Docker engine answers: start one"), engine.provide():
        pytest.fail("there is no engine")


def test_the_programs_of_the_newest_postgresql_are_found_off_the_path(
    bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "POSTGRES", str(tmp_path / "postgresql"))
    for version in ("9.6", "15", "17"):
        folder = tmp_path / "postgresql" / version / "bin"
        folder.mkdir(parents=True)
        put(folder, "initdb", "exit 0")
    assert machine.find("initdb") == str(tmp_path / "postgresql" / "17" / "bin" / "initdb")


def test_a_postgresql_that_is_installed_here_makes_no_cluster_of_its_own(
    bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(machine, "POSTGRES", str(tmp_path / "none"))
    monkeypatch.setattr(machine, "NO_CLUSTER", tmp_path / "etc" / "no.conf")
    put(bare, "apt-get", f"test -s {tmp_path}/etc/no.conf && echo $* >>{tmp_path}/asked")
    machine.need(machine.FOR_WORLDS, "a world with databases")
    assert (tmp_path / "etc" / "no.conf").read_text() == "create_main_cluster = false\n"
    assert (tmp_path / "asked").read_text().splitlines()[-1].endswith("dovecot-imapd postgresql redis-tools")


def test_a_file_that_is_no_program_is_found_by_its_path(tmp_path: Path) -> None:
    (tmp_path / "unistd.h").write_text("")
    assert machine.missing({f"{tmp_path}/unistd.h": "headers", f"{tmp_path}/gone.h": "others"}) == ["others"]
