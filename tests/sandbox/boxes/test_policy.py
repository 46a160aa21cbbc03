"""Tests of the policy that all boxes share: users, variables, folders and caps."""

import os
import socket
import stat

import pytest

from sandbox.boxes import policy
from sandbox.boxes.box import SOCKET_NAME, Program, ResourceLimits
from sandbox.errors import Refused

from ..builders import a_server


def test_world_relay_and_agent_are_three_users_and_none_is_root():
    users = {policy.WORLD_UID, policy.RELAY_UID, policy.AGENT_UID}
    assert len(users) == 3
    assert 0 not in users


def test_a_submission_cannot_take_our_variables():
    program = Program(environment={"QUARTERTURN_URL": "http://elsewhere", "HOME": "/root", "MODEL": "x"})
    environment = policy.agent_environment(program)
    assert environment["QUARTERTURN_URL"] == "http://127.0.0.1:8700"
    assert environment["HOME"] == "/tmp"
    assert environment["MODEL"] == "x"


@pytest.mark.parametrize(("name", "value"), [("", "x"), ("A=B", "x"), ("A\0", "x"), ("A", "x\0y")])
def test_a_malformed_variable_is_refused_without_its_value(name, value):
    with pytest.raises(Refused) as refused:
        policy.agent_environment(Program(environment={name: value}))
    assert "x" not in str(refused.value).split("variable", 1)[0]


def test_servers_are_named_in_order_with_their_folders():
    folders, own = {"git": "repos", "filesystem": "files"}, {"OWN": "1"}
    servers = [a_server(name, "/opt/world/x", root=root, environment=own) for name, root in folders.items()]
    documents = policy.server_documents(servers)
    assert [(d["name"], d["cwd"], d["command"]) for d in documents] == [
        ("git", "/data/repos", ["/opt/world/x"]),
        ("filesystem", "/data/files", ["/opt/world/x"]),
    ]
    assert documents[0]["environment"]["OWN"] == "1"
    assert documents[0]["environment"]["HOME"] == "/tmp"


def test_nothing_of_the_host_is_in_what_stands_for_its_etc():
    text = "".join(policy.ETC.values())
    assert socket.gethostname() not in text.replace("localhost", "")
    assert policy.ETC["resolv.conf"] == "nameserver 127.0.0.1\n"
    for uid in (policy.WORLD_UID, policy.RELAY_UID, policy.AGENT_UID):
        assert f":{uid}:{uid}:" in policy.ETC["passwd"]


def test_a_process_without_a_control_group_has_more_caps_of_its_own():
    limits = ResourceLimits(memory=1 << 30, pids=17)
    assert "nproc" not in policy.rlimits(limits)
    alone = policy.rlimits(limits, grouped=False)
    assert alone["nproc"] == 17
    assert alone["data"] > 1 << 30
    assert alone["core"] == 0


def test_a_gateway_that_is_not_there_is_named(tmp_path):
    with pytest.raises(Refused, match="start the gateway before the agent"):
        policy.let_relay_in(tmp_path)


def test_the_socket_is_open_to_the_relay_and_not_to_be_listed(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / SOCKET_NAME))
        policy.let_relay_in(folder)
        inner, outer = (folder / SOCKET_NAME).stat(), folder.stat()
    if os.geteuid() == 0:
        assert (outer.st_gid, inner.st_gid) == (policy.RELAY_UID, policy.RELAY_UID)
        assert stat.S_IMODE(outer.st_mode) == 0o710
        assert stat.S_IMODE(inner.st_mode) == 0o660
    else:
        assert stat.S_IMODE(outer.st_mode) == 0o711


@pytest.mark.needs("root")  # an ordinary user's agent owns what the user owns
def test_a_file_that_the_agent_cannot_read_is_named(tmp_path):
    folder = tmp_path / "agent"
    folder.mkdir()
    (folder / "agent.py").write_text("")
    folder.chmod(0o755)
    (folder / "agent.py").chmod(0o644)
    policy.must_be_readable(folder)
    (folder / "agent.py").chmod(0o600)
    with pytest.raises(Refused, match=r"agent\.py: let others read it"):
        policy.must_be_readable(folder)


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(Refused, match="is not there"):
        policy.must_be_readable(tmp_path / "none")
