"""Tests of readers and judges that die, lie or hang: what that does to a verdict, and who is held responsible."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Mapping
from contextlib import closing

import pytest

from sandbox.errors import Malformed, Unjudged
from sandbox.isolation.forkserver import ForkServer
from sandbox.judge import StateJudge, evidence, judge_requests, message, reader
from sandbox.judge.process import JUDGE, READER
from sandbox.mutations.make import Mutant
from sandbox.world.frozen import FrozenState
from verifiers.language.predicate import parse
from verifiers.language.verdict import Verdict
from verifiers.normal_form import NormalState
from verifiers.tree import FileTree, Node

from ...frozen import content
from ...patience import PATIENCE

pytestmark = pytest.mark.slow

# A fork server whose children are the real ones, but for a deed where a part of the request holds its mark.
FAKE = """
import mmap, os
from sandbox.isolation.forking import serve
from sandbox.judge import message
from sandbox.judge.child import run, READER_USER
from sandbox.judge.{module} import OPERATIONS

MET = mmap.mmap(-1, 1)  # memory that all children share

DEEDS = {{}}
{deeds}

def wrapped(operation):
    def doing(header, parts):
        for mark, deed in DEEDS.items():
            if any(mark in part for part in parts) and (reply := deed(header, parts)) is not None:
                return reply
        return operation(header, parts)
    return doing

def child(descriptors):
    run(READER_USER, {{name: wrapped(operation) for name, operation in OPERATIONS.items()}}, descriptors)

serve(lambda: None, child)
"""
DEED = """
def deed(header, parts):
    {deed}
DEEDS[{mark!r}] = deed
"""
SEED = FileTree({"a.txt": Node("file", b"hello\n")})
THERE = {"filesystem.fileExists": {"path": "a.txt"}}


def outside() -> bytes:
    """Write a state with paths that lead out of it."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        tar.addfile(tarfile.TarInfo("../../etc/passwd"))
    return out.getvalue()


DEATHS = {
    "it ends": "os._exit(0)",
    "it aborts": "os.abort()",
    "it says nonsense": "return b'nonsense'",
    "it says too little": "return message.answer('done', part=b'x')[:-1]",
    "it says something of another shape": "return message.pack({'outcome': 'fine', 'says': ''}, b'')",
    "it says too much": "return message.answer('done', part=bytes(2 << 20))",
    "it raises": "raise KeyError('x')",
}


WRECK = """
    from verifiers.normal_form import NormalState, encode
    part = encode({'filesystem': NormalState(unreadable='not today')})
    cases = b'[{"name": "", "kind": "broken", "answer": null, "states": {"filesystem": 0}}]'
    return message.answer('done', '', cases, message.framed(part))
"""
NONSENSE = ("return message.answer('done', '', b'garbage', b'garbage')", "return message.answer('done')")
TOO_LITTLE = {"while True: pass": 0.3, "raise MemoryError": PATIENCE, "bytes(1 << 40)": PATIENCE}
"""Deeds, and the seconds that their readers have."""
MARKS = {deed: f"the mark {number:02}" for number, deed in enumerate((*DEATHS.values(), WRECK, *NONSENSE, *TOO_LITTLE))}


def fork_server(module: str, deeds: Mapping[str, str]) -> ForkServer:
    """Return a fork server whose children do each deed where they meet its mark; every request holds the empty one."""
    text = "".join(DEED.format(deed=deed, mark=mark.encode()) for deed, mark in deeds.items())
    return ForkServer("-c", FAKE.format(module=module, deeds=text))


@pytest.fixture(scope="module")
def broken_readers():
    """Return a fork server of readers that do what the mark in a state says."""
    with closing(fork_server("reader", MARKS)) as server:
        yield server


@pytest.fixture
def fake():
    """Make a fork server whose children always misbehave, or where they meet a mark."""
    made = []

    def fake(module, deed, mark=""):
        made.append(fork_server(module, {deed: mark}))
        return made[-1]

    yield fake
    for server in made:
        server.close()


def marked(deed: str) -> FileTree:
    """Return a state whose reader does a deed."""
    return FileTree({"a.txt": Node("file", MARKS[deed].encode())})


@pytest.fixture
def asked(question):
    return question({"any": [THERE, {"not": THERE}, {"answer.equals": {"text": "42"}}]}, "filesystem")


@pytest.mark.parametrize("deed", DEATHS.values(), ids=DEATHS.keys())
def test_a_state_that_kills_its_reader_counts_against_the_agent(broken_readers, asked, left, deed, monkeypatch):
    monkeypatch.setattr(judge_requests, "MAX_READING", 1 << 20)
    judging = StateJudge(broken_readers, JUDGE, PATIENCE)
    judged = judging.verdict(asked, left(filesystem=marked(deed)), "42", lambda: left(filesystem=SEED))
    assert judged.verdict is Verdict.FALSE
    assert [child.verdict for child in judged.evidence.children] == [Verdict.FALSE] * 3
    assert judged.evidence.children[1].children[0].verdict is Verdict.TRUE, "below a not it is the other way round"
    assert "nobody can read" in judged.evidence.children[0].found
    assert judged.again


def test_a_reader_that_dies_of_the_untouched_state_too_is_ours(fake, asked, left):
    judging = StateJudge(fake("reader", "os._exit(0)"), JUDGE, PATIENCE)
    with pytest.raises(Unjudged, match="of our own making"):
        judging.verdict(asked, left(), None, lambda: left(filesystem=SEED))


def test_an_unreadable_state_counts_against_the_agent_if_the_seed_is_readable(fake, broken_readers, asked, left):
    judging = StateJudge(broken_readers, JUDGE, PATIENCE)
    judged = judging.verdict(asked, left(filesystem=marked(WRECK)), None, lambda: left(filesystem=SEED))
    assert judged.verdict is Verdict.FALSE
    everywhere = StateJudge(fake("reader", WRECK), JUDGE, PATIENCE)
    with pytest.raises(Unjudged, match="nobody can read it"):
        everywhere.verdict(asked, left(filesystem=SEED), None, lambda: left(filesystem=SEED))


@pytest.mark.parametrize("deed", NONSENSE)
def test_a_normal_form_that_no_judge_understands_counts_against_the_agent(broken_readers, asked, left, deed):
    judging = StateJudge(broken_readers, JUDGE, PATIENCE)
    state = left(filesystem=marked(deed))
    assert judging.verdict(asked, state, None, lambda: left(filesystem=SEED)).verdict is Verdict.FALSE


def test_a_reader_killed_in_the_middle_is_asked_again_and_nobody_is_blamed(fake, asked, left):
    judging = StateJudge(fake("reader", "if not MET[0]: MET[0] = 1; os._exit(1)"), JUDGE, PATIENCE)
    judged = judging.verdict(asked, left(filesystem=SEED), None, left)
    assert (judged.verdict, judged.again) == (Verdict.TRUE, True)


@pytest.mark.parametrize(("deed", "seconds"), TOO_LITTLE.items())
def test_the_end_of_time_or_memory_decides_nothing(broken_readers, asked, left, deed, seconds):
    judging = StateJudge(broken_readers, JUDGE, seconds)
    with pytest.raises(Unjudged, match="twice, the second time alone"):
        judging.verdict(asked, left(filesystem=marked(deed)), None, lambda: left(filesystem=SEED))


def test_a_judge_that_lies_about_one_state_counts_against_it_and_one_that_always_lies_is_ours(fake, asked, left):
    lie = 'return message.answer(\'done\', part=b\'{"probes": [["true", "", false]]}\')'
    seed = lambda: left(filesystem=SEED)  # noqa: E731 - as a caller would
    some = StateJudge(READER, fake("judge", lie, "a mark"), PATIENCE)
    marked_state = left(filesystem=FileTree({"a.txt": Node("file", b"a mark")}))
    assert some.verdict(asked, marked_state, None, seed).verdict is Verdict.FALSE
    always = StateJudge(READER, fake("judge", lie), PATIENCE)
    with pytest.raises(Unjudged):
        always.verdict(asked, left(filesystem=SEED), None, seed)


@pytest.mark.parametrize("tar", [b"", b"x" * 2000, outside()], ids=["nothing", "text", "a path that leads out"])
def test_bytes_that_are_no_state_are_refused(judging, asked, left, tar):
    state = FrozenState(tar)
    with pytest.raises(Malformed):
        judging.check(state, left)
    with pytest.raises(Malformed):
        judging.verdict(asked, state, None, left)
    with pytest.raises(Malformed):
        judging.extract(state, "filesystem")


def test_one_folder_is_cut_out_as_the_seed_of_a_fresh_world(judging, left):
    other = FileTree({"b.txt": Node("file", b"other\n")})
    tar = judging.extract(left(filesystem=SEED, git=other), "git")
    assert dict(content(FrozenState(tar))) == {"git": Node("directory", mode=0o755), **other.under("git")}


def test_a_backends_output_is_a_document_or_none(judging):
    assert judging.is_document(b'{"keys": {}}')
    deep = b"[" * 200_000
    assert not any(map(judging.is_document, (b"", b"[]", b"{", b"\xff", deep, b'{"a": ' + b"1" * 5000 + b"}")))


LINE = ["true", "", False]
RIGHT = {"probes": [LINE], "spent": 0.1, "unreadable": False}
CHANGES = [
    *({"probes": probes} for probes in ([], [LINE, LINE], {"0": LINE}, [{"verdict": "true"}], [[*LINE, None]])),
    *({"probes": [line]} for line in (["maybe", "", False], ["true", "", 0], ["true", 1, False])),
    *({"probes": [["true", text, False]]} for text in ("x" * 5000, "\ud800")),
    *({"spent": spent} for spent in (-0.1, 1.1, "0", True, None)),
    {"unreadable": 0},
    {"more": 1},
]
LIES = [
    *(json.dumps(RIGHT | change).encode() for change in CHANGES),
    json.dumps({name: value for name, value in RIGHT.items() if name != "spent"}).encode(),
    json.dumps(RIGHT).encode()[:-1] + b', "probes": []}',
    json.dumps({"mutants": [LINE]}).encode(),
    b'{"probes": ' + b"[" * 100_000,
    b"[]",
    b"",
]


def test_a_well_formed_verdict_of_a_judge_is_accepted():
    assert evidence.parsed(json.dumps(RIGHT).encode(), parse(THERE)).evidence.verdict is Verdict.TRUE


@pytest.mark.parametrize("lie", LIES)
def test_nothing_that_a_judge_says_is_believed_beyond_its_shape(lie):
    with pytest.raises(Malformed):
        evidence.parsed(lie, parse(THERE))
    with pytest.raises(Malformed):
        evidence.parsed_mutants(lie)
    with pytest.raises(Malformed):
        evidence.parsed_cases(lie, parse(THERE), 1)


def test_the_runner_evaluates_the_connectives_between_probes():
    document = {"all": [{"not": THERE}, {"any": [THERE, {"not": {"not": THERE}}]}]}
    lines = [["false", "not there", False], ["true", "there", False], ["unknown", "", True]]
    said = evidence.parsed(evidence.written(probes=lines, spent=0.5, unreadable=False), parse(document))
    assert (said.evidence.verdict, said.evidence.broken, said.spent) == (Verdict.TRUE, True, 0.5)
    assert evidence.leaves(said.evidence) == lines


def test_a_message_is_taken_apart_as_it_was_put_together():
    assert message.unpack(message.pack({"do": "x"}, b"a", b"", b"bc")) == ({"do": "x"}, [b"a", b"", b"bc"])
    assert message.reply(message.answer("refused", "why", b"part")) == ("refused", "why", [b"part"])
    assert message.reply(message.answer("done", "", b"a", b"", b"bc")) == ("done", "", [b"a", b"", b"bc"])
    for wrong in (b"", b"\0\0", b"\xff\xff\xff\xff", message.answer("done", part=b"x") + b"y"):
        with pytest.raises(Malformed):
            message.reply(wrong)


def test_damage_that_a_reading_has_no_room_for_is_refused_and_not_taken_for_noticed(monkeypatch):
    monkeypatch.setattr(reader, "MAX_READING", 600)
    damages = [
        (Mutant(f"damage {number}", "damage"), {"redis": NormalState({"keys": "k" * 400})}) for number in range(2)
    ]
    assert reader._Forms(["redis"]).reading(damages[:1])
    with pytest.raises(Malformed, match="the damages of this state take more than 600 bytes"):
        reader._Forms(["redis"]).reading(damages)
