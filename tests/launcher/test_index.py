"""Tests of choosing a file from a package index: which one fits this machine, and which are refused."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from quarterturn.launcher.package_index import Link, Machine, Pin, checked, choose, links
from quarterturn.launcher.steps import Stop

GLIBC = Machine("linux", "x86_64", ("glibc", "2.36"))
OFFERED = [
    Link("https://files.test/uv-0.13.8.tar.gz"),
    Link("https://files.test/uv-0.13.7-py3-none-manylinux_2_17_x86_64.whl"),
    Link("https://files.test/uv-0.13.8-py3-none-macosx_11_0_arm64.whl"),
    Link("https://files.test/uv-0.13.8-py3-none-manylinux_2_28_aarch64.whl"),
    Link("https://files.test/uv-0.13.8-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.whl"),
    Link("https://files.test/uv-0.13.8-py3-none-musllinux_1_1_x86_64.whl"),
    Link("https://files.test/uv_build-0.13.8-py3-none-manylinux_2_17_x86_64.whl"),
]
PIN = Pin("uv", "0.13.8", frozenset({hashlib.sha256(b"a wheel").hexdigest()}))


def test_links_are_resolved_against_the_page_and_keep_the_claimed_digest() -> None:
    page = """<!DOCTYPE html><html><body>
    <a href="../../packages/ab/uv-1.0-py3-none-any.whl#sha256=00ff" data-requires-python="&gt;=3.8">uv-1.0</a>
    <a href="https://other.test/uv%2B-1.0.whl#md5=11">x</a><a name="no link">y</a>
    <A HREF='/root.whl?a=1&amp;b=2'>z</A>"""
    found = links(page, "https://index.test/simple/uv/")
    assert found == [
        Link("https://index.test/packages/ab/uv-1.0-py3-none-any.whl", "00ff"),
        Link("https://other.test/uv%2B-1.0.whl", None),
        Link("https://index.test/root.whl?a=1&b=2", None),
    ]
    assert found[1].filename == "uv+-1.0.whl"


def test_a_page_may_name_its_own_base() -> None:
    page = '<base href="https://mirror.test/files/"><a href="uv-1.0.whl">uv</a>'
    assert links(page, "https://index.test/simple/uv/") == [Link("https://mirror.test/files/uv-1.0.whl")]


@pytest.mark.parametrize(
    ("machine", "ending"),
    [
        (GLIBC, "manylinux2014_x86_64.whl"),
        (Machine("linux", "aarch64", ("glibc", "2.28")), "manylinux_2_28_aarch64.whl"),
        (Machine("linux", "x86_64", ("", "")), "musllinux_1_1_x86_64.whl"),
        (Machine("darwin", "arm64"), "macosx_11_0_arm64.whl"),
    ],
)
def test_a_machine_gets_the_wheel_that_runs_on_it(machine: Machine, ending: str) -> None:
    chosen = choose(OFFERED, PIN, machine)
    assert chosen is not None
    assert chosen.filename.startswith("uv-0.13.8-")
    assert chosen.filename.endswith(ending)


@pytest.mark.parametrize(
    "machine",
    [
        Machine("linux", "aarch64", ("glibc", "2.17")),  # older than the wheel wants
        Machine("linux", "riscv64", ("glibc", "2.36")),
        Machine("win32", "AMD64"),
        Machine("linux", "x86_64", ("glibc", "")),
    ],
)
def test_a_machine_that_no_wheel_suits_gets_none(machine: Machine) -> None:
    assert choose(OFFERED, PIN, machine) is None


def test_a_file_on_which_page_and_lock_agree_is_taken() -> None:
    assert checked(b"a wheel", Link("https://files.test/uv.whl", next(iter(PIN.digests))), PIN) == b"a wheel"
    assert checked(b"a wheel", Link("https://files.test/uv.whl"), PIN) == b"a wheel"


def test_a_file_that_differs_from_its_page_is_refused() -> None:
    with pytest.raises(Stop, match=r"uv\.whl was changed on the way: its page says sha256 00ff"):
        checked(b"a wheel", Link("https://files.test/uv.whl", "00ff"), PIN)


def test_a_file_that_the_lock_does_not_pin_is_refused_whatever_its_page_says() -> None:
    claimed = hashlib.sha256(b"another wheel").hexdigest()
    with pytest.raises(Stop, match=f"not a file that the lock pins .its sha256 is {claimed}"):
        checked(b"another wheel", Link("https://files.test/uv.whl", claimed), PIN)


def test_a_pin_is_read_from_its_lock(tmp_path: Path) -> None:
    lock = tmp_path / "installer.txt"
    lock.write_text(
        f"uv==0.13.8 ; sys_platform != 'x' \\\n    --hash=sha256:{'a' * 64} \\\n    --hash=sha256:{'b' * 64}\n"
    )
    assert Pin.read(lock) == Pin("uv", "0.13.8", frozenset({"a" * 64, "b" * 64}))


def test_a_lock_that_is_missing_is_an_incomplete_checkout(tmp_path: Path) -> None:
    with pytest.raises(Stop, match="pins nothing: this checkout is incomplete"):
        Pin.read(tmp_path / "installer.txt")
