"""Tests of bad input to verbs: the right exit code, one sentence that names the place, and nothing half-written."""

import io
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from grammars.language.load import LIBRARY
from quarterturn.cli.auditing.plumb import VERBS
from rotation.generation import import_tasks
from vault.errors import kind_of
from vault.file_lock import locked

from .conftest import EASY, draft_lines, written

VECTORS = Path(__file__).parents[1] / "vectors" / "ledger"
ADDED = Path(__file__).parents[2] / "examples" / "servers" / "finance" / "grammar"
GOOD = VECTORS / "good" / "Historical-2026-12"


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


def test_a_missing_home_is_three_whatever_is_there_instead(refused, tmp_path):
    for words in ANY:
        refused(3, "make one with `quarterturn init --home", *words, "--home", tmp_path / "none")
    refused(3, f"there is no home at {tmp_path}", "task", "list", "--home", tmp_path)
    blank = tmp_path / "no home"
    refused(3, f"make one with `quarterturn init --home '{blank}'`", "task", "list", "--home", blank)
    file = tmp_path / "notes.txt"
    file.write_text("")
    refused(3, f"{file} is a file, and a home is a folder", "task", "list", "--home", file)


def test_a_home_of_which_a_part_is_lost_or_spoilt_names_that_part(refused, home):
    ring, log_key, database = home / "keys" / "ring.json", home / "keys" / "log.key", home / "quarterturn.db"
    log_key.rename(log_key.with_name("elsewhere"))
    refused(7, "no signing key", "log", "change-key", "--as", "ada", "--home", home)
    database.write_bytes(b"not a database, but long enough to be looked at" * 100)
    refused(2, "is not a database that we can read", "task", "list", "--home", home)
    for left in home.glob("quarterturn.db*"):
        left.unlink()
    refused(3, "the home has lost its database", "task", "list", "--home", home)
    ring.chmod(0o644)
    refused(7, "chmod 600", "task", "list", "--home", home)
    ring.chmod(0o600)
    ring.write_text('{"format": 1}')
    refused(2, "key ring", "task", "list", "--home", home)
    ring.unlink()
    refused(7, "ring.json: put it back from a backup.", "turn", "plan", "--home", home)


def test_a_lost_log_is_told_apart_from_a_database_that_does_not_answer(say, live, monkeypatch):
    log = (live / "public" / "log").rename(live / "elsewhere")
    said = say("log", "fsck", "--home", live)
    assert (said.code, "checkpoint cannot be read" in said.out, "quarterturn restore" in said.out) == (1, True, True)
    log.rename(live / "public" / "log")
    for words in (["log", "fsck"], ["turn", "status"]):
        monkeypatch.setenv("QUARTERTURN_DATABASE", "postgresql://ada@127.0.0.1:1/x")  # a verb takes it out
        say(*words, "--home", live).refuses(6, "Start it, or correct its address.")


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ("[run]\nworker = 3\n", "'run.worker' is not a setting; did you mean 'workers'?"),
        ("[database]\nurl = 'no address'\n", "database's address cannot be used"),
        ("[database]\nurl = 'sqlite:////nowhere/at/all.db'\n", "cannot be opened"),
    ],
)
def test_a_malformed_configuration_is_named(wrong, sentence, refused, home):
    (home / "quarterturn.toml").write_text(f'[benchmark]\nfirst_month = "2026-12"\n{wrong}')
    code = 6 if "opened" in sentence else 2
    refused(code, sentence, "task", "list", "--home", home)


def test_a_database_without_tables_is_not_filled_anew(say, home):
    for left in home.glob("quarterturn.db*"):
        left.unlink()
    (home / "quarterturn.db").touch()
    say("task", "list", "--home", home).refuses(3, "has no table of ours")
    with closing(sqlite3.connect(home / "quarterturn.db")) as database:
        assert database.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)


def test_a_set_whose_grammars_are_missing_makes_no_home(refused, tmp_path, monkeypatch):
    monkeypatch.setattr("grammars.language.load.library", lambda: ["filesystem", "git", "sqlite"])
    sentence = "tasks of calendar, email, github, memory, postgres, redis, spreadsheet, which have no shipped grammar"
    refused(3, sentence, "init", "--home", tmp_path / "home", "--set", "mcpbench")


def test_a_home_that_can_never_be_made_asks_for_another_folder(refused, tmp_path):
    (tmp_path / "file").touch()
    for place in (tmp_path / "file" / "home", "/proc/home"):
        refused(6, "name another folder with --home", "init", "--home", place, "--month", "2026-12")


def test_a_demo_in_a_home_is_refused_before_a_box_is_made(refused, home, monkeypatch):
    monkeypatch.setattr("quarterturn.cli.setup.demo.choose_box", lambda *_, **__: pytest.fail("a box was made"))
    refused(8, "is a home already", "demo", "--home", home)


# -- months, runs and tasks -------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_text_that_is_no_month_is_two(refused, home, tmp_path):
    text = "٢٠٢٦-١٢"
    for words in (["release", "path", text], ["leaderboard", "--month", text], ["turn", "run", "--month", text]):
        refused(2, "is not a month: write it as YYYY-MM", *words, "--home", home)
    refused(2, "is not a month", "init", "--home", tmp_path / "new", "--month", text)


def test_what_a_home_does_not_have_is_three(refused, live):
    refused(3, "the turn of 2027-05 was never started", "release", "path", "2027-05", "--home", live)
    refused(3, "no set was live in 2020-01: this home", "leaderboard", "--home", live, "--month", "2020-01")
    refused(3, "There is no task t-nope", "watch", "exposure", "--task", "t-nope", "--home", live)
    for words in (["show", "t-nope"], ["review", "t-nope"], ["review", "t-nope", "--approve"]):
        refused(3, "There is no task t-nope", "task", *words, "--as", "ada", "--home", live)
    refused(3, "there is no leaf 999 in a log of", "log", "proof", "999", "--home", live)
    (live / "public" / "log" / "checkpoint").unlink()
    refused(3, "is missing, and heads were signed", "log", "checkpoint", "--home", live)


@pytest.mark.slow
def test_a_turn_out_of_order_is_four(refused, live):
    refused(4, "the next turn is 2026-12, not 2027-02", "turn", "run", "--month", "2027-02", "--home", live)
    refused(4, "the turn of 2026-11 is done", "turn", "run", "--month", "2026-11", "--home", live)


def test_a_turn_without_tasks_is_eight_and_stops_nothing(refused, home):
    refused(8, "filesystem/single-tool/easy lacks 4", "turn", "run", "--home", home)
    refused(8, "Review what waits", "turn", "plan", "--home", home)
    refused(3, "has no checkpoint yet", "log", "checkpoint", "--home", home)


def test_running_when_nothing_is_live_is_four(refused, stocked):
    words = ["run", "--as", "me", "--set", "private", "--agent", "true", "--home", stocked]
    refused(4, "no set is live yet", *words)


def test_an_agent_that_cannot_be_run_is_refused_before_a_box_is_made(refused, live):
    for code, sentence, *words in (
        (2, "cannot be split into words", "--agent", 'python "x'),
        (2, "the agent's command is empty", "--agent", " "),
        (2, "--agent is empty: give it a value, or leave it out", "--agent", ""),
        (3, "is not a file", "--agent", "./no/such/agent"),
        (3, "names no/agent.py, which is not there", "--agent", "python3 no/agent.py"),
        (3, "names /usr, which is a folder; name the file in it", "--agent", "python3 /usr"),
        (2, "the submitter 'No One' must be", "--agent", "true", "--as", "No One"),
        (2, "without user", "--endpoint", "agent.example"),
    ):
        refused(code, sentence, "run", "--set", "private", "--home", live, "--as", "me", *words)


def test_an_endpoint_over_plain_http_is_eight_and_nobody_is_asked_for_its_address(say, monkeypatch):
    monkeypatch.setattr("socket.getaddrinfo", lambda *_, **__: pytest.fail("the name was looked up"))
    say("run", "--as", "me", "--endpoint", "http://agent.example.org/tasks", "--limit", "1").refuses(
        8, "is not https: a task is never sent in the clear"
    )


def test_two_draws_at_once_are_refused(refused, home):
    with locked(home / "head" / "draw.lock", 0, "drawing tasks"):
        refused(6, "the lock for drawing tasks", "task", "admit", "--as", "ada", "--home", home)


def test_a_folder_with_keys_is_not_given_to_an_agent(refused, live):
    agent = live / "agent.py"
    agent.write_text("")
    refused(8, "would be given the home", "run", "--as", "me", "--agent", f"python3 {agent}", "--home", live)


def test_reviews_that_contradict_themselves_are_two(refused, live):
    ours = ["--as", "grace", "--home", live]
    refused(2, "exclude each other", "task", "review", "t-x", "--approve", "--reject", "no", *ours)
    refused(2, "name one task, or give --batch", "task", "review", "t-x", "--batch", *ours)
    refused(2, "which task?", "task", "review", "--approve", *ours)
    refused(2, "which task?", "task", "review", "--reject", "dull", *ours)


# -- hand-written tasks -----------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize("name", BAD_TASKS)
def test_a_malformed_task_is_named_with_its_file_and_place(name):
    apply, sentence = BAD_TASKS[name]
    said = why_malformed(draft_lines(1, 2, apply=apply).encode())
    assert (said.startswith("tasks.jsonl, line 2"), sentence in said) == (True, True), said


def why_malformed(drafts: bytes) -> str:
    """Return the sentence that says where a file of drafts cannot be understood."""
    with pytest.raises(Exception, match=r"tasks\.jsonl") as error:
        import_tasks.read_drafts(drafts, "tasks.jsonl")
    assert kind_of(error.value) == "malformed"
    return str(error.value)


NO_JSON_LINES = {
    "": "is empty",
    "{": "line 1, column 2",
    "[]": "line 1",
    '{"task": {}, "task": {}}': "stands there twice",
    '{"task": {"max_steps": NaN}, "provenance": {}}': "NaN is no JSON number",
    '{"task": ' + "[" * 100 + "]" * 100 + ', "provenance": {}}': "nested deeper than",
    '{"task": {"goal": "\\ud800"}, "provenance": {}}': "lone surrogate",
    '{"task": "' + "x" * 1_100_000 + '"}': "tasks.jsonl, line 1",
}


def test_a_file_that_is_no_json_lines_is_named():
    for text, sentence in NO_JSON_LINES.items():
        assert sentence in why_malformed(text.encode())


def test_of_a_file_with_a_wrong_task_none_is_imported(refused, stocked, tmp_path):
    file, words = tmp_path / "tasks.jsonl", ("--as", "ada", "--home", stocked)
    refused(3, "there is no file", "task", "import", file, *words)
    for apply, code, sentence in (
        (change("task.goal", None), 2, f"{file}, line 2: the task is malformed at $: it lacks goal"),
        (change("task", written(EASY, 1)), 2, "stands in the file twice"),
        (lambda _: None, 8, "already; nothing was kept"),
    ):
        file.write_text(draft_lines(1, 2, apply=apply))
        refused(code, sentence, "task", "import", file, *words)


# -- predicates and grammars ------------------------------------------------------------------------------------------


def test_a_malformed_predicate_is_two_and_one_that_is_not_there_is_three(refused, tmp_path):
    (tmp_path / "state").mkdir()
    (tmp_path / "p.json").write_text('{"not": {"any": [{"filesystem.fileExist": {"path": "a"}}]}}')
    words = ["predicate", "check", "--state", tmp_path / "state", "--predicate"]
    refused(2, "near it: filesystem.fileExists", *words, tmp_path / "p.json")
    refused(3, "there is no file", *words, tmp_path / "none.json")
    words[3] = tmp_path / "none"
    refused(3, "there is no folder", *words, tmp_path / "p.json")


BAD_GRAMMARS = {
    "": "grammar.yaml",
    "grammar: [": "grammar.yaml",
    "- a\n- b\n": "grammar.yaml",
    "grammar: filesystem\nversion: 1\ncolour: red\n": "colour",
    "grammar: filesystem\nversion: one\ntemplates: {}\n": "version",
    "grammar: &a [*a]\n": "grammar.yaml",
}


def test_a_malformed_grammar_is_two(refused, tmp_path):
    for text, sentence in BAD_GRAMMARS.items():
        (tmp_path / "grammar.yaml").write_text(text)
        refused(2, sentence, "grammar", "check", tmp_path / "grammar.yaml")


def test_a_template_with_a_mistake_is_named(refused, tmp_path):
    shutil.copytree(LIBRARY / "filesystem", tmp_path / "mine")
    file = next(path for path in sorted((tmp_path / "mine").glob("*.yaml")) if "category: " in path.read_text())
    text = file.read_text()
    file.write_text(text.replace("category: ", "catgory: ", 1))
    refused(2, file.name, "grammar", "check", tmp_path / "mine")


# -- bundles and keys -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "content"),
    [("manifest.json", b"[" * 100_000), ("tasks.jsonl", b"{"), ("openings.jsonl", b""), ("log/checkpoint", b"\xff")],
)
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
    assert f"    at {failed[0]['evidence']['where']}" in plain.out.splitlines()


KEY = VECTORS / "log.vkey"
RUN = ["run", "--as", "me", "--agent", "true"]
SLIPS = [
    (["--home", "h", "leaderboard"], 2, "the options of a verb come after the verb"),
    (["init", "--home", "NONE", "--set", "huge"], 3, "there is no set 'huge'; the shipped sets are: demo, mcpbench"),
    (["init", "--home", "NONE", "--origin", "my log"], 2, "a schema-less URL that you own"),
    (["init", "--home", "NONE", "--origin", "https://me.example/log"], 2, "write it as me.example/log"),
    ([*RUN, "--limit", "0"], 2, "'--limit': it must be at least 1"),
    ([*RUN, "--dev-of", "huge"], 3, "there is no set 'huge'"),
    ([*RUN, "--dev-of", "demo", "--set", "private"], 2, "--all-tools, --trace and --out are for the dev set"),
    ([*RUN, "--all-tools", "--set", "private"], 2, "--all-tools, --trace and --out are for the dev set"),
    ([*RUN, "--out", "FOLDER"], 2, "is a directory"),
    ([*RUN, "--task", "x-1"], 2, "--task 'x-1' is no id"),
    (["run", "--as", "me", "--agent", "EMPTY"], 2, "is not executable: `chmod +x EMPTY`"),
    (["audit", "FOLDER", "--key", KEY], 3, "is no release folder"),
    (["audit", "NONE", "--key", KEY], 3, "there is no release folder"),
    (["audit", "BYTES", "--key", KEY], 3, "it is a file: unpack it, and name the folder"),
    (["audit", GOOD, "--key", "FOLDER"], 3, "is a folder, and a file is needed"),
    (["audit", GOOD, "--key", "NONE"], 3, "there is no file"),
    (["audit", GOOD, "--key", "EMPTY"], 2, "reads NAME+ID+KEY"),
    (["audit", GOOD, "--key", "EMPTY"], 2, "EMPTY"),
    (["audit", GOOD, "--key", "BYTES"], 2, "is not text"),
    (["audit", GOOD, "--key", "BYTES"], 2, "BYTES"),
    (["audit", GOOD, "--key", KEY, "--previous", KEY], 2, "holds no checkpoint"),
    (["log", "monitor", VECTORS, "--key", KEY, "--state", "FOLDER"], 2, "is a directory"),
    (["submissions", "--to", "http://127.0.0.1:9", "--token-file", "NONE"], 7, "There is no file with the token at"),
    (["task", "import", "FOLDER", "--as", "me", "--home", "h"], 3, "is a folder, and a file is needed"),
    (["grammar", "check", "NONE"], 3, "there is no grammar at"),
    (["grammar", "sample", "NONE"], 3, "there is no grammar at"),
    (["grammar", "sample", ADDED], 2, "there is no server finance; if a home has added it, name that home (--home)"),
    (["grammar", "check", "BYTES"], 2, "BYTES cannot be read: it is not UTF-8"),
    (["watch", "trace", "EMPTY", "--as", "me", "--home", "h"], 2, "is empty: put the text that leaked into it"),
    (["watch", "trace", "NONE", "--as", "me", "--home", "h"], 3, "there is no file"),
    (["measure", "BYTES"], 2, "is not the file of a run: it is not JSON"),
    (["measure", GOOD, "--key", KEY], 2, "a task of another form, without spec: nothing is made"),
    (["task", "list", "--home", ""], 2, "--home is empty: give it a value, or leave it out"),
    (["task", "show", "", "--as", "me", "--home", "h"], 2, "an argument is empty"),
    (["task", "try", "FOLDER"], 3, "is a folder, and a file is needed"),
    (["task", "import", "/dev/null", "--as", "me", "--home", "h"], 3, "/dev/null is a device or a pipe: write"),
    (["task", "shred", "t-x", "--state", "draft", "--as", "me", "--home", "h"], 2, "Give ids or --state, not both"),
    (["approval", "sign", "x", "--key", "k", "--signature", "s", "--home", "h"], 2, "give --key or --signature, not"),
    ([*RUN, "--public-url", "x"], 2, "--public-url belongs to --endpoint"),
    (["grammar", "import", "redis", "--as", "me", "--home", "h"], 3, "the shipped grammar redis needs no import"),
    (["grammar", "check", "FOLDER"], 3, "no *.yaml in it; the shipped ones are"),
    (["set", "check", "FOLDER"], 3, "is a folder, and a set is a file"),
    (["ratings", "agreement", "BYTES"], 2, "BYTES is no CSV file: it is not UTF-8"),
    (
        ["keys", "split", "--as", "me", "--threshold", "2", "--custodian", "a=b", "--out", "FOLDER", "--home", "h"],
        3,
        "the key of a is neither age1... nor ssh-ed25519 ..., and there is no file b",
    ),
    (["fetch", "http://127.0.0.1:9", "2026-12"], 2, "'2026-12' is no release: its name is Historical-YYYY-MM"),
    (
        ["log", "monitor", VECTORS, "--key", KEY, "--state", "NONE"],
        3,
        f"there is no log at {VECTORS}: no checkpoint; name its folder or address, such as {VECTORS}/log",
    ),
    (["init", "--home", "NONE", "--origin", "ü.example"], 2, "ASCII"),
    (["init", "--home", "NONE", "--month", "2926-12"], 2, "2926-12 is more than ten years away: name a month near"),
    (
        ["run", "--as", "me", "--endpoint", "https://a.example/", "--listen", "localhost"],
        2,
        "'localhost' is no address to listen on; give ADDRESS:PORT",
    ),
    (
        ["access", "log", "--since", "yesterday", "--home", "h"],
        2,
        "--since 'yesterday' is no day: write it as 2026-12-01",
    ),
]
"""Words of a command, its exit code, and a part of its sentence; names in capitals stand for files and folders."""


@pytest.mark.parametrize(("words", "code", "sentence"), SLIPS)
def test_a_slip_is_answered_by_the_thing_the_place_and_the_next_step(words, code, sentence, refused, tmp_path):
    places = {"FOLDER": tmp_path / "folder", "NONE": tmp_path / "none"}
    places |= {"BYTES": tmp_path / "bytes.yaml", "EMPTY": tmp_path / "empty"}
    places["FOLDER"].mkdir()
    places["BYTES"].write_bytes(b"\xff\xfe")
    places["EMPTY"].touch()
    for name, path in places.items():
        sentence = sentence.replace(name, str(path))
    refused(code, sentence, *(places.get(word, word) for word in words))


def test_a_file_in_the_place_of_a_witness_folder_is_two(say, tmp_path):
    (tmp_path / "state").touch()
    say("log", "witness", "--key", KEY, "--log", KEY, "--state", tmp_path / "state").refuses(2, "is a file")


# -- plumbing ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", VERBS)
def test_plumbing_exits_with_2_on_input_it_does_not_understand(verb, say, monkeypatch):
    for text in ("", "[]", '{"leaf": 1, "task": 1, "note": 1}'):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        said = say("plumb", verb)
        assert (said.code, said.out, said.err.count("\n")) == (2, "", 1), text


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
        'mine.yaml: filesystem/stock-note: predicate.all[0]["answer.number"]: ',
    ),
]


@pytest.mark.parametrize(("old", "new", "sentence"), BAD, ids=["range", "constraint", "tool", "call", "predicate"])
def test_a_bad_grammar_is_two_with_file_template_and_field(old, new, sentence, refused, tmp_path):
    text = GUIDE.read_text(encoding="utf-8").partition("```yaml\n")[2].partition("```")[0]
    assert old in text
    (tmp_path / "mine.yaml").write_text(text.replace(old, new, 1), encoding="utf-8")
    refused(2, sentence, "grammar", "check", tmp_path / "mine.yaml")
