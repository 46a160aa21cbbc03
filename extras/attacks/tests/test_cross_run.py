"""Tests of two runs on one machine: what a sealed run leaves, and what a later run with an exit can read of it."""

import json
import textwrap

import pytest

from quarterturn_attacks import cross_run
from quarterturn_attacks.cross_run import NAME, capacity
from sandbox.attacks.harness.probing import answering
from sandbox.boxes.box import Program, ResourceLimits
from sandbox.boxes.bwrap.box import BwrapBox
from sandbox.boxes.docker.box import DockerBox
from sandbox.errors import Lost
from tests.patience import PATIENCE
from tests.sandbox.memory_box import MemoryBox

BOXES = [
    pytest.param(BwrapBox, marks=pytest.mark.box),
    pytest.param(DockerBox, marks=[pytest.mark.engine, pytest.mark.exhaustive]),
]
EACH = [pytest.param(BwrapBox, marks=pytest.mark.box), pytest.param(DockerBox, marks=pytest.mark.engine)]


@pytest.mark.slow
@pytest.mark.full
@pytest.mark.parametrize("box", BOXES)
def test_runs_of_two_classes_have_no_page_in_common(box):
    [made] = cross_run.run(box(), [NAME])
    assert made.outcome == "bounded", made.detail


@pytest.mark.slow
@pytest.mark.full
@pytest.mark.parametrize("box", BOXES)
def test_if_both_read_one_copy_a_message_arrives(box):
    assert cross_run.controls(box(), [NAME]) == {NAME: True}


def test_a_box_without_classes_proves_nothing():
    with pytest.raises(Lost, match="keeps no classes"):
        list(cross_run.run(MemoryBox({}), [NAME]))


def test_the_delivered_amount_is_bounded_from_above():
    assert capacity(1344, 2688, 224) < 0.2  # as many agree as by chance
    assert capacity(2688, 2688, 224) == 224
    assert capacity(0, 2688, 224) == 224  # turned round it is a message too
    assert capacity(112, 224, 224) > 1  # of one run alone nothing small can be said
    assert capacity(1400, 2688, 224) == capacity(1288, 2688, 224) < capacity(1500, 2688, 224)


def test_the_bound_is_clopper_and_pearsons():
    assert cross_run._upper(0, 10) == pytest.approx(1 - 0.05**0.1)
    assert cross_run._upper(10, 10) == 1
    assert cross_run._upper(5, 10) == pytest.approx(0.7776, abs=1e-4)  # as in every table


LOOK = textwrap.dedent("""
    import json, socket
    seen = {"from": set(), "ports": [], "six": ""}
    for _ in range(2):
        for port in range(9000, 9008):
            with socket.socket() as caller:
                caller.setblocking(False)
                caller.connect_ex(("127.0.0.1", port))
                seen["from"].add(caller.getsockname()[0])
                seen["ports"].append(caller.getsockname()[1])
    try:
        socket.create_connection(("::1", 8700))
    except OSError as error:
        seen["six"] = type(error).__name__
    print(json.dumps(seen | {"from": sorted(seen["from"])}))
""")


@pytest.mark.slow
@pytest.mark.parametrize("box", EACH)
def test_the_kernels_count_of_connections_is_between_addresses_that_no_other_run_has(box):
    """The kernel counts ports per pair of addresses: a run's places continue its count, the next run's start anew."""
    first, second = looked(LOOK, box()), looked(LOOK, box())
    for seen in (first, second):
        assert len(seen["from"]) == 1
        assert seen["from"][0].startswith("127.")
        assert seen["six"] != ""
        # the kernel goes on by two, and by a random even number up to 14 more (net/ipv4/inet_hashtables.c)
        near = [0 < after - before <= 16 for before, after in zip(seen["ports"], seen["ports"][8:], strict=False)]
        assert sum(near) >= 6, "within a place the count shows"
    assert first["from"] != second["from"]
    again = [0 < after - before < 64 for before, after in zip(first["ports"][8:], second["ports"], strict=False)]
    assert sum(again) <= 2


COUNT = textwrap.dedent("""
    import errno, json, os, socket
    def refused(do):
        try:
            do()
        except OSError as error:
            return errno.errorcode[error.errno]
        return "got through"
    caller = socket.socket()
    print(json.dumps({
        "cookie": refused(lambda: caller.getsockopt(socket.SOL_SOCKET, 57, 8)),
        "cookie of the network": refused(lambda: caller.getsockopt(socket.SOL_SOCKET, 71, 8)),
        "address without a port": refused(lambda: caller.setsockopt(socket.SOL_IP, 24, 1)),
        "pidfd": refused(lambda: os.pidfd_open(os.getpid())),
        "ordinary": refused(lambda: caller.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)),
        "error": refused(lambda: caller.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)),
    }))
""")


@pytest.mark.slow
@pytest.mark.parametrize("box", EACH)
def test_counters_of_the_whole_machine_are_refused_and_ordinary_options_are_not(box):
    said = looked(COUNT, box())
    through = {name for name, ending in said.items() if ending == "got through"}
    assert through == {"ordinary", "error"}
    assert {said["cookie"], said["cookie of the network"], said["address without a port"]} == {"EPERM"}


def looked(code, box):
    with answering() as (sockets, _):
        program = Program(command=("python3", "-I", "-c", code))
        agent = box.place(program, sockets, ResourceLimits()).start()
        agent.wait(PATIENCE)
        agent.kill()
    return json.loads(agent.output())
