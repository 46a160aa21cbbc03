"""Tests of the positive controls: each attack attempt succeeds once its one control is removed."""

import base64
import contextlib
import json
import os
import platform
import resource
import subprocess
import sys
import zlib
from dataclasses import replace
from pathlib import Path

import pytest

from quarterturn_attacks.controls import network_link, positive_controls
from quarterturn_attacks.controls.weakened_box import CAPABILITIES, grantable
from sandbox.attacks.harness import isolated_attempts
from sandbox.attacks.harness.catalogue import APART, ROWS, Without
from sandbox.attacks.probes import raw_system_calls
from sandbox.boxes.bwrap.box import BwrapBox
from sandbox.boxes.docker.box import DockerBox
from sandbox.errors import Unavailable
from sandbox.isolation.filters import filter_of
from sandbox.isolation.seccomp import AUDIT_ARCH, MACHINES
from sandbox.isolation.system_calls import NUMBERS
from tests.sampling import sample
from tests.sandbox.isolation.test_seccomp import decide
from tests.sandbox.memory_box import MemoryBox

TOGETHER = [name for name, row in ROWS.items() if not row.apart]
CONTROLLED = {name: row for name, row in ROWS.items() if not row.apart and isinstance(row.positive, Without)}
ONE_A_KIND = sorted({(row.group, row.positive.setting): name for name, row in CONTROLLED.items()}.values())
"""An attempt of each group in each setting: how a box leaves a control out, and not which."""
CHEAP = ("log-flood", "never-ending")
IN_DOCKER = [pytest.param(DockerBox, name, marks=pytest.mark.engine) for name in APART]
BEYOND = {"SYS_TIME": 25, "SYS_MODULE": 16, "SYS_BOOT": 22, "SYS_RAWIO": 17, "SYSLOG": 34, "SYS_PACCT": 20}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("box", "names"),
    [
        pytest.param(BwrapBox, TOGETHER, marks=pytest.mark.box),
        pytest.param(DockerBox, ONE_A_KIND, marks=pytest.mark.engine),
        pytest.param(DockerBox, TOGETHER, marks=[pytest.mark.engine, pytest.mark.exhaustive]),
    ],
    ids=["bwrap", "docker-sample", "docker"],
)
@pytest.mark.needs("root")
def test_without_its_one_control_each_attempt_gets_through(box, names, monkeypatch):
    usual = isolated_attempts.limits
    monkeypatch.setattr(isolated_attempts, "limits", lambda *, lifted: replace(usual(lifted=lifted), wall=900.0))
    monkeypatch.setattr(positive_controls, "SECONDS", 900.0)
    found = positive_controls.controls(box(), names)
    assert [name for name, through in found.items() if not through] == []
    ungrantable = CAPABILITIES.keys() - set(grantable())
    for name in names:
        positive = ROWS[name].positive
        harmless = isinstance(positive, Without) and not set(positive.capabilities) & ungrantable
        assert (name in found) == harmless, name


@pytest.mark.slow
@pytest.mark.parametrize(
    ("box", "name"),
    [
        *(pytest.param(BwrapBox, name, marks=pytest.mark.box) for name in APART),
        *sample(IN_DOCKER, keep=[case for case in IN_DOCKER if case.values[1] in CHEAP]),
    ],
)
@pytest.mark.needs("root")
def test_a_cap_that_is_lifted_tenfold_is_the_one_that_was_met(box, name):
    assert positive_controls.controls(box(), [name]) == {name: True}


def test_every_positive_control_is_one_or_says_why_not():
    for name, row in ROWS.items():
        said = str(row.positive)
        assert len(said) > 8, name
        if isinstance(row.positive, Without):
            assert set(row.positive.calls) <= NUMBERS.keys() | raw_system_calls.NUMBERS.keys(), name
            assert set(row.positive.capabilities) <= CAPABILITIES.keys(), name


def test_a_probe_that_would_change_the_kernel_keeps_its_filter_and_no_capability():
    changing = {"set-time", "load-module", "unload-module", "kexec", "reboot", "swap", "accounting", "io-ports"}
    for name in changing:
        positive = ROWS[name].positive
        assert positive.other_errno, name
        assert not positive.capabilities, name
    assert not set(CAPABILITIES.values()) & set(BEYOND.values())


def opened(text):
    return json.loads(zlib.decompress(base64.b64decode(text)))


def differ(one, other):
    """Return the system call numbers on which two filters decide differently."""
    arch = AUDIT_ARCH[platform.machine()]
    return {number for number in range(1024) if decide(one, number, arch=arch) != decide(other, number, arch=arch)}


def test_a_control_leaves_out_one_rule_and_keeps_the_others():
    said = opened(positive_controls.document({"bpf": Without(calls=("bpf",)), "tcp": Without()}))
    whole, less = (bytes.fromhex(text) for text in said["filters"])
    assert whole == filter_of("agent")
    assert differ(whole, less) == {raw_system_calls.NUMBERS["bpf"][MACHINES.index(platform.machine())]}
    assert said["without"]["tcp"]["filter"] == 0
    assert said["without"]["bpf"]["filter"] == 1
    assert said["without"]["bpf"]["limits"]["nofile"] == 1024


def test_the_other_errno_is_all_that_differs():
    said = opened(positive_controls.document({"reboot": ROWS["reboot"].positive}))
    whole, other = (bytes.fromhex(text) for text in said["filters"])
    assert differ(whole, other) == {raw_system_calls.NUMBERS["reboot"][MACHINES.index(platform.machine())]}


@pytest.mark.needs("root")
def test_a_box_without_a_lowered_twin_has_no_controls_inside():
    assert positive_controls.controls(MemoryBox({}), ["tcp", "bpf"]) == {}


def test_nothing_is_asked_of_a_machine_where_nothing_is_wanted(monkeypatch):
    monkeypatch.setattr(network_link, "require", lambda: pytest.fail("it was"))
    assert positive_controls.controls(MemoryBox({}), ["x32-call"]) == {}


def test_controls_need_root_and_their_programs(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(Unavailable, match="run them as root"):
        network_link.require()
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(Unavailable, match="ip, nsenter, unshare: install Debian's iproute2"):
        network_link.require()


@contextlib.contextmanager
def wired():
    """Return a process in a network namespace of its own, with a wire to it."""
    words = ["unshare", "--net", "sh", "-c", "ip link set lo up; echo there; exec sleep 600"]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout.readline() == b"there\n", "no network namespace was made"
            with network_link.wired(process.pid):
                yield process
        finally:
            process.kill()


def inside(place, *words, **more):
    """Run a program in the network namespace of a process."""
    enter = ["nsenter", f"--net=/proc/{place.pid}/ns/net", *words]
    return subprocess.run(enter, capture_output=True, check=True, **more).stdout


WAYS = "from sandbox.attacks.probes.network_exits import ways_out, interfaces"
ASK = f"""
import socket, json
{WAYS}
said = socket.create_connection(("198.51.100.9", 443), 300).recv(10).decode()
print(json.dumps([interfaces(), ways_out(), said]))
"""


@pytest.mark.parametrize("control", [True, False])
@pytest.mark.needs("root")
def test_a_test_link_leads_to_our_own_namespace_and_is_a_way_out_for_all_but_a_control(control):
    environment = dict(os.environ) | ({"PROBE_CONTROL": "x"} if control else {})
    with wired() as place:
        interfaces, ways, said = json.loads(inside(place, sys.executable, "-c", ASK, env=environment))
    assert said == "here"
    assert interfaces == [network_link.WIRE]
    assert bool(ways) is not control


@pytest.mark.needs("root")
def test_a_wire_with_an_address_of_somebody_else_is_a_way_out():
    with wired() as place:
        inside(place, "ip", "-4", "address", "flush", "dev", network_link.WIRE)
        inside(place, "ip", "address", "replace", "127.9.8.7/32", "dev", network_link.WIRE)
        code = f"{WAYS}; print(ways_out())"
        ways = inside(place, sys.executable, "-c", code, env=dict(os.environ) | {"PROBE_CONTROL": "x"})
    assert b"interface quarterturn0" in ways


@pytest.mark.needs("root")
def test_the_machines_own_namespace_sees_nothing_of_a_wire():
    with wired():
        names = {path.name for path in Path("/sys/class/net").iterdir()}
    assert not names & {network_link.WIRE, network_link.FAR}


def test_our_own_limits_can_be_lifted_that_far():
    from quarterturn_attacks.controls.weakened_box import LIFTED

    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    assert hard == resource.RLIM_INFINITY or hard >= LIFTED["nofile"]
