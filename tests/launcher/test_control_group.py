"""Tests of the launcher's control group, as each version of the kernel's interface reports it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from launcher import control_group
from launcher.control_group import group_of


@pytest.mark.parametrize(
    ("membership", "unified", "group"),
    [
        ("4:memory:/m/1\n3:cpuset:/\n2:cpu,cpuacct:/limited\n0::/\n", False, "/limited"),
        ("4:memory:/m/1\n2:cpuacct:/counted\n1:cpu:/\n0::/\n", False, "/counted"),
        ("4:memory:/m/1\n2:cpuacct:/\n1:cpu:/\n0::/u\n", False, "/m/1"),
        ("0::/user.slice/session-1.scope\n", True, "/user.slice/session-1.scope"),
        ("0::/with:colon\n", True, "/with:colon"),
        ("0::/\n", True, "/"),
        ("2:cpu:/\n", False, "/"),
        ("", False, "/"),
    ],
)
def test_the_group_is_that_whose_processor_time_is_counted(membership: str, unified: bool, group: str) -> None:
    assert group_of(membership, unified=unified) == group


@pytest.fixture
def unified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the group of a unified hierarchy, as far as plain files can stand for it."""
    monkeypatch.setattr(control_group, "MOUNTED", tmp_path)
    monkeypatch.setattr(control_group, "MEMBERSHIP", tmp_path / "self")
    (tmp_path / "self").write_text("0::/ours\n")
    (tmp_path / "ours").mkdir()
    for folder in (tmp_path, tmp_path / "ours"):
        (folder / "cgroup.controllers").write_text("cpu io memory hugetlb\n")
    return tmp_path / "ours"


def test_in_version_two_the_launcher_steps_aside_while_the_engine_runs(unified: Path) -> None:
    with control_group.own() as options:
        assert options == ("--exec-opt", "native.cgroupdriver=cgroupfs", "--cgroup-parent", "/ours")
        assert (unified / control_group.LEAF / "cgroup.procs").read_text() == str(os.getpid())
        assert (unified / "cgroup.subtree_control").read_text() == "+cpu +memory +io"
    assert (unified / "cgroup.procs").read_text() == str(os.getpid())


def test_a_group_that_hands_nothing_on_is_said_and_containers_stay_outside(
    unified: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (unified / "cgroup.subtree_control").mkdir()
    with control_group.own() as options:
        assert options == ()
    assert "containers are outside of the control group" in capsys.readouterr().err
    assert (unified / "cgroup.procs").read_text() == str(os.getpid())
