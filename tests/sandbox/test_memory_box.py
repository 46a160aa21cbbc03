"""Tests of the box in memory: what it promises to tests that use it, driven as a runner drives it."""

import json

import pytest

from sandbox.boxes.box import ExitFacts, Program, ResourceLimits
from sandbox.errors import Lost, Malformed, Refused
from sandbox.servers.registry import SERVERS
from sandbox.world import frames
from verifiers.tree import DIRECTORY, FileTree, Node

from ..frozen import content
from ..patience import PATIENCE
from .memory_box import MemoryBox, ToolError

SEED = FileTree({"files": DIRECTORY, "files/a.txt": Node("file", data=b"first\n")})
ADA = Program(command=("ada",))


def write(world, name):
    if name == "":
        raise ToolError("a name is needed")
    world.nodes[f"files/{name}"] = Node("file", b"new")
    return f"wrote {name}"


@pytest.fixture
def box():
    return MemoryBox({"filesystem.write": write}, {"ada": lambda agent: agent.say("hello")})


def call(end, number, method, **params):
    """Send one JSON-RPC request to the first server, and give its answer, or None where the channel ended."""
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    end.settimeout(PATIENCE)
    end.sendall(frames.pack(frames.FIRST_SERVER, json.dumps(message).encode() + b"\n"))
    reader = frames.FrameReader()
    while data := end.recv(65536):
        for _, payload in reader.feed(data):
            return json.loads(payload)["result"] if payload else None
    return None


def test_a_world_answers_calls_and_its_state_is_what_they_left(box):
    world = box.world([SERVERS["filesystem"]], SEED, ResourceLimits())
    with world.channel() as end:
        assert call(end, 1, "initialize", protocolVersion="2025-06-18")["serverInfo"]["name"] == "filesystem"
        assert call(end, 2, "tools/call", name="write", arguments={"name": "b"})["content"][0]["text"] == "wrote b"
        for arguments in ({"name": ""}, {"other": 1}):
            assert call(end, 3, "tools/call", name="write", arguments=arguments)["isError"]
        assert call(end, 4, "tools/call", name="none", arguments={})["isError"]
        frozen = world.freeze(PATIENCE)
        assert end.recv(1) == b"", "the gateway sees the end"
    assert dict(content(frozen)) == {**SEED, "files/b": Node("file", b"new")}
    assert world.facts().running
    world.close()
    world.close()
    assert not world.facts().running


def test_a_world_ends_as_it_is_told_to(box):
    killed, silent, full = (box.world([SERVERS["filesystem"]], SEED, ResourceLimits()) for _ in range(3))
    killed.die(out_of_memory=True)
    assert killed.facts() == ExitFacts(running=False, exit_code=137, out_of_memory=True)
    with pytest.raises(Lost):
        killed.freeze(PATIENCE)
    with silent.channel() as end:
        silent.lose("filesystem")
        assert call(end, 1, "ping") is None
        assert silent.facts().running
    full.fail_to_freeze(Malformed("beyond the caps"))
    with pytest.raises(Malformed, match="beyond"):
        full.freeze(PATIENCE)
    for world in box.worlds:
        world.close()


def test_an_agent_prints_exits_crashes_and_hangs(box, sockets):
    def leave(_):
        raise SystemExit(7)

    def crash(_):
        raise ValueError("oh dear")

    stories = {"ada": None, "leave": leave, "crash": crash, "hang": lambda agent: agent.hang()}
    for name, story in stories.items():
        if story:
            box.programs[name] = story
        place = box.place(Program(command=(name,)), sockets, ResourceLimits(output=1000))
        assert len(box.agents) == list(stories).index(name), "nothing runs before its place is started"
        agent = place.start()
        if name == "hang":
            assert agent.wait(0).running
            agent.kill()
        code = {"ada": 0, "leave": 7, "crash": 1, "hang": 137}[name]
        assert agent.wait(PATIENCE) == ExitFacts(running=False, exit_code=code)
        place.close()
        place.close()
    assert box.agents[0].output() == "hello\n"
    assert "oh dear" in box.agents[2].output()


def test_an_agent_ends_with_the_facts_that_it_is_given(box, sockets):
    box.programs["ada"] = lambda agent: agent.connect().recv(1)
    agent = box.place(ADA, sockets, ResourceLimits()).start()
    agent.die(ExitFacts(running=False, relay_died=True))
    assert agent.wait(0).relay_died
    agent.kill()
    assert agent.wait(0).relay_died, "what it died of stands"


def test_a_tool_without_a_function_is_refused(box, sockets, tmp_path):
    for program in (Program(image="anything"), Program(command=("python3", "agent.py")), Program()):
        with pytest.raises(Refused, match="no program"):
            box.place(program, sockets, ResourceLimits())
    with pytest.raises(Refused, match="no gateway listens"):
        box.place(ADA, tmp_path, ResourceLimits())
    assert not box.official
