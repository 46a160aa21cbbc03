"""Tests of what is particular to Docker; what all boxes share is in tests/contracts/test_boxes.py."""

import contextlib
import subprocess
import sys
import tempfile
import weakref
from pathlib import Path

import docker
import pytest

from sandbox.boxes.box import Program, ResourceLimits
from sandbox.boxes.docker.box import AGENT_IMAGE, RELAY_IMAGE, DockerBox
from sandbox.boxes.docker.container_config import RUNNER_LABEL
from sandbox.errors import Lost, Unavailable
from sandbox.image_reference import ImageReference
from sandbox.isolation.filters import filter_of
from sandbox.runner_identity import runner, runner_lives
from verifiers.tree import DIRECTORY, FileTree

from ....patience import PATIENCE, until
from ...builders import a_server

pytestmark = pytest.mark.engine

MIB = 1 << 20
LIMITS = ResourceLimits(memory=96 * MIB, pids=40, cpus=0.5, tmpfs=8 * MIB)
SERVER = a_server()
SLEEP = Program(command=("sleep", "600"))


@pytest.fixture(scope="module")
def box():
    made = DockerBox()
    made.check()
    return made


@pytest.fixture
def engine():
    with contextlib.closing(docker.from_env()) as client:
        yield client


@pytest.fixture
def image(engine):
    """Build an image from the agents' one with lines of a Dockerfile; nothing is run for it."""
    made, base = [], engine.containers.create(AGENT_IMAGE)

    def build(*lines):
        made.append(base.commit(changes=["USER 65534:65534", *lines]))
        return made[-1].id

    yield build
    base.remove()
    for built in made:
        with contextlib.suppress(docker.errors.APIError):
            engine.images.remove(built.id, force=True)


@contextlib.contextmanager
def running(box, given, sockets):
    agent = box.place(given, sockets, LIMITS).start()
    try:
        yield agent
    finally:
        agent.kill()


def test_an_image_of_ours_that_is_missing_is_named_with_what_to_do():
    with pytest.raises(Unavailable, match=r"no image docker.io/library/none:none: build it with `\./run images`"):
        DockerBox(world_image="none:none").check()


def test_a_runtime_that_the_engine_does_not_know_is_named_with_what_to_do():
    with pytest.raises(Unavailable, match=r"no runtime 'none', but .*runc.*daemon\.json"):
        DockerBox(runtime="none").check()


def test_a_digest_is_the_engines_own(box, engine):
    digest = box.digest(ImageReference.parse(AGENT_IMAGE))
    assert digest == engine.images.get(AGENT_IMAGE).id
    assert digest.startswith("sha256:")
    assert len(digest) == 71


def isolation_of(container):
    """Return the settings that must be the same for every container of ours."""
    host, config = container.attrs["HostConfig"], container.attrs["Config"]
    return {
        "read-only": host["ReadonlyRootfs"],
        "capabilities dropped": host["CapDrop"],
        "capabilities added": host["CapAdd"],
        "privileged": host["Privileged"],
        "security": host["SecurityOpt"],
        "ipc": host["IpcMode"],
        "log": host["LogConfig"]["Type"],
        "swap": host["MemorySwap"] - host["Memory"],
        "restart": host["RestartPolicy"]["Name"] or "no",
        "ports": host["PortBindings"] or {},
        "devices": host["Devices"] or [],
        "health check": config["Healthcheck"]["Test"],
        "locked": config["Entrypoint"],
    }


WALLS = {
    "read-only": True,
    "capabilities dropped": ["ALL"],
    "capabilities added": None,
    "privileged": False,
    "security": ["no-new-privileges:true"],
    "ipc": "none",
    "log": "none",
    "swap": 0,
    "restart": "no",
    "ports": {},
    "devices": [],
    "health check": ["NONE"],
}
BECOMING = {"relay": ["SETUID", "SETGID", "NET_ADMIN"]}
"""What a relay has until it listens."""


def test_agent_relay_and_world_are_isolated_alike(box, engine, sockets):
    world = box.world([SERVER], FileTree({"files": DIRECTORY}), LIMITS)
    try:
        with world.channel(), running(box, SLEEP, sockets) as agent:
            three = {"world": world._container, "relay": agent._place.relay.container, "agent": agent._place.agent}
            three = {name: engine.containers.get(container.id) for name, container in three.items()}
            assert {name: isolation_of(container) for name, container in three.items()} == {
                name: WALLS
                | {"locked": ["/.lock", f"/.filters/{name}", "--"], "capabilities added": BECOMING.get(name)}
                for name in three
            }
            relay = Path(f"/proc/{agent._place.relay.container.pid()}/status").read_text()
            hosts = {name: container.attrs["HostConfig"] for name, container in three.items()}
            users = {name: container.attrs["Config"]["User"] for name, container in three.items()}
    finally:
        world.close()
    assert users == {"world": "65532:65532", "relay": "0:0", "agent": "65534:65534"}
    assert "Uid:\t65533\t65533\t65533\t65533\n" in relay, "it became nobody before it was ready"
    assert all(f"{name}:\t0000000000000000\n" in relay for name in ("CapPrm", "CapEff", "CapAmb"))
    for host in hosts.values():
        assert {"/sys", "/proc/sys", "/proc/vmstat", "/proc/kallsyms"} < set(host["MaskedPaths"])
        assert all(f"nr_inodes={host['Memory'] // 4096}" in options for options in host.get("Tmpfs", {}).values())
    assert hosts["world"]["NetworkMode"] == hosts["relay"]["NetworkMode"] == "none"
    assert hosts["relay"]["Dns"] == hosts["world"]["Dns"] == ["127.0.0.1"]
    assert hosts["agent"]["NetworkMode"] == f"container:{three['relay'].id}"
    for name in ("world", "agent"):
        assert (hosts[name]["Memory"], hosts[name]["PidsLimit"], hosts[name]["NanoCpus"]) == (96 * MIB, 40, 500_000_000)
    assert [three[name].attrs["Config"].get("NetworkDisabled", False) for name in three] == [True, True, False]
    laid = {"/.lock", "/.filters", "/etc/hosts", "/etc/resolv.conf"}
    laid |= {f"/proc/{name}" for name in ("cpuinfo", "loadavg", "meminfo", "stat", "uptime")}
    assert {mount["Target"] for mount in hosts["agent"]["Mounts"]} == laid
    assert all(mount["ReadOnly"] for host in hosts.values() for mount in host["Mounts"])


def test_everything_is_removed(box, engine, sockets):
    world = box.world([SERVER], FileTree({"files": DIRECTORY}), LIMITS)
    agent = box.place(SLEEP, sockets, LIMITS).start()
    made = [world._container.id, agent._place.relay.container.id, agent._place.agent.id]
    with world.channel():
        agent.kill()
        world.close()
    assert not {container.id for container in engine.containers.list(all=True, ignore_removed=True)} & set(made)


def test_settings_of_an_image_do_not_count(box, engine, sockets, image):
    reference = image(
        "USER root", "ENV WORD=own", "HEALTHCHECK CMD false", f"LABEL {RUNNER_LABEL}=mine", "WORKDIR /usr",
        'ENTRYPOINT ["python3", "-c", "import os; print(os.getuid(), os.environ[\'WORD\'], os.getcwd())"]',
    )  # fmt: skip
    with running(box, Program(image=reference), sockets) as agent:
        assert agent.wait(PATIENCE).exit_code == 0
        assert engine.containers.get(agent._place.agent.id).labels[RUNNER_LABEL] == runner()
    assert agent.output() == "65534 own /usr\n"


def test_a_volume_that_an_image_declares_has_a_size_and_is_of_no_disk(box, engine, sockets, image):
    look = "import os; v = os.statvfs('/keep/here'); print(v.f_blocks * v.f_frsize)"
    reference = image("VOLUME /keep/here", f'ENTRYPOINT ["python3", "-c", "{look}"]')
    with running(box, Program(image=reference), sockets) as agent:
        assert agent.wait(PATIENCE).exit_code == 0
        mounts = engine.containers.get(agent._place.agent.id).attrs["Mounts"]
        assert [mount["Type"] for mount in mounts if mount["Destination"] == "/keep/here"] in ([], ["tmpfs"])
    assert int(agent.output()) == LIMITS.tmpfs


def test_a_command_takes_the_place_of_an_images_own(box, sockets, image):
    reference = image('ENTRYPOINT ["echo", "entry"]', 'CMD ["own"]')
    for command, said in (((), "entry own\n"), (("given", "words"), "entry given words\n")):
        with running(box, Program(image=reference, command=command), sockets) as agent:
            assert agent.wait(PATIENCE).exit_code == 0
        assert agent.output() == said


def test_an_image_that_exits_at_once_is_a_fact(box, sockets, image):
    with running(box, Program(image=image('ENTRYPOINT ["sh", "-c", "exit 9"]')), sockets) as agent:
        assert agent.wait(PATIENCE).exit_code == 9


def test_a_relay_that_dies_ends_the_run_and_is_a_fact_of_its_own(box, sockets):
    with running(box, SLEEP, sockets) as agent:
        agent._place.relay.container.kill()
        facts = agent.wait(PATIENCE)
    assert (facts.running, facts.lost, facts.relay_died) == (False, False, True)


def test_an_agent_that_closes_its_streams_still_runs(box, engine, sockets):
    code = (
        "import os, signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: sys.exit(4));"
        "os.close(1); os.close(2); time.sleep(600)"
    )
    with running(box, Program(command=("python3", "-c", code)), sockets) as agent:
        descriptors = Path(f"/proc/{agent._place.agent.pid()}/fd")
        until(lambda: not {"1", "2"} & {path.name for path in descriptors.iterdir()}, "closed streams")
        assert agent.wait(0.1).running
        engine.containers.get(agent._place.agent.id).kill("SIGTERM")
        assert agent.wait(PATIENCE).exit_code == 4


def test_a_container_that_vanished_is_lost(box, sockets):
    with running(box, SLEEP, sockets) as agent:
        agent._place.agent.remove()
        assert agent.wait(PATIENCE).lost


def test_a_world_that_was_killed_is_lost(box):
    world = box.world([SERVER], FileTree({"files": DIRECTORY}), LIMITS)
    with world.channel():
        world._container.kill()
        with pytest.raises(Lost, match="cut off"):
            world.freeze(PATIENCE)
        assert world.facts().exit_code == 137
        world.close()


# ---- leftovers ----


def test_a_runners_name_tells_the_living_from_the_dead():
    assert runner_lives(runner())
    boot, space, pid, start = runner().split(":")
    assert not runner_lives(f"{boot}:{space}:{pid}:{int(start) + 1}")  # the number was used again
    assert not runner_lives(f"another-boot:{space}:{pid}:{start}")
    assert runner_lives(f"{boot}:1:{pid}:{start}")  # of another PID namespace: we cannot know
    assert runner_lives("somebody else's")
    assert not runner_lives(f"{boot}:{space}:x:y")


KILLED = """
import sys
from pathlib import Path
from sandbox.boxes.box import Program, ResourceLimits
from sandbox.boxes.docker.box import DockerBox
from sandbox.servers.server import Server
from verifiers.tree import DIRECTORY, FileTree
cat = Server("cat", "p", "1", "files", ("/bin/cat",), {}, {}, {}, lambda s: FileTree({}), lambda t, c: t, {})
box = DockerBox()
world = box.world([cat], FileTree({"files": DIRECTORY}), ResourceLimits())
agent = box.place(Program(command=("sleep", "600")), Path(sys.argv[1]), ResourceLimits()).start()
print(world._container.id, agent._place.relay.container.id, agent._place.agent.id, flush=True)
import time; time.sleep(600)
"""


def folders():
    """Return all folders of locks on this machine."""
    return [path for path in Path(tempfile.gettempdir()).glob("quarterturn-lock-*") if (path / "runner").exists()]


def runner_of(folder):
    with contextlib.suppress(FileNotFoundError):  # another process has just ended
        return (folder / "runner").read_text()
    return ""


def test_containers_of_a_killed_runner_are_removed_and_others_are_not(box, engine, sockets):
    with subprocess.Popen([sys.executable, "-c", KILLED, str(sockets)], stdout=subprocess.PIPE, text=True) as killed:
        try:
            left = killed.stdout.readline().split()
            [dead] = [path for path in folders() if f":{killed.pid}:" in runner_of(path)]
        finally:
            killed.kill()
    with running(box, SLEEP, sockets) as agent:
        box.reap()
        found = {container.id for container in engine.containers.list(all=True, ignore_removed=True)}
        assert len(left) == 3
        assert not found & set(left)
        assert agent._place.agent.id in found
        assert box._locks.folder in folders()
        assert dead not in folders()
        assert agent.wait(0).running


def test_a_world_ends_with_its_runner_even_before_anybody_looks(engine, sockets):
    command = [sys.executable, "-c", KILLED, str(sockets)]
    for _ in range(3):  # another process that starts now may remove them before we have looked
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as killed:
            world, relay, agent = killed.stdout.readline().split()
            killed.kill()
        status = status_at_last(engine, world)
        for left in (agent, relay, world):
            with contextlib.suppress(docker.errors.APIError):
                engine.containers.get(left).remove(force=True)
        if status != "removed":
            break
    assert status == "exited"


def status_at_last(engine, container):
    """Return the state of a container once it has ended."""
    seen = []

    def ended():
        try:
            seen.append(engine.containers.get(container).status)
        except docker.errors.NotFound:
            seen.append("removed")
        return seen[-1] != "running"

    until(ended, "the container's end")
    return "removed" if seen[-1] == "removing" else seen[-1]


# ---- the lock ----


@pytest.fixture(scope="module")
def lock(box, tmp_path_factory):
    """Return the lock of the image, and a filter; it is static, so it also runs outside."""
    folder = tmp_path_factory.mktemp("lock")
    (folder / "lock").write_bytes(box.file_of(ImageReference.parse(RELAY_IMAGE), "/lock"))
    (folder / "lock").chmod(0o755)
    (folder / "filter").write_bytes(filter_of("agent"))
    (folder / "cut").write_bytes(filter_of("agent")[:-3])
    (folder / "wrong").write_bytes(bytes(64))
    (folder / "empty").write_bytes(b"")

    def run(name, *command):
        words = [str(folder / "lock"), str(folder / name), "--", *command]
        return subprocess.run(words, capture_output=True, text=True, check=False)

    return run


def test_the_lock_loads_the_filter_and_becomes_the_program(lock):
    code = "import socket; print([l.split()[1] for l in open('/proc/self/status') if l[:4] in ('NoNe', 'Secc')])"
    assert lock("filter", "python3", "-c", code).stdout.startswith("['1', '2'")
    denied = lock("filter", "python3", "-c", "import socket; socket.socket(40, 1)")
    assert "PermissionError" in denied.stderr
    assert lock("filter", "sh", "-c", 'exit "$1"', "sh", "7").returncode == 7


@pytest.mark.parametrize("name", ["cut", "wrong", "empty", "none"])
def test_without_a_filter_nothing_runs(lock, name):
    done = lock(name, "echo", "ran")
    assert (done.returncode, done.stdout) == (125, "")


def test_a_program_that_is_not_there_has_a_shells_code(lock):
    assert lock("filter", "no-such-program").returncode == 127
    assert lock("filter", "/etc").returncode == 126


def test_the_box_holds_nothing_once_it_is_gone(sockets):
    made = DockerBox()
    with running(made, SLEEP, sockets):
        folder = made._locks.folder
        assert {path.name for path in folder.iterdir()} == {"lock", "filters", "proc", "runner", "hosts", "resolv.conf"}
        assert folder.stat().st_mode & 0o777 == 0o755
    gone = weakref.ref(made)
    del made
    assert gone() is None
    assert not folder.exists()
