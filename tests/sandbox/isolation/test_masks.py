"""Tests of the masked paths of /proc; the attempt `machine-state` reads them from inside a box."""

from pathlib import Path

import pytest

from sandbox.boxes.box import ResourceLimits
from sandbox.boxes.bwrap.bwrap import Walls
from sandbox.isolation.masks import OWN, masks, stand_ins
from sandbox.isolation.program_copies import Copy

CPUINFO = (
    "processor\t: 0\nmodel name\t: Some Processor\ncpu MHz\t\t: 2445.404\nbogomips\t: 4890.80\nflags\t\t: fpu avx2\n\n"
)


@pytest.fixture
def proc(tmp_path):
    """Make the /proc of a kernel that is newer than this list."""
    for name in ("cpuinfo", "meminfo", "loadavg", "stat", "uptime", "vmstat", "tomorrow"):
        (tmp_path / name).write_text(CPUINFO)
    for name in ("sys", "pressure", "next-year", "1", "4711", "self", "thread-self"):
        (tmp_path / name).mkdir()
    (tmp_path / "net").symlink_to("self/net")
    (tmp_path / "mounts").symlink_to("self/mounts")
    return tmp_path


def test_everything_but_the_places_processes_is_covered_under_any_name(proc):
    covered = masks(1 << 29, proc)
    assert covered.files == ("/proc/tomorrow", "/proc/vmstat")
    assert covered.folders == ("/proc/next-year", "/proc/pressure", "/proc/sys")
    assert len(covered.stand_ins) == 5


def test_the_files_that_stand_in_say_nothing_that_changes():
    said = stand_ins(512 << 20, CPUINFO, [0, 1])
    assert said == stand_ins(512 << 20, CPUINFO.replace("2445.404", "1200.000"), [0, 1])
    assert "Some Processor" in said["/proc/cpuinfo"]
    assert "fpu avx2" in said["/proc/cpuinfo"]
    assert "MemTotal:         524288 kB\n" in said["/proc/meminfo"]
    assert said["/proc/stat"].count("cpu") == 3


def test_every_place_has_them():
    kernels = {f"/proc/{entry.name}" for entry in Path("/proc").iterdir() if not entry.name.isdigit()}
    expected = kernels - {f"/proc/{name}" for name in OWN}
    for uid, paths in ((65532, expected), (65533, set()), (65534, expected)):
        walls = Walls(Copy(Path("/"), ()), uid=uid, tmpfs=0, network=True)
        try:
            walls.command(["/bin/true"], ResourceLimits(), None)
            covered = {word for word in walls.words if word.startswith("/proc/")}
        finally:
            walls.close()
        assert covered == paths
