"""Tests of bad input to verbs: the right exit code, one sentence that names the place, and nothing half-written."""

from __future__ import annotations

import json
import shutil
from copy import deepcopy
from pathlib import Path

import pytest

from grammars.language.load import LIBRARY
from quarterturn.cli.auditing.plumb import VERBS
from rotation.month.sets import Stratum
from vault.file_lock import locked

VECTORS = Path(__file__).parents[1] / "vectors" / "ledger"
GOOD = VECTORS / "good" / "Historical-2026-12"
STRATUM = Stratum("filesystem", "single-tool", "easy")


@pytest.fixture
def refused(say, tmp_path, listing):
    """Check that a command fails with one sentence, in both forms, and changes nothing."""

    def check(code: int, sentence: str, *words: object) -> None:
        before = listing(tmp_path)
        plain, asked = say(*words), say(*words, "--json")
        assert (plain.code, asked.code) == (code, code), plain.err
        assert sentence in plain.sentence
        assert plain.err.count("\n") == 1
        assert plain.out == ""
        assert asked.object == {"ok": False, "data": {"error": asked.data["error"], "exit": code}}
        assert sentence in asked.data["error"]
        assert "Traceback" not in plain.err + asked.err
        assert listing(tmp_path) == before

    return check


# -- homes and configuration ------------------------------------------------------------------------------------------

ANY = [
    ["task", "list"],
    ["task", "review", "--as", "ada"],
    ["turn", "plan"],
    ["turn", "run"],
    ["release", "path", "2026-12"],
    ["leaderboard"],
    ["access", "log"],
    ["keys", "list"],
    ["log", "checkpoint"],
    ["log", "fsck"],
    ["run", "--as", "me", "--set", "private", "--agent", "true"],
]


@pytest.mark.parametrize("words", ANY, ids=" ".join)
def test_a_missing_home_is_three(words, refused, tmp_path):
    refused(3, "make one with `quarterturn init --home", *words, "--home", tmp_path / "none")


def test_a_folder_that_is_no_home_is_three(refused, tmp_path):
    refused(3, f"there is no home at {tmp_path}", "task", "list", "--home", tmp_path)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ("[run]\nworker = 3\n", "'run.worker' is not a setting; did you mean 'workers'?"),
        ("[run]\nworkers = 'many'\n", "'run.workers' is wrong"),
        ("[run\n", "is not TOML"),
        ("[database]\nurl = 'no address'\n", "database's address cannot be used"),
        ("[database]\nurl = 'sqlite:////nowhere/at/all.db'\n", "cannot be opened"),
    ],
)
def test_a_malformed_configuration_is_named(wrong, sentence, refused, home):
    (home / "quarterturn.toml").write_text(f'[benchmark]\nfirst_month = "2026-12"\n{wrong}')
    code = 6 if "opened" in sentence else 2
    refused(code, sentence, "task", "list", "--home", home)


def test_a_file_in_the_place_of_a_home_is_named_as_one(refused, tmp_path):
    file = tmp_path / "notes.txt"
    file.write_text("")
    refused(3, f"{file} is a file, and a home is a folder", "task", "list", "--home", file)


def test_a_home_that_lost_its_database_is_three_and_gets_no_empty_one(refused, home):
    for left in home.glob("quarterturn.db*"):
        left.unlink()
    refused(3, "the home has lost its database", "task", "list", "--home", home)


def test_an_unknown_set_is_three(refused, tmp_path):
    sentence = "there is no set 'huge'; the shipped sets are: demo, mcpbench"
    refused(3, sentence, "init", "--home", tmp_path / "home", "--set", "huge")


def test_a_set_whose_grammars_are_missing_makes_no_home(refused, tmp_path, monkeypatch):
    monkeypatch.setattr("grammars.language.load.library", lambda: ["filesystem", "git", "sqlite"])
    sentence = "tasks of calendar, email, github, memory, postgres, redis, spreadsheet, which have no shipped grammar"
    refused(3, sentence, "init", "--home", tmp_path / "home", "--set", "mcpbench")


@pytest.mark.slow
def test_the_dev_set_of_an_unknown_set_is_three_and_a_live_set_is_no_dev_set(refused):
    words = ["run", "--as", "me", "--agent", "true", "--dev-of"]
    refused(3, "there is no set 'huge'", *words, "huge")
    sentence = "--dev-of, --task, --limit, --trials, --trace and --out are for the dev set"
    refused(2, sentence, *words, "demo", "--set", "private")


@pytest.mark.parametrize(
    ("origin", "sentence"),
    [("my log", "a schema-less URL that you own"), ("https://me.example/log", "write it as me.example/log")],
)
def test_a_log_name_with_a_blank_or_a_scheme_is_two(origin, sentence, refused, tmp_path):
    refused(2, sentence, "init", "--home", tmp_path / "home", "--origin", origin)


def test_a_database_that_is_none_is_two(refused, home):
    (home / "quarterturn.db").write_bytes(b"not a database, but long enough to be looked at" * 100)
    refused(2, "is not a database that we can read", "task", "list", "--home", home)


def test_a_key_ring_that_is_none_is_two(refused, home):
    (home / "keys" / "ring.json").write_text('{"format": 1}')
    refused(2, "key ring", "task", "list", "--home", home)


def test_a_key_ring_that_others_may_read_is_seven(refused, home):
    (home / "keys" / "ring.json").chmod(0o644)
    refused(7, "chmod 600", "task", "list", "--home", home)


def test_a_missing_signing_key_is_seven(refused, stocked):
    (stocked / "keys" / "log.key").unlink()
    refused(7, "no signing key", "turn", "run", "--home", stocked)


# -- months, runs and tasks -------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("text", ["2026-13", "2026", "December", "2026-1", "٢٠٢٦-١٢", "2026-12\n"])
def test_a_text_that_is_no_month_is_two(text, refused, home, tmp_path):
    for words in (["release", "path", text], ["leaderboard", "--month", text], ["turn", "run", "--month", text]):
        refused(2, "is not a month: write it as YYYY-MM", *words, "--home", home)
    refused(2, "is not a month", "init", "--home", tmp_path / "new", "--month", text)


def test_a_month_that_was_never_turned_is_three(refused, live):
    refused(3, "the turn of 2027-05 was never started", "release", "path", "2027-05", "--home", live)


@pytest.mark.slow
def test_a_turn_out_of_order_is_four(refused, live):
    refused(4, "the next turn is 2026-12, not 2027-02", "turn", "run", "--month", "2027-02", "--home", live)
    refused(4, "the turn of 2026-11 is done", "turn", "run", "--month", "2026-11", "--home", live)


def test_a_turn_without_tasks_is_eight_and_stops_nothing(refused, home):
    refused(8, "filesystem/single-tool/easy lacks 4", "turn", "run", "--home", home)
    refused(8, "Draw and review more", "turn", "plan", "--home", home)


def test_running_when_nothing_is_live_is_four(refused, stocked):
    words = ["run", "--as", "me", "--set", "private", "--agent", "true", "--home", stocked]
    refused(4, "no set is live yet", *words)


@pytest.mark.parametrize(
    "case",
    [
        (2, "cannot be split into words", ["--agent", 'python "x']),
        (2, "the agent's command is empty", ["--agent", ""]),
        (3, "is not a file", ["--agent", "./no/such/agent"]),
        (2, "the submitter 'No One' must be", ["--agent", "true", "--as", "No One"]),
        (2, "without user", ["--endpoint", "agent.example"]),
    ],
)
@pytest.mark.parametrize("tasks", ["dev", "private"])
def test_an_agent_that_cannot_be_run_is_refused_before_a_box_is_made(case, tasks, refused, live):
    code, sentence, words = case
    refused(code, sentence, "run", "--set", tasks, "--home", live, "--as", "me", *words)


def test_a_folder_in_the_place_of_a_file_for_traces_is_two_before_anything_is_played(refused, tmp_path):
    refused(2, "is a directory", "run", "--as", "me", "--agent", "true", "--out", tmp_path)


def test_a_program_that_is_not_executable_is_two_before_anything_is_played(refused, tmp_path):
    agent = tmp_path / "agent.py"
    agent.write_text("")
    refused(2, f"is not executable: `chmod +x {agent}`", "run", "--as", "me", "--agent", agent)


def test_a_file_in_the_place_of_a_witness_folder_is_two(say, tmp_path):
    file = tmp_path / "state"
    file.write_text("")
    key = VECTORS / "log.vkey"
    answer = say("log", "witness", "--key", key, "--log", key, "--state", file)
    assert (answer.code, "is a file" in answer.sentence) == (2, True), answer.err


def test_an_endpoint_over_plain_http_is_eight_and_nobody_is_asked_for_its_address(say, monkeypatch):
    monkeypatch.setattr("socket.getaddrinfo", lambda *_, **__: pytest.fail("the name was looked up"))
    answer = say("run", "--as", "me", "--endpoint", "http://agent.example.org/tasks", "--limit", "1")
    assert (answer.code, "is not https: a task is never sent in the clear" in answer.sentence) == (8, True), answer.err


def test_two_draws_at_once_are_refused(refused, home):
    with locked(home / "head" / "draw.lock", 0, "drawing tasks"):
        refused(6, "the lock for drawing tasks", "task", "admit", "--as", "ada", "--home", home)


def test_the_exposure_of_an_unknown_task_is_three(refused, live):
    refused(3, "There is no task t-nope", "watch", "exposure", "--task", "t-nope", "--home", live)


def test_a_log_that_lost_its_checkpoint_is_three_and_does_not_count_as_new(refused, live):
    (live / "public" / "log" / "checkpoint").unlink()
    refused(3, "is missing, and heads were signed", "log", "checkpoint", "--home", live)


def test_a_folder_in_the_place_of_the_monitors_state_is_two(refused, tmp_path):
    refused(2, "is a directory", "log", "monitor", VECTORS, "--key", VECTORS / "log.vkey", "--state", tmp_path)


def test_a_folder_that_is_no_release_is_three_and_no_failed_audit(refused, tmp_path):
    refused(3, "is no release folder", "audit", tmp_path, "--key", VECTORS / "log.vkey")


def test_a_missing_token_file_is_seven_and_called_one(refused, tmp_path):
    words = ["submissions", "--to", "http://127.0.0.1:9", "--token-file", tmp_path / "none"]
    refused(7, "There is no file with the token at", *words)


def test_a_folder_with_keys_is_not_given_to_an_agent(refused, live):
    agent = live / "agent.py"
    agent.write_text("")
    refused(8, "would be given the home", "run", "--as", "me", "--agent", f"python3 {agent}", "--home", live)


@pytest.mark.parametrize("words", [["task", "show"], ["task", "review"], ["task", "review", "--approve"]])
def test_an_unknown_task_is_three(words, refused, live):
    verb, rest = words[:2], words[2:]
    refused(3, "There is no task t-nope", *verb, "t-nope", *rest, "--as", "ada", "--home", live)


def test_reviews_that_contradict_themselves_are_two(refused, live):
    ours = ["--as", "grace", "--home", live]
    refused(2, "exclude each other", "task", "review", "t-x", "--approve", "--reject", "no", *ours)
    refused(2, "name one task, or give --batch", "task", "review", "t-x", "--batch", *ours)
    refused(2, "which task?", "task", "review", "--approve", *ours)
    refused(2, "which task?", "task", "review", "--reject", "dull", *ours)


def test_a_leaf_that_is_not_in_the_log_is_three(refused, live):
    refused(3, "there is no leaf 999 in a log of", "log", "proof", "999", "--home", live)


def test_a_log_without_a_checkpoint_is_three(refused, home):
    refused(3, "has no checkpoint yet", "log", "checkpoint", "--home", home)


# -- hand-written tasks -----------------------------------------------------------------------------------------------

PROVENANCE = {
    "template": "by-hand",
    "skeleton": "by-hand/1",
    "solutions": [
        {
            "name": "make it",
            "calls": [{"tool": "filesystem.create_directory", "arguments": {"path": "/data/files/number-1"}}],
            "answer": None,
        }
    ],
    "mutants": [
        {"name": "gone", "server": "filesystem", "change": {"remove": "number-1"}},
        {"name": "elsewhere", "server": "filesystem", "change": {"move": {"from": "number-1", "to": "number-2"}}},
    ],
}


def change(path: str, value: object):
    """Set a field of the line: `task.goal` = value; None removes the key."""

    def apply(line: dict) -> None:
        *way, last = path.split(".")
        for step in way:
            line = line[int(step)] if step.isdigit() else line[step]
        if value is None:
            del line[last]
        else:
            line[last] = value

    return apply


BAD_TASKS = {
    "goal missing": (change("task.goal", None), "line 2: the task is malformed at $: it lacks goal"),
    "key unknown": (change("task.colour", "red"), "line 2: the task is malformed at $: it may not have colour"),
    "steps are text": (change("task.max_steps", "8"), "$.max_steps: it must be of type integer"),
    "id of another form": (change("task.id", "task-1"), "$.id: the text does not match"),
    "another schema": (change("task.schema", "quarterturn/task/v2"), "$.schema"),
    "too few tools": (change("task.available_tools", ["filesystem.read_file"]), "needed are at least 12"),
    "tool of nobody": (change("task.available_tools", [f"filesystem.x{n}" for n in range(12)]), "no pinned server has"),
    "state of nobody": (change("task.initial_state", {"email": {}}), "$.initial_state.email"),
    "state of no form": (change("task.initial_state", {"filesystem": {"file": 1}}), "the initial state of filesystem"),
    "predicate of nobody": (
        change("task.success_predicate", {"filesystem.fileExist": {"path": "x"}}),
        "near it: filesystem.fileExists",
    ),
    "predicate empty": (change("task.success_predicate", {"all": []}), "line 2: $.success_predicate.all"),
    "predicate without its argument": (change("task.success_predicate", {"filesystem.fileExists": {}}), "path"),
    "provenance missing": (change("provenance", None), "line 2 is malformed at $: it lacks provenance"),
    "provenance is text": (change("provenance", "by hand"), "$.provenance: it must be of type object"),
    "no solution": (change("provenance.solutions", []), "$.provenance.solutions"),
    "solution is text": (change("provenance.solutions", "mkdir"), "$.provenance.solutions"),
    "call without a tool": (
        change("provenance.solutions.0.calls.0.tool", None),
        "solutions[0].calls[0]: it lacks tool",
    ),
    "mutant that does nothing": (
        change("provenance.mutants.1.change", None),
        "$.provenance.mutants[1] needs another answer",
    ),
    "mutant of nobody": (change("provenance.mutants.0.server", "fax"), "mutants[0].server is none of"),
    "mutant of no form": (change("provenance.mutants.0.change", {"burn": "x"}), "$.provenance.mutants[0].change"),
    "skeleton missing": (change("provenance.skeleton", None), "it lacks skeleton"),
}


@pytest.fixture
def tasks(document, tmp_path):
    """Write a file of two tasks, of which the second may be changed."""

    def write(apply=lambda line: None) -> Path:
        lines = [{"task": document(STRATUM, number), "provenance": deepcopy(PROVENANCE)} for number in (1, 2)]
        apply(lines[1])
        file = tmp_path / "tasks.jsonl"
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return file

    return write


@pytest.mark.slow
@pytest.mark.parametrize("name", BAD_TASKS)
def test_a_malformed_task_is_two_and_none_is_taken_in(name, refused, tasks, home):
    apply, sentence = BAD_TASKS[name]
    file = tasks(apply)
    refused(2, sentence, "task", "import", file, "--as", "ada", "--home", home)
    refused(2, str(file), "task", "import", file, "--as", "ada", "--home", home)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "is empty"),
        ("{", "line 1, column 2"),
        ("[]", "line 1"),
        ('{"task": {}, "task": {}}', "stands there twice"),
        ('{"task": {"max_steps": NaN}, "provenance": {}}', "NaN is no JSON number"),
        ('{"task": ' + "[" * 100 + "]" * 100 + ', "provenance": {}}', "nested deeper than"),
        ('{"task": {"goal": "\\ud800"}, "provenance": {}}', "lone surrogate"),
        ('{"task": "' + "x" * 1_100_000 + '"}', "tasks.jsonl, line 1"),
    ],
    ids=["empty", "cut off", "a list", "a key twice", "NaN", "too deep", "surrogate", "too long"],
)
def test_a_file_that_is_no_json_lines_is_two(text, sentence, refused, tmp_path, home):
    (tmp_path / "tasks.jsonl").write_text(text)
    refused(2, sentence, "task", "import", tmp_path / "tasks.jsonl", "--as", "ada", "--home", home)


def test_a_missing_file_is_three(refused, tmp_path, home):
    refused(3, "there is no file", "task", "import", tmp_path / "none.jsonl", "--as", "ada", "--home", home)
    refused(3, "there is no file", "task", "import", tmp_path, "--as", "ada", "--home", home)


def test_a_task_that_stands_in_the_file_twice_is_two(refused, tasks, document, home):
    same = change("task", document(STRATUM, 1))
    refused(2, "stands in the file twice", "task", "import", tasks(same), "--as", "ada", "--home", home)


def test_a_task_that_is_known_is_eight_before_anything_is_run(refused, tasks, stocked):
    sentence = "already; nothing was kept"
    refused(8, sentence, "task", "import", tasks(), "--as", "ada", "--home", stocked)


# -- predicates and grammars ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("document", "sentence"),
    [
        ({}, "a predicate has exactly one key"),
        ({"all": []}, "an empty one would be decided without a look"),
        ({"filesystem.fileExist": {"path": "a"}}, "near it: filesystem.fileExists"),
        ({"filesystem.fileExists": {"path": 3}}, '$["filesystem.fileExists"].path: must be of type string'),
        ({"not": {"any": [{"x": 1}]}}, "$.not.any[0]"),
        ([], "a predicate is an object"),
    ],
)
def test_a_malformed_predicate_is_two(document, sentence, refused, tmp_path):
    (tmp_path / "p.json").write_text(json.dumps(document))
    (tmp_path / "state").mkdir()
    refused(2, sentence, "predicate", "check", "--state", tmp_path / "state", "--predicate", tmp_path / "p.json")


def test_a_predicate_or_state_that_is_not_there_is_three(refused, tmp_path):
    (tmp_path / "p.json").write_text("{}")
    words = ["predicate", "check", "--state", tmp_path / "none", "--predicate"]
    refused(3, "there is no folder", *words, tmp_path / "p.json")
    refused(3, "there is no file", *words, tmp_path / "none.json")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "grammar.yaml"),
        ("grammar: [", "grammar.yaml"),
        ("- a\n- b\n", "grammar.yaml"),
        ("grammar: filesystem\nversion: 1\ncolour: red\n", "colour"),
        ("grammar: filesystem\nversion: one\ntemplates: {}\n", "version"),
        ("grammar: !!python/object/apply:os.system ['true']\n", "grammar.yaml"),
        ("grammar: &a [*a]\n", "grammar.yaml"),
    ],
    ids=["empty", "cut off", "a list", "unknown key", "version is text", "a program", "bites its tail"],
)
def test_a_malformed_grammar_is_two(text, sentence, refused, tmp_path):
    (tmp_path / "grammar.yaml").write_text(text)
    refused(2, sentence, "grammar", "check", tmp_path / "grammar.yaml")


def test_a_template_with_a_mistake_is_named(refused, tmp_path):
    shutil.copytree(LIBRARY / "filesystem", tmp_path / "mine")
    file = next(path for path in sorted((tmp_path / "mine").glob("*.yaml")) if "category: " in path.read_text())
    text = file.read_text()
    file.write_text(text.replace("category: ", "catgory: ", 1))
    refused(2, file.name, "grammar", "check", tmp_path / "mine")


def test_a_grammar_that_is_not_there_is_three(refused, tmp_path):
    refused(3, "there is no grammar at", "grammar", "check", tmp_path / "none")
    refused(3, "there is no grammar at", "grammar", "sample", tmp_path / "none")


# -- bundles and keys -------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (b"", "reads NAME+ID+KEY"),
        (b"garbage", "reads NAME+ID+KEY"),
        (b"a.example/log+00000000+AAAA", "the verifier key"),
        (b"a.example/log+00000000+%%%%", "is not base64"),
        (b"\xff\xfe\x00", "is not text"),
    ],
)
def test_a_key_file_of_garbage_is_two(text, sentence, refused, tmp_path):
    (tmp_path / "log.vkey").write_bytes(text)
    refused(2, sentence, "audit", GOOD, "--key", tmp_path / "log.vkey")
    refused(2, str(tmp_path / "log.vkey"), "audit", GOOD, "--key", tmp_path / "log.vkey")


def test_a_kept_checkpoint_of_garbage_is_two(refused, tmp_path):
    (tmp_path / "kept").write_text("garbage\n")
    refused(2, "holds no checkpoint", "audit", GOOD, "--key", VECTORS / "log.vkey", "--previous", tmp_path / "kept")


def test_a_release_or_key_that_is_not_there_is_three(refused, tmp_path):
    refused(3, "there is no release folder", "audit", tmp_path / "none", "--key", VECTORS / "log.vkey")
    refused(3, "there is no file", "audit", GOOD, "--key", tmp_path / "none.vkey")


@pytest.mark.parametrize("file", ["manifest.json", "tasks.jsonl", "openings.jsonl", "log/checkpoint"])
@pytest.mark.parametrize("content", [b"", b"{", b"\xff" * 100, b"[" * 100_000], ids=["empty", "cut", "bytes", "deep"])
def test_a_malformed_bundle_is_no_and_the_step_is_named(file, content, say, tmp_path):
    bundle = Path(shutil.copytree(GOOD, tmp_path / GOOD.name))
    (bundle / file).write_bytes(content)
    said = say("audit", bundle, "--key", VECTORS / "log.vkey", "--json")
    assert (said.code, said.object["ok"]) == (1, False)
    failed = [step for step in said.data["steps"] if step["state"] == "failed"]
    assert len(failed) == 1
    assert failed[0]["detail"]
    plain = say("audit", bundle, "--key", VECTORS / "log.vkey")
    assert (plain.code, plain.err) == (1, "")
    assert f"no: step {failed[0]['number']} failed" in plain.out


def test_a_good_bundle_is_yes_with_what_it_does_not_prove(say):
    said = say("audit", GOOD, "--key", VECTORS / "log.vkey", "--previous", VECTORS / "older-checkpoint")
    assert said.code == 0
    assert "What this audit does not prove:" in said.out


# -- plumbing ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("text", ["", "[]", "{", "{}", '{"leaf": 1, "task": 1, "note": 1}', '{"leaf": "%"}'])
def test_plumbing_exits_with_2_on_input_it_does_not_understand(verb, text, say, monkeypatch, tmp_path):
    (tmp_path / "in").write_text(text)
    with (tmp_path / "in").open() as given:
        monkeypatch.setattr("sys.stdin", given)
        said = say("plumb", verb)
    assert said.code == 2
    assert said.err.count("\n") == 1
    assert said.out == ""


# -- grammars ---------------------------------------------------------------------------------------------------------

GUIDE = Path(__file__).parents[2] / "docs" / "how-to" / "write-a-grammar.md"
BAD = [
    ("easy: [4, 6]", "easy: [6, 4]", "mine.yaml: template stock-note: parameters.wares.rows: the range is empty"),
    (
        "    phrasings:",
        "    constraints: ['size(path) < 0']\n    phrasings:",
        "mine.yaml: template stock-note: constraints[0]: 'size(path) < 0' did not hold",
    ),
    ("read_file, ", "read_fiel, ", "mine.yaml: tools.filesystem: no server has a tool 'filesystem.read_fiel'"),
    (
        "{tool: filesystem.read_text_file",
        "{tool: filesystem.read_txt",
        "mine.yaml: filesystem/stock-note:largest: solutions.reference: the grammar's `tools` do not list",
    ),
    (
        "answer.number: {value:",
        "answer.number: {valeu:",
        'mine.yaml: filesystem/stock-note: predicate.all[1]["answer.number"]: ',
    ),
]


@pytest.mark.parametrize(("old", "new", "sentence"), BAD, ids=["range", "constraint", "tool", "call", "predicate"])
def test_a_bad_grammar_is_two_with_file_template_and_field(old, new, sentence, refused, tmp_path):
    text = GUIDE.read_text(encoding="utf-8").partition("```yaml\n")[2].partition("```")[0]
    assert old in text
    (tmp_path / "mine.yaml").write_text(text.replace(old, new, 1), encoding="utf-8")
    refused(2, sentence, "grammar", "check", tmp_path / "mine.yaml")
