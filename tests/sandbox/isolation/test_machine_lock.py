"""Tests of the machine lock: runs of one class share the machine, those of another class wait."""

import threading

import pytest

from sandbox import runner_identity
from sandbox.errors import NotAllowed, Unavailable
from sandbox.isolation import machine_lock

from ...patience import PATIENCE, until


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(machine_lock, "LOOK_SECONDS", 0.001)


def never():
    raise AssertionError("it had to wait")


def test_runs_of_one_class_are_played_together(tmp_path):
    with machine_lock.playing("sealed", never, tmp_path), machine_lock.playing("sealed", never, tmp_path):
        pass
    with machine_lock.playing("open", never, tmp_path):
        pass


@pytest.mark.parametrize(("runs", "other"), [("sealed", "open"), ("open", "sealed"), ("sealed", "unofficial")])
def test_nobody_of_another_class_comes_in_before_the_last_has_left(tmp_path, runs, other):
    with (
        machine_lock.playing(runs, never, tmp_path),
        pytest.raises(NotAllowed, match="runs of another class"),
        machine_lock.playing(other, lambda: True, tmp_path),
    ):
        never()
    with machine_lock.playing(other, never, tmp_path):
        pass


def test_a_run_waiting_for_another_class_is_next(tmp_path):
    order, asked, inside = [], threading.Event(), threading.Event()

    def waiting():
        asked.set()
        return False

    def wait_for_it():
        with machine_lock.playing("open", waiting, tmp_path):
            order.append("open")
            inside.set()

    thread = threading.Thread(target=wait_for_it)
    with machine_lock.playing("sealed", never, tmp_path):
        thread.start()
        assert asked.wait(PATIENCE)
        with pytest.raises(NotAllowed), machine_lock.playing("sealed", lambda: True, tmp_path):
            never()  # of the class that runs, but behind somebody who waits
    assert inside.wait(PATIENCE)
    thread.join(PATIENCE)
    with machine_lock.playing("sealed", never, tmp_path):
        order.append("sealed")
    assert order == ["open", "sealed"]


def test_who_has_waited_as_long_as_may_lets_the_others_begin_again(tmp_path, monkeypatch):
    monkeypatch.setattr(machine_lock, "MAX_WAIT_SECONDS", 0.0)
    with machine_lock.playing("sealed", never, tmp_path):
        with (
            pytest.raises(Unavailable, match="try again later"),
            machine_lock.playing("open", lambda: False, tmp_path),
        ):
            never()
        with machine_lock.playing("sealed", never, tmp_path):
            pass


def test_tests_of_two_processes_do_not_wait_for_each_other():
    folder = machine_lock.shared_folder()
    assert (folder.name, folder == runner_identity.shared_folder()) == ("machine-lock0", False)


def test_a_lock_that_is_no_file_of_ours_is_named(tmp_path):
    (tmp_path / "target").touch()
    for path in ("gate", "runs"):
        (tmp_path / f"quarterturn-{machine_lock.os.geteuid()}.{path}").symlink_to(tmp_path / "target")
    with (
        pytest.raises(Unavailable, match=r"the lock .*gate cannot be opened"),
        machine_lock.playing("open", never, tmp_path),
    ):
        never()


def test_a_wait_for_the_lock_is_reported(tmp_path, caplog):
    caplog.set_level("INFO")
    asked = []

    def twice():
        asked.append(1)
        return len(asked) > 1

    with (
        machine_lock.playing("open", never, tmp_path),
        pytest.raises(NotAllowed),
        machine_lock.playing("sealed", twice, tmp_path),
    ):
        never()
    until(lambda: "waiting until runs of another class have ended" in caplog.text, "the line")
