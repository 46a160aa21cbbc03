"""Tests of the frame on the real servers: beside a solution no harmless act is minded, and no damage passes."""

from random import Random

import pytest

from grammars.draw.sample import draw
from grammars.draw.variants import base
from grammars.language.derivation import of_template
from grammars.language.load import library, load
from sandbox.boxes.bwrap.box import BwrapBox
from sandbox.runs.prover import BoxProver
from sandbox.servers.acts import list_acts
from sandbox.servers.registry import SERVERS
from verifiers.language.verdict import Verdict

from ...sampling import sample

GRAMMARS = {server: load(server) for server in library()}
FRAMED = [
    (server, name)
    for server, grammar in GRAMMARS.items()
    for name, template in grammar.templates.items()
    if template.steps.changes is not None
]


@pytest.fixture(scope="module")
def prover():
    return BoxProver(BwrapBox())


def drawn(server, name):
    grammar = GRAMMARS[server]
    skeleton = next(iter(of_template(server, grammar.templates[name])))
    return base(draw(grammar, skeleton, skeleton.difficulties[0], Random(f"{skeleton.id}/acts")).draft)


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


@pytest.mark.slow
@pytest.mark.parametrize(("server", "name"), sample(FRAMED, keep=[("sqlite", "take-in")]))
def test_no_harmless_act_is_minded_and_no_damage_passes(prover, server, name):
    draft = drawn(server, name)
    solution = draft.provenance["solutions"][0]
    calls, answer = list(solution["calls"]), solution["answer"]
    more = prover.harmless_calls(draft.task, calls)
    assert prover.prove(draft.task, [*calls, *more], answer).verdict is Verdict.TRUE
    for act in list_acts("damage", draft.task, calls):
        proved = prover.prove(draft.task, [*calls, *act], answer)
        if any(call["injected"] for call in proved.log[-len(act) :]):  # a scheduled error met it
            proved = prover.prove(draft.task, [*calls, *act, *act], answer)
        assert proved.verdict is Verdict.FALSE, act
        assert not any(call["error"] for call in proved.log[-len(act) :]), act
