"""Tests of collecting cosignatures: a head counts once enough witnesses signed, whatever the others do."""

import shutil
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

import pytest

from vault.errors import Unavailable
from vault.ledger.signatures.policy import Policy
from vault.ledger.write.append import LogWriter
from vault.ledger.write.cosigning import Witnesses
from vault.ledger.write.witness import SIZE, TEXT, LocalWitness, WitnessReply

from ...patience import PATIENCE
from ..builders import ORIGIN, STRIKES, WITNESSES, signer, struck

LOG = signer()

TWO_OF_THREE = (
    "".join(f"witness {name} {one.witness.vkey} https://{name.lower()}.example/\n" for name, one in WITNESSES.items())
    + "group any-two 2 A B C\nquorum any-two\n"
)

Play = Callable[[bytes], WitnessReply]


class Stage:
    """A log and three witnesses in one process; each witness can be made to misbehave."""

    def __init__(self, folder: Path) -> None:
        self.folder, clock = folder, count(1_700_000_000)
        self.witnesses = {
            name: LocalWitness(folder / name, [LOG.verifier], [key], lambda: next(clock), patience=PATIENCE)
            for name, key in WITNESSES.items()
        }
        self.parts: dict[str, Play] = {name: one.add_checkpoint for name, one in self.witnesses.items()}
        self.asked: list[tuple[str, bytes]] = []
        self.complaints: list[str] = []
        self.writer = self.open("log")

    def open(self, name: str) -> LogWriter:
        return LogWriter(self.folder / name, self.folder / f"{name}-head" / "signed", LOG, ORIGIN, patience=PATIENCE)

    def ask(self, url: str, body: bytes) -> WitnessReply:
        name = url.removeprefix("https://")[0].upper()
        assert url == f"https://{name.lower()}.example/add-checkpoint"
        self.asked.append((name, body.partition(b"\n")[0]))
        return self.parts[name](body)

    def client(self, policy: str = TWO_OF_THREE, writer: LogWriter | None = None, **how: float) -> Witnesses:
        times = {"patience": PATIENCE, "grace": PATIENCE} | how
        return Witnesses(
            writer or self.writer, Policy.parse(policy), self.ask, on_complaint=self.complaints.append, **times
        )

    def grow(self, size: int, writer: LogWriter | None = None, word: str = "leaf") -> None:
        (writer or self.writer).append([f"{word} {n}".encode() for n in range(size)], 0)

    def shown(self, path: str = "checkpoint") -> str:
        return (self.folder / "log" / path).read_text()

    def out(self, *names: str) -> None:
        def nobody(_: bytes) -> WitnessReply:
            raise Unavailable("does not answer")

        self.parts |= dict.fromkeys(names, nobody)

    def back(self, *names: str) -> None:
        self.parts |= {name: self.witnesses[name].add_checkpoint for name in names}


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def test_every_head_is_cosigned_by_all_who_are_there(stage):
    client = stage.client()
    assert client.require().size == 0
    for size in (1, 2, 300):
        stage.grow(size)
        assert client.head().size < size
        assert client.require() == client.head() == stage.writer.checkpoint()
        assert set(client.policy.open(stage.shown()).witnesses) == {"A", "B", "C"}
        assert stage.shown() == stage.shown(f"checkpoints/{size}")
    assert stage.writer.fsck() == []
    assert not stage.complaints


def test_a_witness_that_signed_is_not_asked_again(stage):
    stage.grow(3)
    client = stage.client()
    client.require()
    assert sorted(stage.asked) == [("A", b"old 0"), ("B", b"old 0"), ("C", b"old 0")]
    client.require()
    stage.client().require()
    assert len(stage.asked) == 3
    stage.grow(4)
    stage.client().require()
    assert sorted(stage.asked[3:]) == [("A", b"old 3"), ("B", b"old 3"), ("C", b"old 3")]


def test_one_may_be_out_and_catches_up_by_itself(stage):
    client = stage.client()
    stage.grow(3)
    client.require()
    stage.out("B")
    stage.grow(5)
    assert client.require().size == 5
    assert set(client.policy.open(stage.shown()).witnesses) == {"A", "C"}
    assert stage.complaints == ["witness B does not answer; the others were enough"]
    stage.back("B")
    stage.grow(9)
    client.require()
    assert set(client.policy.open(stage.shown()).witnesses) == {"A", "B", "C"}
    again = stage.client()  # which believes that all of them are at 9
    (stage.folder / "A").rename(stage.folder / "A-was-lost")
    stage.grow(10)
    again.require()
    assert [old for name, old in stage.asked[-4:] if name == "A"] == [b"old 9", b"old 0"]


def test_too_few_are_named_and_nothing_counts_until_they_are_back(stage):
    client = stage.client()
    stage.grow(3)
    client.require()
    stage.out("A", "C")
    stage.grow(5)
    with pytest.raises(
        Unavailable, match=r"'any-two': (A|C) does not answer; (A|C) does not answer\. Nothing is lost"
    ) as no:
        client.require()
    assert "B " not in str(no.value)
    assert client.head().size == 3
    assert "a.example" not in stage.shown()
    stage.back("A")
    assert client.require().size == client.head().size == 5


def test_a_restart_strips_nothing_and_finishes_what_was_begun(stage):
    stage.grow(3)
    stage.client().require()
    whole = stage.shown()
    stage.open("log").recover()
    assert stage.shown() == whole
    (stage.folder / "log/checkpoint").write_text(stage.writer.note() or "")  # killed between the two copies
    stage.open("log").recover()
    assert stage.shown() == whole
    stage.open("log").append([b"leaf 0"], 0)
    assert stage.shown() == whole


def test_lines_that_were_damaged_are_asked_for_again(stage):
    stage.grow(3)
    client = stage.client()
    client.require()
    for path in ("checkpoint", "checkpoints/3"):
        (stage.folder / "log" / path).write_text(stage.shown(path).replace("b.example/w ", "b.example/w A", 1))
    assert client.head().size == 0
    assert client.require().size == 3


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        (WitnessReply(200, TEXT, "\u2014 nobody.example AAAAAAAA\n".encode()), "A gave no line of its key"),
        (WitnessReply(200, TEXT, b""), "A answered incorrectly: no signature lines"),
        (WitnessReply(200, TEXT, b"\xff\xfe\n"), "A answered incorrectly: no signature lines"),
        (WitnessReply(409, SIZE, b"0\n"), "A answered incorrectly: a conflict that names no other size"),
        (WitnessReply(409, SIZE, b"03\n"), "A answered incorrectly: a conflict"),
        (WitnessReply(409, SIZE, b"4"), "A answered incorrectly: a conflict"),
        (
            WitnessReply(409, SIZE, b"77\n"),
            "A has cosigned 77 leaves of this log, which has 3: it has seen another history",
        ),
        (WitnessReply(404, TEXT, b"who?\n"), r"A does not know this log \(404: who\?\)"),
        (WitnessReply(403, TEXT, b""), r"A does not know this log's key \(403\)"),
        (WitnessReply(500, "text/html", b"\x1b[2J" * 99), r"A gave no cosignature \(500\)"),
    ],
)
def test_a_witness_with_a_malformed_answer_is_named(stage, reply, says):
    stage.grow(3)
    stage.parts["A"] = lambda _: reply
    assert stage.client().require().size == 3
    assert len(stage.complaints) == 1
    stage.out("B")
    stage.grow(4)
    stage.complaints.clear()
    with pytest.raises(Unavailable, match=says.replace("has 3", "has 4")):
        stage.client().require()


def test_a_size_that_changes_each_time_is_nonsense_too(stage):
    stage.grow(3)
    sizes = count(1)
    stage.parts["A"] = lambda _: WitnessReply(409, SIZE, b"%d\n" % (next(sizes) % 3))
    stage.client().require()
    assert stage.complaints == ["witness A named a new size each time that it was asked; the others were enough"]


def test_a_size_that_was_nonsense_is_not_held_against_who_named_it(stage):
    stage.grow(3)
    client = stage.client()
    stage.parts["A"] = lambda _: WitnessReply(409, f"{SIZE}; charset=utf-8", b"77\n")
    client.require()
    stage.back("A")
    stage.grow(4)
    client.require()
    assert "a.example" in stage.shown()


def test_a_line_that_does_not_verify_is_not_put_anywhere(stage):
    stage.grow(2)
    stage.client().require()
    old = stage.shown().splitlines(keepends=True)
    stage.grow(3)
    stage.parts["A"] = lambda _: WitnessReply(200, TEXT, next(line for line in old if "a.example" in line).encode())
    stage.client().require()
    assert stage.complaints == ["witness A answered with a signature that does not verify; the others were enough"]
    assert "a.example" not in stage.shown()


def test_a_log_that_forked_is_shown(stage):
    stage.grow(5)
    stage.client().require()
    fork = stage.open("fork")
    stage.grow(5, fork, "another")
    with pytest.raises(Unavailable) as same:
        stage.client(writer=fork).require()
    for name in WITNESSES:
        assert f"{name} has seen another tree of this size (409: size 5 was cosigned with the root" in str(same.value)
    stage.grow(7, fork, "another")
    with pytest.raises(Unavailable) as longer:
        stage.client(writer=fork).require()
    for name in WITNESSES:
        assert f"{name} has seen another history of this log (422" in str(longer.value)
    assert all(one.last(ORIGIN) == stage.writer.checkpoint() for one in stage.witnesses.values())


def test_a_server_with_two_keys_is_asked_once_and_counts_for_both(stage, tmp_path):
    both = LocalWitness(tmp_path / "both", [LOG.verifier], [WITNESSES["A"], WITNESSES["C"]], lambda: 1)
    stage.parts["A"] = both.add_checkpoint
    keys = "".join(f"witness {name} {WITNESSES[name].witness.vkey} https://a.example\n" for name in "AC")
    stage.grow(3)
    stage.client(f"{keys}group G all A C\nquorum G\n").require()
    assert [name for name, _ in stage.asked] == ["A"]


def test_a_witness_that_hangs_is_not_waited_for_longer_than_it_takes(stage):
    stage.grow(3)
    free = threading.Event()

    def hangs(_: bytes) -> WitnessReply:
        free.wait(PATIENCE)
        raise Unavailable("too late")

    stage.parts["C"] = hangs
    try:
        stage.client(grace=0.01).require()
        assert stage.complaints == ["witness C did not answer in time; the others were enough"]
        stage.out("A")
        stage.grow(4)
        with pytest.raises(Unavailable, match="C did not answer in time"):
            stage.client(patience=0.2).require()
    finally:
        free.set()


def test_a_witness_without_a_url_is_missing(stage):
    stage.grow(1)
    with pytest.raises(Unavailable, match="A has no URL in the policy"):
        stage.client(f"witness A {WITNESSES['A'].witness.vkey}\nquorum A\n").require()


def test_without_a_required_witness_nobody_is_asked(stage):
    stage.grow(1)
    assert stage.client("quorum none\n").require().size == 1
    assert not stage.asked


@pytest.mark.slow
def test_many_who_publish_at_once_all_come_to_a_cosigned_head(stage):
    numbers: Iterator[int] = iter(range(1, 41))
    lock = threading.Lock()

    def publish(_):
        client = stage.client()
        while True:
            with lock:
                size = next(numbers, None)
                if size is None:
                    return
                stage.grow(size)
            assert client.require().size >= size

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(publish, range(4)))
    assert stage.client().head().size == 40
    assert stage.writer.fsck() == []


@pytest.mark.full  # in the small size `test_append.py` strikes the log's writer
@pytest.mark.slow
@pytest.mark.parametrize("error", STRIKES)
def test_killed_or_failing_at_each_call_of_log_or_witness_it_finishes_after_a_restart(memory, monkeypatch, error):
    monkeypatch.setattr(threading.Thread, "start", threading.Thread.run)  # so that the witness is struck, too
    stage, kept = Stage(memory / "stage"), memory / "kept"
    policy = f"witness A {WITNESSES['A'].witness.vkey} https://a.example/\nquorum A\n"

    def answer(body: bytes) -> WitnessReply:
        try:
            return stage.witnesses["A"].add_checkpoint(body)
        except OSError:
            return WitnessReply(500, TEXT, b"")

    def play() -> None:
        stage.grow(9)
        stage.client(policy).require()

    stage.parts["A"] = answer
    stage.grow(5)
    stage.client(policy).require()
    shutil.copytree(stage.folder, kept)
    for number in count():
        more = struck(monkeypatch, play, number, error)
        client, seen = stage.client(policy), stage.witnesses["A"].last(ORIGIN)
        assert client.head().size in {5, 9}
        assert seen in {client.head(), stage.writer.checkpoint()}
        play()
        assert client.require() == client.head() == stage.writer.checkpoint()
        assert stage.writer.fsck() == []
        for path in ("checkpoint", "checkpoints/9"):
            client.policy.open(stage.shown(path))
        if not more:
            break
        shutil.rmtree(stage.folder)
        shutil.copytree(kept, stage.folder)
    assert number > 40
