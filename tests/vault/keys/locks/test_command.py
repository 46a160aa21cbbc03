"""Tests of the command lock: a key service's answers are checked, and it learns only what it needs."""

import json
import sys
from pathlib import Path

import pytest

from vault.errors import Broken, Locked, Malformed, Unavailable
from vault.keys.locks import command
from vault.keys.locks.command import Command, NewCommand
from vault.keys.locks.lock import text
from vault.keys.ring import FileKeyRing

from ....patience import until

ROOT = bytes(range(32))
RING = "ring:0000000000000000"


@pytest.fixture
def write(tmp_path):
    """Write a command in Python and give its arguments."""

    def written(body: str) -> tuple[str, ...]:
        path = tmp_path / "command.py"
        path.write_text(f"import base64, json, os, sys\nasked = json.loads(sys.stdin.read())\n{body}\n")
        return (sys.executable, str(path), "--profile", "test-one")

    return written


def test_the_service_of_the_example_opens_a_ring(tmp_path, kms):
    ring = FileKeyRing.create(tmp_path / "ring.json", None)
    ring.add_lock(NewCommand(kms))
    assert FileKeyRing.open_by(tmp_path / "ring.json", [Command()]).key_id == ring.key_id
    (tmp_path / "kms.key").write_bytes(b"test-another-key-of-the-service.")
    with pytest.raises(Broken, match="does not unwrap"):
        FileKeyRing.open_by(tmp_path / "ring.json", [Command()])


def test_it_gets_two_values_on_its_input_and_nothing_elsewhere(write, tmp_path, monkeypatch):
    monkeypatch.setenv("TEST_TOKEN", "test-of-somebody-else")
    seen = tmp_path / "seen"
    words = write(
        f"open({str(seen)!r}, 'a').write(json.dumps([asked, sys.argv[1:], dict(os.environ), os.getcwd()]) + '\\n')\n"
        "print(json.dumps({'key': 'AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=', 'wrapped': 'd3JhcA=='}))"
    )
    NewCommand(words).seal(ROOT, "command", RING)
    wrapping, unwrapping = map(json.loads, seen.read_text().splitlines())
    assert set(wrapping[0]) == {"context", "key"}
    assert set(unwrapping[0]) == {"context", "wrapped"}
    assert wrapping[0]["context"] == unwrapping[0]["context"]
    assert wrapping[1] == ["--profile", "test-one", "wrap"]
    assert unwrapping[1] == ["--profile", "test-one", "unwrap"]
    assert set(wrapping[2]) - {"LC_CTYPE"} <= {"PATH", "HOME", "LANG", "TZ"}
    assert wrapping[3] == "/"
    assert wrapping[0]["key"] not in json.dumps(wrapping[1:])


@pytest.mark.parametrize(
    ("code", "answer", "kind", "sentence"),
    [
        (1, "", Locked, "the service refused"),
        (2, "", Broken, "does not unwrap"),
        (6, "", Unavailable, "cannot be reached"),
        (3, "", Unavailable, "ended with code 3"),
        (-9, "", Unavailable, "ended with code -9"),
        (0, "hello", Malformed, "is not JSON"),
        (0, "[]", Malformed, "must be a JSON object"),
        (0, "{}", Malformed, r"\$\.wrapped: it must be base64"),
        (0, '{"wrapped": 1}', Malformed, r"\$\.wrapped"),
        (0, '{"wrapped": "!"}', Malformed, r"\$\.wrapped"),
        (0, '{"wrapped": ""}', Malformed, "0 bytes"),
        (0, f'{{"wrapped": "{"AAAA" * 1667}"}}', Malformed, "5001 bytes"),
        (0, f'{{"wrapped": "{text(ROOT)}", "key": "{text(ROOT)}"}}', Broken, "did not wrap"),
        (0, '{"wrapped": "d3JhcA==", "key": "AAAA"}', Broken, "gave 3 bytes"),
        (0, f'{{"wrapped": "d3JhcA==", "key": "{text(bytes(32))}"}}', Broken, "does not give back"),
    ],
)
def test_an_error_of_the_command_is_a_sentence_and_makes_no_lock(monkeypatch, code, answer, kind, sentence):
    monkeypatch.setattr(command, "run", lambda *_: (code, answer.encode()))
    with pytest.raises(kind, match=sentence) as error:
        NewCommand(["/bin/hook"]).seal(ROOT, "command", RING)
    assert "AAECAwQ" not in str(error.value)


def test_an_answer_without_an_end_is_cut_off(write):
    with pytest.raises(Malformed, match="more than 65536 bytes"):
        NewCommand(write("while True: print('y' * 1000)")).seal(ROOT, "command", RING)


@pytest.mark.slow
def test_a_command_that_does_not_answer_is_killed_with_its_children(tmp_path):
    child = tmp_path / "child"
    words = ("/bin/sh", "-c", f"sleep 600 & echo $! > {child}; wait")
    for limit in (1, 10, 60):  # long enough for its child to be there
        with pytest.raises(Unavailable, match=f"did not answer within {limit} s"):
            NewCommand(words, time_limit=float(limit)).seal(ROOT, "command", RING)
        if child.exists() and child.read_text().strip():
            break
    gone_within_reason(int(child.read_text()))


def gone_within_reason(process: int) -> None:
    stat = Path(f"/proc/{process}/stat")

    def gone() -> bool:
        return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z"

    until(gone, "the end of the command's child")
