"""Tests of a home with witnesses: nothing goes live without enough cosignatures, with real servers on the loopback."""

import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
import uvicorn
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from starlette.testclient import TestClient

from quarterturn.app import Application
from quarterturn.errors import Malformed, NotFound
from quarterturn.home import policies
from quarterturn.home.witnesses import MAX_ANSWER, WitnessClient
from quarterturn.http.responses.listening import Listening
from quarterturn.http.routes.witness import create
from quarterturn.settings import LedgerSettings
from rotation.calendar import Month
from vault.errors import Locked, Refused, Unavailable
from vault.errors import Malformed as NoKey
from vault.keys import witness_keys
from vault.ledger.signatures.checkpoint import Checkpoint
from vault.ledger.signatures.note import Signer, Verifier
from vault.ledger.signatures.policy import Policy
from vault.ledger.statements.leaf import Statement
from vault.ledger.write.cosigning import Witnesses
from vault.ledger.write.witness import MAX_BODY, SIZE, LocalWitness

from ...patience import PATIENCE
from ...rotation.conftest import NamedBox, submission
from ..conftest import committed, configure
from ..loopback import Request, serving

LOG = Signer("test.example/log", Ed25519PrivateKey.from_private_bytes(bytes(32)))
KINDS = {"ada": "ed25519", "bob": "ed25519", "cyd": "ml-dsa-44"}


@pytest.fixture(autouse=True)
def _patient_with_witnesses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Raise the time limit for witnesses; a stopped witness refuses at once."""
    monkeypatch.setattr("quarterturn.home.witnesses.Witnesses", partial(Witnesses, patience=300.0, grace=120.0))
    monkeypatch.setattr("quarterturn.home.witnesses.SECONDS", 300.0)


class Served:
    """A witness on the loopback that can be stopped and started again at the same port."""

    def __init__(self, folder: Path, name: str, log: Verifier) -> None:
        self.cosigner = witness_keys.create(folder / f"{name}.key", f"{name}.example/witness", KINDS[name])
        self.local = LocalWitness(folder / name, [log], [self.cosigner], lambda: int(time.time()))
        self._place = kept_place()
        self.port = self._place.getsockname()[1]
        self.start()

    def start(self) -> None:
        up, app = threading.Event(), create(self.local)
        config = uvicorn.Config(app, port=self.port, ws="none", lifespan="off", log_config=None)
        self.server = Listening(config, lambda _url: up.set())
        self.thread = threading.Thread(target=self.server.run)
        self.thread.start()
        assert up.wait(PATIENCE)

    def stop(self) -> None:
        self.server.should_exit = True
        self.thread.join(PATIENCE)

    def end(self) -> None:
        self.stop()
        self._place.close()


def kept_place() -> socket.socket:
    """Reserve a loopback port, so that nobody else listens there between two starts."""
    place = socket.socket()
    place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    place.bind(("127.0.0.1", 0))
    return place


@pytest.fixture
def witnessed(stocked: Path) -> Iterator[tuple[Path, dict[str, Served]]]:
    """Make a home whose settings name two of three witnesses, and start these."""
    log = Verifier.parse((stocked / "public" / "log.vkey").read_text())
    served = {name: Served(stocked.parent / "witnesses", name, log) for name in KINDS}
    lines = [f"witness {n} {one.cosigner.witness.vkey} http://127.0.0.1:{one.port}/" for n, one in served.items()]
    (stocked / "policy").write_text("\n".join([*lines, "group any-two 2 ada bob cyd", "quorum any-two", ""]))
    configure(stocked, ledger=LedgerSettings(policy="policy"))
    yield stocked, served
    for one in served.values():
        one.end()


def opened(home: Path) -> tuple[Policy, bytes]:
    policy = policies.of(Application(home, None).home.places, "policy")
    assert policy
    return policy, (home / "public" / "log" / "checkpoint").read_bytes()


@pytest.mark.full
@pytest.mark.slow
def test_a_home_goes_on_with_two_of_three_and_waits_with_one(say: Callable, witnessed: tuple) -> None:
    home, served = witnessed
    forked = Path(shutil.copytree(home, home.parent / "forked"))

    served["ada"].stop()
    served["cyd"].stop()
    waits = say("turn", "run", "--home", home).refuses(
        6,
        "too few witnesses have cosigned it for the quorum 'any-two'",
        "ada does not answer (no connection)",
        "cyd does not answer (no connection)",
    )
    assert "bob" not in waits.sentence
    house = Application(home, None)
    assert not house.home.vault.records("live")
    assert house.log.ledger.published.size == 0 < house.log.writer.size
    assert "wrong   witnesses   the log's head waits for the quorum 'any-two'" in say("doctor", "--home", home).out

    served["ada"].start()
    assert say("turn", "run", "--home", home).code == 0
    assert len(house.home.vault.records("live")) == 24
    policy, note = opened(home)
    assert set(policy.open(note).witnesses) == {"ada", "bob"}
    assert "witnesses   the log's head is cosigned by ada, bob" in say("doctor", "--home", home).out
    assert say("log", "proof", "0", "--home", home).out.splitlines()[-1].startswith("Cosigned by ada, bob: ")
    assert say("log", "proof", "0", "--home", home, "--json").data["witnesses"] == ["ada", "bob"]

    served["cyd"].start()
    turned = say("turn", "run", "--early", "--home", home)
    assert turned.code == 0
    assert set(policy.open(opened(home)[1]).witnesses) == set(KINDS)
    release, key = home / "public" / "releases" / "Historical-2026-12", home / "public" / "log.vkey"
    audited = say("audit", release, "--key", key, "--policy", home / "policy")
    assert "these witnesses together: ada, bob, cyd" in audited.out
    assert "a leaf is cosigned in its month, within a day" in audited.out, "it was turned before its month began"
    assert say("audit", release, "--key", key, "--policy", home / "policy", "--accept", "1").code == 0
    (home / "strict").write_text((home / "policy").read_text().replace("2 ada", "3 ada"))
    checkpoint = release / "log" / "checkpoint"
    lines = checkpoint.read_text().splitlines(keepends=True)
    checkpoint.write_text("".join(line for line in lines if not line.startswith("\u2014 bob.")))
    assert len(checkpoint.read_text().splitlines()) == len(lines) - 1
    refused = say("audit", release, "--key", key, "--policy", home / "strict")
    assert refused.code == 1
    assert "cosigned by ada, cyd; the quorum 'any-two' needs more" in refused.out

    other = say("turn", "run", "--home", forked)  # the same key over another history
    assert other.code == 6
    for name in KINDS:
        assert f"{name} has cosigned" in other.sentence or f"{name} has seen another" in other.sentence
    assert not Application(forked, None).home.vault.records("live")


@pytest.mark.slow
def test_a_run_is_opened_and_closed_under_cosigned_heads_only(witnessed: tuple) -> None:
    home, served = witnessed
    house = Application(home, None)
    house.month.rotation.run(Month.parse("2026-11"))
    served["ada"].stop()
    served["bob"].stop()
    before = house.log.writer.size
    house.log.ledger.record("test/one", committed(1))
    with pytest.raises(Unavailable, match="ada does not answer"):
        house.runs.official.open(submission("one"), NamedBox())
    assert not house.runs.store.list()
    assert house.log.ledger.published.size == before
    served["bob"].start()
    run = house.runs.official.open(submission("one"), NamedBox())
    statement = Statement.parse(
        house.log.ledger.leaf(house.log.ledger.find(f"run-open/{run.record.number}") or 0), "it"
    )
    size = statement.predicate["checkpoint"]["size"]
    policy, _ = opened(home)
    assert set(policy.open((home / f"public/log/checkpoints/{size}").read_bytes()).witnesses) == {"bob", "cyd"}


@pytest.fixture
def client(tmp_path: Path) -> TestClient:
    key = witness_keys.create(tmp_path / "key", "w.example", "ed25519")
    return TestClient(create(LocalWitness(tmp_path / "state", [LOG.verifier], [key], lambda: 1)))


def test_a_witness_answers_one_call(client: TestClient) -> None:
    empty = f"old 0\n\n{Checkpoint.empty(LOG.name).sign(LOG)}"
    reply = client.post("/add-checkpoint", content=empty)
    assert (reply.status_code, reply.text.startswith("\u2014 w.example ")) == (200, True)
    assert client.post("/add-checkpoint", content=b"nothing").status_code == 400
    assert client.post("/add-checkpoint", content=b"x" * (MAX_BODY + 1)).status_code == 400
    assert client.get("/add-checkpoint").status_code == 405
    elsewhere = client.post("/add-checkpoint/", headers={"host": "elsewhere.example"}, follow_redirects=False)
    assert (elsewhere.status_code, "location" in elsewhere.headers) == (404, False)
    assert [client.get(path).status_code for path in ("/", "/docs", "/openapi.json", "/checkpoint")] == [404] * 4
    one = Checkpoint(LOG.name, 1, bytes(32)).sign(LOG)
    assert client.post("/add-checkpoint", content=f"old 0\n\n{one}").status_code == 200
    conflict = client.post("/add-checkpoint", content=f"old 0\n\n{one}")
    assert (conflict.status_code, conflict.headers["content-type"], conflict.text) == (409, SIZE, "1\n")


def test_a_witness_that_cannot_keep_what_it_saw_signs_nothing(client: TestClient, tmp_path: Path) -> None:
    (tmp_path / "state").write_text("in the way")
    reply = client.post("/add-checkpoint", content=f"old 0\n\n{Checkpoint.empty(LOG.name).sign(LOG)}")
    assert reply.status_code == 503
    assert str(tmp_path) not in reply.text


@pytest.mark.parametrize("kind", ["ed25519", "ml-dsa-44"])
def test_a_witness_key_is_a_file_for_nobody_else(say: Callable, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "w.key"
    made = say("log", "witness-key", "w.example/w", "--out", path, "--type", kind)
    assert made.code == 0
    assert witness_keys.read(path).witness.vkey == made.out.strip()
    assert path.stat().st_mode & 0o777 == 0o600
    say("log", "witness-key", "w.example/w", "--out", path).refuses(8, "There is a witness key")
    path.chmod(0o644)
    with pytest.raises(Locked, match=r"open to others \(mode 0644\): chmod 600"):
        witness_keys.read(path)


def test_malformed_witness_keys_are_refused(say: Callable, tmp_path: Path) -> None:
    assert say("log", "witness-key", "a name", "--out", tmp_path / "k").code == 2
    assert not (tmp_path / "k").exists()
    with pytest.raises(Refused, match="already"):
        witness_keys.create(tmp_path, "w.example", "ed25519")
    good = '{"format": "quarterturn/witness-key/v1", "name": "w", "type": "ed25519", "key": "AAAA"}'
    for text, says in (
        ("{}", "does not say quarterturn/witness-key/v1"),
        (good, "holds 3 bytes"),
        (good.replace("ed25519", "rsa"), "of no type that we know"),
        (good.replace("AAAA", "A"), "base64"),
        ("[", "JSON|not"),
    ):
        (tmp_path / "bad").write_text(text)
        (tmp_path / "bad").chmod(0o600)
        with pytest.raises(NoKey, match=says):
            witness_keys.read(tmp_path / "bad")


def test_a_witness_is_sent_what_it_lacks(say: Callable, tmp_path: Path) -> None:
    key, state = tmp_path / "w.key", tmp_path / "state"
    say("log", "witness-key", "w.example", "--out", key)
    words = ["log", "witness", "--key", key, "--state", state]
    assert say(*words, "--log", "nonsense").code == 2
    assert say(*words, "--log", LOG.verifier.vkey, "--listen", "here").code == 2
    assert say("log", "witness", "--key", state, "--state", state, "--log", LOG.verifier.vkey).code == 7


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("quorum", "line 1 of the policy|newline"),
        ("witness W {} http://w.example/\nquorum W\n", "the URL of witness W is neither https nor on the loopback"),
        ("witness W {}\nquorum W\n", "too few witnesses have a URL for the quorum 'W'"),
    ],
)
def test_a_policy_that_can_never_be_met_is_refused(tmp_path: Path, text: str, says: str) -> None:
    vkey = witness_keys.create(tmp_path / "key", "w.example", "ed25519").witness.vkey
    (tmp_path / "policy").write_text(text.format(vkey))
    with pytest.raises(Malformed, match=says):
        policies.read(tmp_path / "policy")
    with pytest.raises(NotFound, match="no policy at"):
        policies.read(tmp_path / "nothing")


@pytest.mark.slow
def test_an_answer_without_an_end_is_cut_off() -> None:
    def endless(request: Request) -> None:
        request.send_response(200)
        request.send_header("transfer-encoding", "chunked")
        request.end_headers()
        part = b"x" * (MAX_ANSWER // 4)
        with suppress(ConnectionError):  # nobody hears the end
            for _ in range(9):
                request.wfile.write(b"%x\r\n%b\r\n" % (len(part), part))
        request.close_connection = True

    with serving(endless) as url, pytest.raises(Unavailable, match="without an end"):
        WitnessClient()(url, b"")
    with pytest.raises(Unavailable, match="does not answer"):
        WitnessClient()(url, b"")
