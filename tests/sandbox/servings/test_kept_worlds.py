"""Tests of worlds that are kept for the next proof: which are, what of the last proof stays, and what it changes."""

from __future__ import annotations

import json
import re
from contextlib import closing
from dataclasses import replace
from random import Random

import pytest

from grammars.draw.sample import sample
from grammars.draw.variants import base
from sandbox.boxes.box import ResourceLimits
from sandbox.boxes.bwrap.box import BwrapBox
from sandbox.errors import Lost
from sandbox.runs.prover import BoxProver
from sandbox.servers.registry import SERVERS
from sandbox.servings.kept_worlds import MOST_IDLE, KeptWorlds
from verifiers.language.verdict import Verdict
from verifiers.tree import DIRECTORY, FileTree, Node

from ...frozen import content
from ...patience import PATIENCE
from ...sampling import sample as drawn
from ...shipped import shipped
from ..memory_box import MemoryBox

FILES = SERVERS["filesystem"]
STATELESS = [name for name, server in SERVERS.items() if server.stateless]


def tree(**files: bytes) -> FileTree:
    return FileTree({"files": DIRECTORY, **{f"files/{name}": Node("file", data) for name, data in files.items()}})


def proof(worlds, state, server=FILES):
    """Go the way of a proof, and give what it leaves."""
    world = worlds.world([server], state, ResourceLimits())
    try:
        return content(world.freeze(PATIENCE))
    finally:
        world.close()
        world.close()


@pytest.fixture
def memory():
    return MemoryBox({})


def test_a_world_whose_servers_keep_nothing_is_used_again_with_other_data(memory):
    with closing(KeptWorlds(memory)) as worlds:
        assert proof(worlds, tree(a=b"1")) == dict(tree(a=b"1"))
        assert proof(worlds, tree(b=b"2")) == dict(tree(b=b"2"))
        assert len(memory.worlds) == 1
        assert memory.worlds[0].facts().running
    assert not memory.worlds[0].facts().running


def test_two_proofs_at_a_time_have_a_world_each(memory):
    with closing(KeptWorlds(memory)) as worlds:
        both = [worlds.world([FILES], tree(), ResourceLimits()) for _ in range(2)]
        assert len(memory.worlds) == 2
        for world in both:
            world.close()


@pytest.mark.parametrize(
    "other",
    [SERVERS["postgres"], replace(FILES, stateless=False), replace(FILES, command=("/other",))],
    ids=["it has a backend", "it keeps something", "it is another program"],
)
def test_a_world_of_any_other_servers_is_a_fresh_one(memory, other):
    with closing(KeptWorlds(memory)) as worlds:
        proof(worlds, tree())
        proof(worlds, tree(), other)
        assert len(memory.worlds) == 2
        proof(worlds, tree(), other)
        assert len(memory.worlds) == (2 if other.stateless else 3)


def test_a_world_whose_proof_did_not_come_to_its_end_is_not_used_again(memory):
    with closing(KeptWorlds(memory)) as worlds:
        worlds.world([FILES], tree(), ResourceLimits()).close()
        failed = worlds.world([FILES], tree(), ResourceLimits())
        memory.worlds[-1].fail_to_freeze(Lost("cut off"))
        with pytest.raises(Lost):
            failed.freeze(PATIENCE)
        failed.close()
        proof(worlds, tree())
        assert [world.facts().running for world in memory.worlds] == [False, False, True]


def test_the_world_that_has_waited_longest_goes_when_too_many_wait(memory):
    with closing(KeptWorlds(memory)) as worlds:
        for number in range(MOST_IDLE + 2):
            proof(worlds, tree(), replace(FILES, command=(f"/{number}",)))
        assert [world.facts().running for world in memory.worlds] == [False, False, *[True] * MOST_IDLE]


def test_worlds_that_wait_go_with_whoever_kept_them(memory):
    worlds = KeptWorlds(memory)
    proof(worlds, tree())
    del worlds
    assert not memory.worlds[0].facts().running


def comparable(proved) -> str:
    """Return a proof's evidence and log without what differs between any two: times, and Git's hashes over dates."""
    log = [{**call, "seconds": None} for call in proved.log]
    text = json.dumps([proved.evidence.as_json(), proved.calls, proved.errors, log])
    return re.sub(r"\b[0-9a-f]{7,40}\b|\d{4}-\d\d-\d\d[ T][\d:.+Z -]+", "…", text)


@pytest.mark.full
@pytest.mark.box
@pytest.mark.slow
@pytest.mark.parametrize("server", drawn(STATELESS, keep=["filesystem", "git"]))
def test_a_kept_world_gives_the_verdicts_evidence_and_results_of_a_fresh_one(server):
    box = BwrapBox()
    drafts = [base(sample(shipped(server), Random(seed))) for seed in range(2)]
    solutions = [draft.provenance["solutions"][0] for draft in drafts]
    scripts = [(draft.task, found["calls"], found["answer"]) for draft, found in zip(drafts, solutions, strict=True)]
    fresh = [comparable(BoxProver(box).prove(*script)) for script in scripts]
    kept = BoxProver(box)
    for number in (0, 1, 0):
        again = kept.prove(*scripts[number])
        assert again.verdict is Verdict.TRUE
        assert comparable(again) == fresh[number]
        assert kept.prove(drafts[number].task, [], None).verdict is Verdict.FALSE


@pytest.mark.box
@pytest.mark.slow
def test_proofs_of_different_servers_and_draws_follow_each_other_in_one_world():
    class CountingBox(BwrapBox):
        worlds = 0

        def world(self, *given):
            self.worlds += 1
            return super().world(*given)

    box = CountingBox()
    with closing(KeptWorlds(box)) as kept:
        for server in ("filesystem", "sqlite", "filesystem"):
            prover, draft = BoxProver(box, kept=kept), base(sample(shipped(server), Random(1)))
            solution = draft.provenance["solutions"][0]
            assert prover.prove(draft.task, solution["calls"], solution["answer"]).verdict is Verdict.TRUE
    assert box.worlds == 1
