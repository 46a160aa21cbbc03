"""Tests of checking a predicate against a state that the user keeps in files."""

import json
import sqlite3
from base64 import b64encode
from pathlib import Path

import pytest

from rotation.month.sets import Stratum

pytestmark = pytest.mark.box

ROOT = Path(__file__).parents[3]
ADA = {"postgres.rowExists": {"table": "people", "where": {"name": "Ada"}}}


@pytest.fixture
def state(tmp_path):
    folder = tmp_path / "state"
    (folder / "filesystem").mkdir(parents=True)
    return folder


@pytest.fixture
def checked(say, state, tmp_path):
    def check(predicate, *more):
        file = tmp_path / "predicate.json"
        file.write_text(json.dumps(predicate))
        return say("predicate", "check", "--state", state, "--predicate", file, "--box", "bwrap", *more)

    return check


@pytest.mark.needs("databases")
def test_every_kind_of_state_is_read_in_one_check(state, checked):
    (state / "filesystem" / "a.txt").write_text("hi")
    (state / "postgres.sql").write_text("CREATE TABLE people (name text); INSERT INTO people VALUES ('Ada');")
    (state / "redis.json").write_text('{"strings": {"greeting": "hello"}}')
    base = sqlite3.connect(state / "sqlite.db")
    base.execute("CREATE TABLE t (x)")
    base.close()
    all_four = [
        *(ADA, {"redis.stringEquals": {"key": "greeting", "value": "hello"}}),
        *({"sqlite.tableExists": {"table": "t"}}, {"filesystem.fileExists": {"path": "a.txt"}}),
    ]
    said = checked({"all": [*all_four, {"answer.equals": {"text": "done"}}]}, "--answer", "done", "--json")
    assert (said.code, said.data["verdict"]) == (0, "true")
    said = checked({"all": [*all_four, {"answer.equals": {"text": "done"}}]}, "--answer", "not yet", "--json")
    assert (said.code, said.data["verdict"]) == (1, "false")


@pytest.mark.needs("databases")
def test_a_dump_that_cannot_be_loaded_is_named(state, checked):
    (state / "postgres.sql").write_text("CREAT TABLE people (name text);")
    checked(ADA).refuses(2, "postgres.sql cannot be loaded by postgres")


def test_if_no_backend_can_be_started_the_others_are_not_judged(state, checked, monkeypatch):
    (state / "postgres.sql").write_text("CREATE TABLE people (name text);")
    monkeypatch.setattr("quarterturn.boxes.BOXES", {"bwrap": absent})
    checked(ADA).refuses(6, "postgres.sql needs a throwaway postgres, which cannot be started")


def absent(**_):
    from sandbox.boxes.bwrap.box import BwrapBox
    from sandbox.errors import Unavailable

    class Bare(BwrapBox):
        def world(self, *_):
            raise Unavailable("PostgreSQL is missing")

    return Bare()


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("notes.txt", "hi", "notes.txt is the state of no namespace"),
        ("redis.json", '{"strings": {"a": 1}}', "redis.json"),
        ("redis.json", "{", "redis.json"),
        ("postgres.db", "", "postgres.db is the state of no namespace"),
    ],
)
def test_a_folder_that_is_no_state_is_refused_in_one_sentence(state, checked, name, content, says):
    (state / name).write_text(content)
    checked(ADA).refuses(2, says)


def test_a_state_given_twice_is_refused(state, checked):
    (state / "sqlite").mkdir()
    (state / "sqlite.db").write_bytes(b"")
    assert "twice" in checked(ADA).sentence


def test_a_state_of_a_release_is_judged_from_its_file_by_the_predicate_of_the_task(say, tmp_path, document):
    task = document(Stratum("filesystem", "single-tool", "easy"), 7)
    task["free"] = {"folder": {"from": ["number-7", "elsewhere"]}}
    task["goal"] = "Make the folder {{folder}}."
    task["success_predicate"] = {"filesystem.directoryExists": {"path": "{{folder}}"}}
    (tmp_path / "task.json").write_text(json.dumps(task))
    words = ("predicate", "check", "--state", tmp_path / "state.json", "--predicate", tmp_path / "task.json")
    for name, code, verdict in (("number-7", 0, "true"), ("elsewhere", 1, "false")):
        state = {"filesystem": {name: {"kind": "directory", "mode": 0o755}}}
        (tmp_path / "state.json").write_text(json.dumps(state))
        said = say(*words, "--json")
        assert (said.code, said.data["verdict"]) == (code, verdict)
    (tmp_path / "state.json").write_text('{"filesystem": {"a": {"kind": "file"}}}')
    say(*words).refuses(2, "state.json is no state: the state at $.filesystem['a'] needs")


def test_the_worked_example_derives_a_baseline_again(say, tmp_path):
    page = (ROOT / "docs" / "reference" / "worked-example.md").read_text().partition("## 10. ")[2]
    task, state, command = (line.strip() for line in page.splitlines() if line.startswith("    "))
    (tmp_path / "task.json").write_text(task)
    words = [tmp_path / word if word.endswith(".json") else word for word in command.split()[1:]]
    other = state.replace(b64encode(b"one\n").decode(), b64encode(b"two\n").decode())
    assert other != state
    for left, code, verdict in ((state, 0, "true"), (other, 1, "false")):
        (tmp_path / "state.json").write_text(left)
        said = say(*words, "--box", "bwrap", "--json")
        assert (said.code, said.data["verdict"]) == (code, verdict)
    assert page.split("`")[-2] in said.out


def test_claims_are_judged_again_from_replies_that_a_result_has_and_no_model_is_asked(checked, tmp_path):
    claims = {"answer.claims": {"claims": [{"id": "who", "text": "It was Ada."}]}}
    assert checked(claims, "--answer", "It was Ada.", "--json").data["verdict"] == "unknown"
    file = tmp_path / "replies.json"
    for outcome, verdict in (("correct", "true"), ("incorrect", "false"), ("perhaps", "unknown")):
        file.write_text(json.dumps({"who": json.dumps({"outcome": outcome, "justification": ""})}))
        said = checked(claims, "--answer", "It was Ada.", "--replies", file, "--json")
        assert (said.code, said.data["verdict"]) == (int(verdict != "true"), verdict)
    file.write_text('{"who": 1}')
    assert "must hold a text for each claim" in checked(claims, "--replies", file).sentence
    assert checked(claims, "--replies", tmp_path / "none.json").code == 3
