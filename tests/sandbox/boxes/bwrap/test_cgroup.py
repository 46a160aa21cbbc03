"""Tests of the bwrap box's control groups: caps written, processes killed, and dead runners' groups removed."""

import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.boxes.box import ResourceLimits
from sandbox.boxes.bwrap import cgroup

from ....patience import PATIENCE, until

root = pytest.mark.needs("root")  # only root makes control groups


@pytest.fixture
def group():
    made = cgroup.make(ResourceLimits(memory=64 << 20, pids=7, cpus=0.5))
    assert made is not None, "root can write control groups"
    yield made
    made.kill()
    made.remove()
    assert not any(folder.exists() for folder in made.folders)


def value(group, *names):
    return next((folder / name).read_text() for folder in group.folders for name in names if (folder / name).exists())


@root
def test_the_caps_are_written(group):
    assert int(value(group, "memory.limit_in_bytes", "memory.max")) == 64 << 20
    assert int(value(group, "pids.max")) == 7
    assert not group.out_of_memory()


@root
def test_joined_processes_can_be_killed(group):
    script = f"for door in {' '.join(group.doors)}; do echo 0 > $door; done; exec sleep 600"
    process = subprocess.Popen(["/bin/sh", "-c", script])
    try:
        until(lambda: str(process.pid) in value(group, "cgroup.procs").split(), "the process in its group")
        group.kill()
        assert process.wait(PATIENCE) == -9
    finally:
        process.kill()


@root
def test_a_kill_for_memory_is_a_fact(group):
    script = f'for door in {" ".join(group.doors)}; do echo 0 > $door; done; exec "$@"'
    eat = [sys.executable, "-c", "x = [b'x' * (1 << 20) for _ in range(1000)]"]
    assert subprocess.run(["/bin/sh", "-c", script, "sh", *eat], check=False).returncode == -9
    assert group.out_of_memory()


@root
def test_groups_of_dead_runners_are_removed_and_ours_are_not(group):
    process = subprocess.Popen(["/bin/true"])
    process.wait()
    left = [folder.with_name(f"{cgroup.PREFIX}{process.pid}-0") for folder in group.folders]
    for folder in left:
        folder.mkdir()
    cgroup.reap()
    assert not any(folder.exists() for folder in left)
    assert all(folder.exists() for folder in group.folders)


def test_version_2_files_are_written_where_they_are(tmp_path):
    for name in ("memory.max", "memory.swap.max", "cpu.max", "pids.max"):
        (tmp_path / name).write_text("max")
    cgroup._limit(tmp_path, ResourceLimits(memory=5, pids=6, cpus=1.5))
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        "memory.max": "5",
        "memory.swap.max": "0",
        "cpu.max": "150000 100000",
        "pids.max": "6",
    }


def test_a_version_2_count_of_kills_is_read(tmp_path: Path):
    (tmp_path / "memory.events").write_text("low 0\nhigh 0\nmax 4\noom 1\noom_kill 0\n")
    assert not cgroup.Group((tmp_path,)).out_of_memory()
    (tmp_path / "memory.events").write_text("low 0\nhigh 0\nmax 4\noom 1\noom_kill 1\n")
    assert cgroup.Group((tmp_path,)).out_of_memory()


def test_a_number_that_is_somebody_elses_by_now_is_left_alone():
    with subprocess.Popen(["/bin/sleep", "600"]) as process:
        cgroup.kill(process.pid, lambda number: number != process.pid)
        assert process.poll() is None
        cgroup.kill(process.pid, lambda number: number == process.pid)
        assert process.wait(PATIENCE) == -9
    with pytest.raises(OSError, match="No such process"):
        cgroup.kill(process.pid, lambda _: True)
