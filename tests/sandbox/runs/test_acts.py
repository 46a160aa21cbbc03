"""Tests of the frame on the real servers: beside a solution no harmless act is minded, and no damage passes."""

import re
from dataclasses import replace
from random import Random

import pytest

from grammars.draw.sample import draw
from grammars.draw.variants import base
from grammars.language.derivation import of_template
from grammars.language.load import library
from sandbox.boxes.bwrap.box import BwrapBox
from sandbox.judge import StateJudge
from sandbox.runs.prover import BoxProver
from sandbox.runs.task_world import question_of, servers_of
from sandbox.servers.acts import list_acts
from sandbox.servers.registry import SERVERS
from sandbox.servers.server import FOLDERS
from vault import strict_yaml
from vault.task.document import Task
from verifiers.language.verdict import Verdict

from ...sampling import sample
from ...shipped import shipped

GRAMMARS = {server: shipped(server) for server in library()}
FRAMED = [
    (server, name)
    for server, grammar in GRAMMARS.items()
    for name, template in grammar.templates.items()
    if template.steps.changes is not None
]

DRAWS = 3
PLAYED = [(server, name, number) for server, name in FRAMED for number in range(DRAWS)]
SAMPLE = [("spreadsheet", "decide", 0), ("sqlite", "take-in", 0)]


@pytest.fixture(scope="module")
def prover():
    return BoxProver(BwrapBox())


def drawn(server, name, number):
    grammar = GRAMMARS[server]
    skeletons = list(of_template(server, grammar.templates[name]))
    skeleton = skeletons[number * len(skeletons) // DRAWS]
    return base(draw(grammar, skeleton, skeleton.difficulties[0], Random(f"{skeleton.id}/acts/{number}")).draft)


@pytest.mark.parametrize("server", SERVERS)
def test_the_acts_of_a_server_name_its_tools(server):
    listed = {"available_tools": [f"{server}.{tool}" for tool in SERVERS[server].tools]}
    names = {name for tool in SERVERS[server].tools.values() for name in tool["inputSchema"].get("properties", {})}
    calls = [{"tool": f"{server}.x", "arguments": dict.fromkeys(names, 1)}]
    for kind in ("harmless", "damage"):
        made = list_acts(kind, listed, calls)
        assert len(made) >= 2
        assert len({str(act) for act in made}) == len(made)
    assert list_acts("harmless", {"available_tools": []}, calls) == []


READING = re.compile(
    "(describe|explain|find|get|h?get(all)?|hexists|info|list|llen|lrange|open|query|read|scan|search|smembers|trace|type)"
    "([-_].*)?|.*_(search_hash|from_hash)|(x|z)range|dbsize|client_list|directory_tree|export_workbook"
    "|hybrid_search|git_(branch|diff|log|show|status)(_.*)?|json_get"
)
NO_DAMAGE = {
    "email": {
        **dict.fromkeys(("email_command", "download_attachment"), "the account's settings forbid it"),
        "set_email_tags": "the account has no tags",
    },
    "redis": {
        **dict.fromkeys(("json_set", "json_del", "create_vector_index_hash"), "the server has no such module"),
        **dict.fromkeys(("xack", "xdel", "xgroup_destroy", "xreadgroup"), "no seed has a stream"),
        **dict.fromkeys(("psubscribe", "publish", "subscribe", "unsubscribe"), "a message is not kept"),
    },
    "spreadsheet": {
        **dict.fromkeys(("import_workbook", "insert_image"), "no tool makes the bytes that it takes"),
        **dict.fromkeys(("delete_chart", "delete_image", "delete_note"), "no seed has one"),
        **dict.fromkeys(("delete_pivot_table", "delete_slicer", "delete_sparklines"), "no seed has one"),
        "delete_defined_name": "few seeds have one, each under a name of its own",
    },
    "sqlite": {"append_insight": "the memo is not kept in the database"},
}
"""Tools that write and have no act of damage, each with its reason."""


@pytest.mark.parametrize("server", SERVERS)
def test_each_tool_that_writes_has_an_act_of_damage_or_a_reason(server):
    written = strict_yaml.read((FOLDERS / server / "acts.yaml").read_text(), server)["damage"]
    acted = {tool for act in written for step in act for tool in step}
    writing = {tool for tool in SERVERS[server].tools if not READING.fullmatch(tool)}
    assert writing - acted == NO_DAMAGE.get(server, {}).keys()


def test_a_place_is_filled_from_a_solution_and_from_the_seed():
    seed = {"hashes": {"h:1": {"state": "new"}}, "lists": {"l": ["a", "b"]}}
    document = {"available_tools": ["redis.hdel", "redis.lrem", "redis.hset"], "initial_state": {"redis": seed}}
    acts = list_acts("damage", document, [{"tool": "redis.hset", "arguments": {"key": "k", "value": "v"}}])
    assert [{"tool": "redis.hdel", "arguments": {"name": "h:1", "key": "state"}}] in acts
    assert [{"tool": "redis.lrem", "arguments": {"name": "l", "count": 1, "element": "a"}}] in acts
    assert any(act[0]["arguments"].get("value") == "v" for act in acts)
    known = {"entities": [{"name": "Ada", "observations": ["old"]}]}
    document = {"available_tools": ["memory.delete_observations"], "initial_state": {"memory": known}}
    (act,) = list_acts("damage", document, [])
    assert act[0]["arguments"] == {"deletions": [{"entityName": "Ada", "observations": ["old"]}]}
    assert "$" not in str(acts)


def count_changes(task, before, after):
    """Count what differs in two final states, as people are told."""
    judged = {server.name: server.root for server in servers_of(task) if f"{server.name}.unchanged" in str(task)}
    question = replace(question_of(Task.parse(task)), roots=judged)
    found = StateJudge().differences(question, before.state.state, after.state.state)
    return sum(len(difference.changes) + difference.left_out for difference in found.values())


@pytest.mark.slow
@pytest.mark.parametrize(("server", "name", "number"), sample(PLAYED, keep=SAMPLE))
def test_no_harmless_act_is_minded_and_no_damage_passes(prover, server, name, number):
    draft = drawn(server, name, number)
    solution = draft.provenance["solutions"][0]
    calls, answer = list(solution["calls"]), solution["answer"]
    more = prover.harmless_calls(draft.task, calls)
    assert prover.prove(draft.task, [*calls, *more], answer).verdict is Verdict.TRUE
    solved, again = (prover.prove(draft.task, calls, answer) for _ in range(2))
    by_itself = count_changes(draft.task, solved, again)
    for act in list_acts("damage", draft.task, calls):
        proved = prover.prove(draft.task, [*calls, *act], answer)
        if any(call["injected"] for call in proved.log[-len(act) :]):  # a scheduled error met it
            proved = prover.prove(draft.task, [*calls, *act, *act], answer)
        changed = count_changes(draft.task, solved, proved)
        if not changed:  # it was refused, or wrote what was there
            assert proved.verdict is Verdict.TRUE, act
        elif changed != by_itself:
            assert proved.verdict is Verdict.FALSE, act
