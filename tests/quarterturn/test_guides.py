"""Runs the guides: every command, in its order, as a reader types it, and what they show beside their commands."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from launcher.verbs import POSTGRES
from quarterturn.app import Application
from quarterturn.cli.terminal.secrets import NEXT_PASSPHRASE, PASSPHRASE, PIN
from quarterturn_judge.cases import injected, shipped
from quarterturn_judge.loopback_model import LoopbackModel
from rotation.month import sets

from ..patience import until
from ..sandbox.model_gateway.stub import Stub, Turn
from ..smuggling import REFUSED, spoken
from ..ssh_keys import make_ssh_key
from .conftest import EASY, Say, with_files
from .guides import HOW_TO, ROOT, GuideShell, blocks, commands, heard_at

DRAFT = ROOT / "examples" / "judged" / "tasks.jsonl"
PHRASE = "test-phrase"
EXAMPLE = "postgresql://quarterturn@db.example/quarterturn"


@pytest.mark.own_network
@pytest.mark.box
@pytest.mark.slow
def test_the_guide_to_hosting_works_line_by_line(few, tmp_path, say, monkeypatch):
    shell = GuideShell(tmp_path, say, monkeypatch)
    init, serve, play = commands("host-an-endpoint.md")
    shell.type(init)
    with shell.kept(serve):
        until(lambda: heard_at(9000), "the endpoint listens")
        said = shell.type(play)
    passed = re.search(r"(\d+) of 2 passed", said)
    assert passed, said[-1000:]
    assert int(passed[1]) > 0  # the hosted agent called real tools
    assert "the dev set: 2 of 2" in said


@pytest.fixture
def keys_shell(tmp_path, say, monkeypatch):
    """Return a shell with three people's SSH keys and a folder for tokens."""
    for name in ("ada", "bob", "cyd"):
        make_ssh_key(tmp_path / name)
    (tmp_path / "tokens").mkdir()
    (tmp_path / "softhsm").write_text(f"directories.tokendir = {tmp_path}/tokens\nobjectstore.backend = file\n")
    monkeypatch.setenv("SOFTHSM2_CONF", str(tmp_path / "softhsm"))
    monkeypatch.setenv("HOME", str(tmp_path))
    return GuideShell(tmp_path, say, monkeypatch)


@pytest.mark.slow
@pytest.mark.needs("softhsm", "age")
def test_the_guide_to_the_keys_works_line_by_line(keys_shell, say, monkeypatch):
    present, following = "test-first", "test-next"
    assert len(commands("keep-the-keys.md")) == 15
    for command in commands("keep-the-keys.md"):
        words = shlex.split(command)
        if words[1:4] == ["keys", "remove", "passphrase"]:
            present, following = following, "test-of-bob"
        for name, value in ((PASSPHRASE, present), (NEXT_PASSPHRASE, following), (PIN, "test-pin")):
            monkeypatch.setenv(name, value)
        said = keys_shell.type(command)
        assert "remove" not in words or "fresh one" in said
        locks = "the key ring opens with next or pkcs11 or custodians or passphrase or command"
        assert "doctor" not in words or locks in said

    for secret in ({PASSPHRASE: "test-of-bob"}, {PASSPHRASE: "test-next"}, {PIN: "test-pin"}, {}):
        for name, value in secret.items():
            monkeypatch.setenv(name, value)
        assert say("task", "list", "--home", "home").code == 0


@pytest.mark.slow
def test_the_guide_to_a_signer_with_its_own_user_works_line_by_line(
    stocked: Path, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell, folder = GuideShell(stocked.parent, say, monkeypatch), stocked.parent / "signer"
    (text,) = blocks("keep-the-keys.md", "sh")
    owner = f"{os.geteuid()}:{os.getegid()}"
    ours = text.replace("/var/lib/quarterturn-signer", str(folder)).replace("quarterturn-signer:", owner)
    for command in ours.splitlines():
        shell.type(command)
    settings = stocked / "quarterturn.toml"
    settings.write_text(settings.read_text().replace('signer = ""', f'signer = "{folder}"'))
    (folder / "public").symlink_to(stocked / "public")  # as the guide says for a signer without the unit
    words = [Path(sys.prefix) / "bin" / "quarterturn", "signer", folder]
    with subprocess.Popen(words) as signer:
        try:
            until((folder / "signer.sock").exists, "the signer's socket")
            shell.type("quarterturn turn run --home home")
        finally:
            signer.terminate()
    shell.type("quarterturn log fsck --home home")


@pytest.mark.slow
@pytest.mark.needs("ssh-keygen")
def test_the_guide_for_two_works_line_by_line(stocked: Path, say: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    shell, (table,) = GuideShell(stocked.parent, say, monkeypatch), blocks("two-people.md", "toml")
    for name in ("ada", "bob", "cyd"):
        make_ssh_key(shell.folder / name)
        table = table.replace(name.upper(), (shell.folder / f"{name}.pub").read_text().strip())
    settings = stocked / "quarterturn.toml"
    assert "[approvals]\nactions = []\n" in settings.read_text()
    settings.write_text(settings.read_text().replace("[approvals]\nactions = []\n", table))

    rules, ask, *rest = blocks("two-people.md")
    assert "2 of ada, bob, cyd sign for: activate, export, policy, withdraw" in shell.type(rules.strip())
    request = re.findall(r"approval show (a-\w+)", shell.type(ask.strip(), code=4))[0]
    commands = [line for text in rest for line in text.replace("REQUEST", request).splitlines()]
    answers = [shell.type(command) for command in commands]
    assert "Begin the turn: turn 2026-11" in answers[0]
    assert "signed by ada, bob" in answers[3]
    assert "The turn of 2026-11 is done" in answers[4]
    assert "the chain holds" in answers[5]


@pytest.mark.own_network
@pytest.mark.slow
def test_the_guide_to_witnesses_works_line_by_line(stocked: Path, say: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    shell = GuideShell(stocked.parent, say, monkeypatch)
    shutil.copy(stocked / "public" / "log.vkey", shell.folder / "log.vkey")
    key, serve, work, audit = (block.strip() for block in blocks("run-a-witness.md"))
    (policy,), (table,) = blocks("run-a-witness.md", "text"), blocks("run-a-witness.md", "toml")
    vkey = shell.type(key).strip()
    (stocked / "policy").write_text(policy.replace("VKEY", vkey))
    settings = stocked / "quarterturn.toml"
    assert '[ledger]\npolicy = ""\n' in settings.read_text()
    settings.write_text(settings.read_text().replace('[ledger]\npolicy = ""\n', table))
    turn, checkpoint, proof = work.splitlines()
    with shell.kept(serve, "witnessing at http://127.0.0.1:8703\n"):
        shell.type(turn)
        assert "\u2014 witness.example/one " in shell.type(checkpoint)
        assert "Cosigned by one: order and time are their word too." in shell.type(proof)
        shell.type(f"{turn} --early")  # a month later
        assert REFUSED.fullmatch(spoken("http://127.0.0.1:8703"))
    assert "these witnesses together: one." in shell.type(f"{audit} --accept 1"), "it is turned before its month begins"
    assert len(list((shell.folder / "witnessed").glob("*[0-9a-f]"))) == 1


def add_model(home: Path, shell: GuideShell, tables: str) -> None:
    """Add a model's tables to a home's settings, and put the files of its two keys beside the home."""
    with (home / "quarterturn.toml").open("a") as file:
        file.write(f"\n{tables}")
    for name in ("dev", "private"):
        (shell.folder / f"{name}.key").touch(0o600)
        (shell.folder / f"{name}.key").write_text(f"test-{name}\n")


@pytest.mark.box
@pytest.mark.full
def test_the_guide_to_judged_claims_works_line_by_line(home, say, monkeypatch):
    shell = GuideShell(home.parent, say, monkeypatch)
    (tables,) = blocks("let-a-model-judge-claims.md", "toml")
    with LoopbackModel() as model:
        add_model(home, shell, tables.replace("http://127.0.0.1:8000/v1", model.url))
        assert len(commands("let-a-model-judge-claims.md")) == 6
        said = [shell.type(command) for command in commands("let-a-model-judge-claims.md")]
        assert "The judge is over every bar" in said[3]
        assert "the coverage is 1, and 3/4 is asked for" in said[4]
        for mutant in json.loads(DRAFT.read_text())["provenance"]["mutants"]:
            tried = shell.type(f"quarterturn task try {DRAFT} --mutant {mutant['name']} --home home", code=1)
            assert "Verdict: false" in tried
    unjudged = shell.type(f"quarterturn task try {DRAFT} --home {home.parent / 'none'}", code=1)
    assert "claims are judged by a language model, and none was asked" in unjudged


def test_the_guide_counts_the_corpus_and_shows_the_example():
    page = (HOW_TO / "let-a-model-judge-claims.md").read_text(encoding="utf-8")
    assert f"{len(injected(shipped()))} wrong answers" in page
    (claims,) = [json.loads(block) for block in blocks("let-a-model-judge-claims.md", "json")]
    draft = json.loads(DRAFT.read_text())["task"]["success_predicate"]["all"][0]
    assert claims["answer.claims"]["claims"][0] == draft["answer.claims"]["claims"][0]


@pytest.fixture
def upstream():
    stub = Stub(say=lambda seen: Turn(text="OK"))
    yield stub
    stub.close()


@pytest.fixture
def one_each(copy, monkeypatch):
    """Return a home with one live task, which an agent can play, and with one public task."""
    monkeypatch.setitem(sets.SETS, "one", sets.SetSpec("one", {EASY: 1}, {EASY: 1}, cohorts=1))
    return copy("one", of="one", tasks=1, live=True, write=with_files)


@pytest.mark.box
@pytest.mark.full
def test_the_guides_to_models_work_line_by_line(one_each, upstream, say, monkeypatch, opened):
    shell = GuideShell(one_each.parent, say, monkeypatch)
    (table,) = blocks("use-your-model.md", "toml")
    assert "http://127.0.0.1:8000/v1" in table
    add_model(one_each, shell, table.replace("http://127.0.0.1:8000", upstream.url))
    guided = [*commands("use-your-model.md"), *commands("let-agents-use-a-model.md")]
    assert len(guided) == 10
    said = {command: shell.type(command) for command in guided}
    assert "pass@3" in said[guided[3]]
    assert (one_each.parent / "trace.html").is_file()
    keys = [seen.headers["authorization"] for seen in upstream.own()]
    assert set(keys) == {"Bearer test-dev", "Bearer test-private"}
    house = opened(one_each)
    shown = {task for task, _, channel, _ in house.benchmark.exposures.totals() if channel == "upstream:local"}
    assert len(shown) == house.benchmark.spec.size
    assert {run.track for run in house.runs.store.list()} == {"unofficial"}


@pytest.mark.box
@pytest.mark.slow
def test_the_guides_to_the_service_work_line_by_line(tmp_path, say, monkeypatch, stock, postgres):
    begin, serve, tokens, backup, restore = blocks("run-the-service.md")
    setup, move, play, *_of_runners = blocks("run-on-many-machines.md")  # tests/quarterturn/runners plays those
    assert shlex.split(setup) == ["./run", "setup", *POSTGRES.split()]
    shell = GuideShell(tmp_path, say, monkeypatch, {PASSPHRASE: PHRASE})
    for command in begin.splitlines():
        said = shell.type(command)
    assert re.search(r"clock +the first set is due: .*. Too few reviewed tasks", said)
    house = Application(tmp_path / "home", PHRASE.encode())
    stock(house, 4)
    house.close()
    with shell.kept(serve, "serving", " is done: "):
        token, _, listed = (shell.type(command) for command in tokens.splitlines())
        assert re.search(r"^qt_\w{36}$", token, re.MULTILINE)
        assert "mara  maintainer: " in listed
        shell.type(backup.strip())
    for command in restore.splitlines():
        shell.type(command)
    assert "24 tasks are live" not in shell.type("quarterturn doctor --home again")
    with postgres.empty() as url:
        assert "is as it was on" in shell.type(move.strip().replace(EXAMPLE, url))
        assert not (tmp_path / "moved" / "quarterturn.db").exists()
        served, worked = play.replace(EXAMPLE, url).splitlines()
        with shell.kept(served, "serving"), shell.kept(worked, "working on"):
            pass


@pytest.mark.full
@pytest.mark.box
@pytest.mark.slow
def test_the_draft_in_the_guide_to_tasks_is_tried_imported_and_tried_again(say, home, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("QUARTERTURN_HOME", str(home))
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (draft,) = blocks("write-a-task.md", "json")
    Path("tasks.jsonl").write_text(json.dumps(json.loads(draft)) + "\n")
    lines = [line for block in blocks("write-a-task.md", "sh") for line in block.splitlines()]
    said = [say(*shlex.split(line)[1:]) for line in lines]
    assert [result.code for result in said] == [0, 1, 1, 0, 0], [result.err for result in said]
    assert "Verdict: false, ok" in said[1].out
    assert "Cannot go live" not in said[3].out
    assert "added         file report/open.txt" in said[0].out
    assert "added         file report/open.txt" in said[4].out


@pytest.mark.full
@pytest.mark.box
@pytest.mark.slow
def test_the_guide_to_exports_works_line_by_line(tmp_path, say, monkeypatch):
    shell = GuideShell(tmp_path, say, monkeypatch)
    for command in commands("export-tasks-and-runs.md"):
        shell.type(command)
    assert (tmp_path / "dev-set/croissant.json").is_file()
    assert (tmp_path / "retired/data/results.parquet").is_file()
    assert [path.name for path in (tmp_path / "logs").glob("*.eval")] == ["run-1.eval"]
    assert len(list((tmp_path / "retired-logs").glob("*.eval"))) == 3
    assert len(list((tmp_path / "harbor-tasks").glob("*/task.toml"))) == 12
