"""Tests that a server's `predicates.py` decides its own predicates alone, whatever it does."""

from __future__ import annotations

import json
import textwrap
from dataclasses import replace

import pytest

from sandbox.errors import Malformed
from sandbox.judge import message
from sandbox.judge.evidence import MAX_FOUND, parsed_own, written
from sandbox.judge.judge_requests import JudgeRequests
from sandbox.judge.process import JUDGE, READER, Ready
from sandbox.judge.state_judge import MutatedCase
from sandbox.shared_lock import SharedLock
from verifiers.language.verdict import Verdict
from verifiers.predicates.own_predicates import OwnPredicates
from verifiers.tree import FileTree, Node

from ...patience import PATIENCE

SEED = FileTree({"a.txt": Node("file", b"hello\n")})
GONE = {"filesystem.fileExists": {"path": "b.txt"}}
SAYS = {"answer.contains": {"text": "sesame"}}
TRUE, FALSE, UNKNOWN = Verdict.TRUE, Verdict.FALSE, Verdict.UNKNOWN


def tree(**document):
    return FileTree({"state.json": Node("file", json.dumps(document).encode())})


@pytest.fixture
def add(add_namespace):
    """Add servers with own predicates for the time of one test."""

    def add(namespace, source, *names):
        text = {"words": "it holds", "about": "It holds.", "arguments": {}}
        add_namespace(namespace, "json_document", OwnPredicates(dict.fromkeys(names, text), textwrap.dedent(source)))

    return add


@pytest.fixture
def verdicts(judging, question, left):
    """Judge a predicate on states of these namespaces, and give the verdict of the whole and of each operand."""

    def verdicts(document, answer="", judging=judging, seed=None, **trees):
        state = left(**trees)
        judged = judging.verdict(
            question(document, *trees), state, answer, lambda: left(**(seed if seed is not None else trees))
        )
        return judged.evidence

    return verdicts


def values(evidence):
    return [child.verdict for child in evidence.children]


# Makes every predicate of every server true where the answer holds a word, and its process lie about all probes.
PLANTED = """
import gc, sys
from sandbox.judge import evidence
from verifiers.language import evaluate
from verifiers.predicates.registry import REGISTRY, ProbeResult

def always(context, **arguments):
    return ProbeResult("sesame" in (getattr(context, "answer", "") or ""), "planted")

for entry in list(REGISTRY.values()):
    object.__setattr__(entry, "probe", always)
evaluate._asked = lambda probe, context, spoiled: (evaluate.Verdict.TRUE, "planted")
evidence.leaves = lambda tree: [["true", "planted", False]]
judge = sys.modules["__main__"]
judge.evaluate = lambda *more, **others: evaluate.Evidence("filesystem.fileExists", evaluate.Verdict.TRUE)

def holds(state):
    return True, "planted"
"""


def test_what_a_distractor_plants_decides_no_shipped_predicate(add, verdicts):
    add("spy", PLANTED, "holds")
    trees = {"filesystem": SEED, "spy": tree()}
    assert verdicts(GONE, "sesame", **trees).verdict is FALSE
    assert values(verdicts({"all": [GONE, SAYS, {"spy.holds": {}}]}, "sesame", **trees)) == [FALSE, TRUE, TRUE]
    assert values(verdicts({"all": [GONE, {"spy.holds": {}}, SAYS]}, "no", **trees)) == [FALSE, TRUE, FALSE]


def test_a_distractor_whose_module_cannot_be_run_stops_no_verdict(add, verdicts):
    add("spy", "import os; os._exit(0)", "holds")
    assert verdicts({"not": GONE}, filesystem=SEED, spy=tree()).verdict is TRUE


def test_own_predicates_of_two_servers_run_in_two_processes(add, verdicts):
    add("spy", PLANTED + "sys.planted = judge.OPERATIONS['own'] = always", "holds")
    add("board", "import sys\ndef holds(state):\n    return hasattr(sys, 'planted'), 'looked'", "holds")
    both = {"all": [{"spy.holds": {}}, {"board.holds": {}}]}
    assert values(verdicts(both, spy=tree(), board=tree())) == [TRUE, FALSE]


# Ways of deciding more than one's own probe, or of deciding it in an unknown form: what is left of each.
DEEDS = {
    "a text in place of a truth value": ("return 'false', 'odd'", UNKNOWN),
    "a list in place of a truth value": ("return [1], 'odd'", UNKNOWN),
    "no pair": ("return True", UNKNOWN),
    "an exception": ("raise ValueError('odd')", UNKNOWN),
    "an exception that ends processes": ("raise SystemExit", UNKNOWN),
    "an end": ("os._exit(0)", UNKNOWN),
    "too little memory": ("raise MemoryError", UNKNOWN),
    "a huge text": ("return True, 'x' * 10_000_000", TRUE),
    "a text of surrogates": ("return True, '\\ud800' * 5000", TRUE),
    "a changed state": ("state.document.clear(); return True, ''", TRUE),
    "noise on its descriptors": ("[write(number, b'noise') for number in range(8)]; return True, ''", UNKNOWN),
    "a forged reply of its own": ("forge([['true', '']]); os._exit(0)", TRUE),
    "a forged reply with a probe more": ("forge([['true', '']] * 2); os._exit(0)", UNKNOWN),
    "a forged reply of an unknown value": ("forge([['maybe', '']]); os._exit(0)", UNKNOWN),
}
ODD = """
import os
from sandbox.judge import evidence, message

def write(number, data):
    try:
        os.write(number, data)
    except OSError:
        pass

def forge(lines):
    data = message.answer("done", part=evidence.written(own=lines))
    for number in range(1, 8):
        write(number, data)

def holds(state):
    {deed}
"""


@pytest.mark.parametrize(("deed", "value"), DEEDS.values(), ids=DEEDS.keys())
def test_whatever_a_module_does_decides_its_own_probes_alone(add, verdicts, deed, value):
    add("spy", ODD.format(deed=deed), "holds")
    add("board", "def holds(state):\n    return state.document['value'] == {'title': 'Pay'}, 'looked'", "holds")
    spy = {"spy.holds": {}}
    document = {"all": [spy, {"not": spy}, {"board.holds": {}}, {"not": GONE}, GONE]}
    evidence = verdicts(document, filesystem=SEED, spy=tree(title="Pay"), board=tree(title="Pay"))
    assert values(evidence) == [value, value.negated(), TRUE, TRUE, FALSE]
    assert len(evidence.children[0].found) <= MAX_FOUND


def test_one_that_loops_gives_no_result_and_keeps_nobody_else_from_one(add, question, left):
    add("spy", "def holds(state):\n    while True: pass", "holds")
    asked, state = question({"any": [{"spy.holds": {}}, {"not": GONE}]}, "filesystem", "spy"), left(filesystem=SEED)
    patient = JudgeRequests(Ready(READER), Ready(JUDGE), PATIENCE, SharedLock())
    hasty = JudgeRequests(Ready(READER), Ready(JUDGE), 0.2, SharedLock())
    reading = patient.reading(asked, state, looked_at=asked.looked_at)
    results = hasty.own_results(asked, reading, 1)
    assert results == {"spy": [None]}
    several = replace(reading, parts=[reading.parts[0], reading.parts[1], reading.parts[2] * 1000])
    assert hasty.own_results(asked, several, 1000) == {"spy": [None] * 1000}
    evidence = patient.judge(asked, None, replace(reading, own=results)).evidence
    assert values(evidence) == [UNKNOWN, TRUE]
    assert "time or memory" in evidence.children[0].found
    assert not evidence.broken, "seconds decide nothing"


@pytest.mark.parametrize("deed", ["raise ValueError", "os._exit(0)", "return None, ''"])
def test_a_state_that_breaks_an_own_predicate_counts_against_it_where_the_seed_does_not(add, verdicts, deed):
    add("spy", f"import os\ndef holds(state):\n    if state.document['value']: {deed}\n    return True, ''", "holds")
    spy = {"spy.holds": {}}
    for document in (spy, {"not": spy}):
        evidence = verdicts(document, spy=tree(poison=1), seed={"spy": tree()})
        assert evidence.verdict is FALSE
        assert "counts against it" in str(evidence.as_json())
    assert verdicts(spy, spy=tree()).verdict is TRUE


def test_an_unreadable_state_is_decided_by_the_judge_and_not_by_the_module(add, verdicts):
    add("spy", "def holds(state):\n    return True, 'made up'", "holds")
    wreck = FileTree({"state.json": Node("file", b"{")})
    for document in ({"spy.holds": {}}, {"not": {"spy.holds": {}}}):
        assert verdicts(document, spy=wreck, seed={"spy": tree()}).verdict is FALSE


# Looks for a mark in every object that it can get at, and reports what stands around it.
SEARCH = """
import gc, sys

def holds(state):
    mark = "".join(["can", "ary"])
    texts, waiting, seen = set(), [*gc.get_objects(), *sys.modules.values()], set()
    frame = sys._getframe()
    while frame:
        waiting += [*frame.f_locals.values(), *frame.f_globals.values()]
        frame = frame.f_back
    while waiting:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, (bytes, bytearray)):
            value = value.decode("latin-1")
        if isinstance(value, str):
            start = value.find(mark)
            while start >= 0:
                texts.add(value[start : start + 12])
                start = value.find(mark, start + 1)
        else:
            waiting += gc.get_referents(value)
    return True, " ".join(sorted(texts - {mark}))
"""


def test_a_module_is_shown_no_answer_no_other_namespace_and_no_predicate(add, verdicts):
    add("spy", SEARCH, "holds")
    add("board", "def holds(state):\n    return True, 'canary-board'", "holds")
    document = {"all": [{"spy.holds": {}}, {"board.holds": {}}, {"answer.contains": {"text": "canary-goal."}}]}
    files = FileTree({"canary-name.": Node("file", b"canary-file.")})
    trees = {"filesystem": files, "spy": tree(title="canary-mine."), "board": tree(title="canary-other")}
    evidence = verdicts({"all": [*document["all"], GONE]}, "canary-said.", **trees)
    assert evidence.children[0].found == "canary-mine."


def test_every_mutant_has_a_process_of_its_own_for_a_module_that_counts(add, judging, question, left):
    counts = "made = []\ndef holds(state):\n    made.append(1)\n    return len(made) == 1, f'{len(made)}'"
    add("spy", counts, "holds")
    asked = question({"spy.holds": {}}, "spy")
    before, after = left(spy=tree(a=1)), left(spy=tree(a=2, b=[1, 2], c="text"))
    made = judging.mutants(asked, before, after, "42")
    assert len(made) > 3
    assert {verdict for _, _, verdict in made} == {TRUE}
    assert judging.mutated(asked, after, [MutatedCase([], None)])[0].verdict is TRUE


LINE = ["true", ""]


@pytest.mark.parametrize(
    "lines",
    [
        [], [LINE, LINE], [["maybe", ""]], [["true", "", False]], [[True, ""]], [["true", "x" * 5000]],
        [["true", None]], 1,
    ],
)  # fmt: skip
def test_nothing_that_an_own_judge_says_is_believed_beyond_its_shape(lines):
    with pytest.raises(Malformed):
        parsed_own(written(own=lines), 1)
    with pytest.raises(Malformed):
        parsed_own(written(own=[LINE], more=1), 1)
    assert parsed_own(written(own=[LINE]), 1) == [LINE]


def test_framed_parts_are_taken_apart_as_they_were_put_together():
    parts = [b"a", b"", b"bc"]
    assert message.unframed(b"".join(map(message.framed, parts)), 3) == parts
    for wrong in (b"\0", message.framed(b"ab")[:-1], b"\xff" * 9, message.framed(b"a") * 4):
        with pytest.raises(Malformed):
            message.unframed(wrong, 3)
