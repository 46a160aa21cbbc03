"""Tests of `quarterturn export`: each format says what the source says, and no format ever holds a private task."""

from __future__ import annotations

import hashlib
import json
import re
import sys
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from pyarrow import parquet

from freezing import exports
from quarterturn.public_records import sources
from quarterturn.runs.dev_runs import DevRun
from quarterturn_export import folder, harbor, hugging_face, inspect_log
from rotation.detection.leaderboards import result_sets
from rotation.generation import shipped_dev_sets
from rotation.month.sets import DEMO
from sandbox.images.build import IMAGES
from sandbox.results.outcome import TaskRun
from sandbox.transcript import CallRecord, Transcript
from tests.rotation.month.test_set_file import OWN, of
from vault.commitment import opens
from vault.task.document import Task
from verifiers.language.verdict import Evidence, Verdict

RELEASE = exports.EXAMPLE / "Historical-2025-12"
KEY = exports.EXAMPLE / "log.vkey"
FORMATS = ("hf", "inspect", "harbor")
HARBOR = json.loads(Path(__file__).with_name("harbor-0.25.0.schema.json").read_bytes())
SECRET = "Move the confidential ledger of the Antarctic branch."


def document() -> dict[str, Any]:
    """Return a task that is in no dev set and in no release."""
    task = exports.released().tasks[0].task.document
    return task | {"id": "t-aaaaaaaaaaaaaaaa", "goal": SECRET}


def run_of(document: dict[str, Any], *calls: CallRecord, answer: str | None = None) -> TaskRun:
    evidence = Evidence("filesystem.fileExists", Verdict.FALSE, {"path": "x"}, "nothing")
    names = ("id", "category", "max_steps")
    task_id, category, max_steps = (document[name] for name in names)
    transcript = Transcript(calls, answer, "answered" if answer else "agent-exited")
    return TaskRun(task_id, category, max_steps, Verdict.FALSE, evidence, transcript, goal=document["goal"])


def written(file: Path, *pairs: tuple[Task, TaskRun]) -> Path:
    """Write the file of a run, as `quarterturn run --out` does."""
    file.write_text(json.dumps(DevRun("bwrap", [task for task, _ in pairs], [run for _, run in pairs]).as_json()))
    return file


@pytest.fixture
def export(say: Any, tmp_path: Path) -> Callable[..., Any]:
    """Return a function that exports to a folder that is not there."""
    return lambda kind, source, *words: say("export", kind, source, "--out", tmp_path / "out", *words)


def test_a_release_becomes_tables_that_open_its_commitments(export, tmp_path):
    assert export("hf", RELEASE, "--key", KEY, "--license", "cc-by-4.0").code == 0
    out = tmp_path / "out"
    for name, count in (("tasks", 6), ("runs", 3), ("results", 18)):
        rows = [json.loads(line) for line in (out / f"data/{name}.jsonl").read_text().splitlines()]
        assert parquet.read_table(out / f"data/{name}.parquet").to_pylist() == rows
        assert len(rows) == count
    tasks = [json.loads(line) for line in (out / "data/tasks.jsonl").read_text().splitlines()]
    assert [row["document"] for row in tasks] == (RELEASE / "tasks.jsonl").read_text().splitlines()
    for row in tasks:
        data, salt, committed = row["document"].encode(), bytes.fromhex(row["salt"]), bytes.fromhex(row["commitment"])
        assert opens("commit", data, salt, committed)
        assert row["sha256"] == hashlib.sha256(data).hexdigest()
        assert json.loads(row["solutions"])[0]["calls"]


def test_the_metadata_and_the_card_describe_the_files_that_are_there(export, tmp_path):
    export("hf", RELEASE, "--key", KEY, "--license", "cc-by-4.0")
    out = tmp_path / "out"
    metadata = json.loads((out / "croissant.json").read_bytes())
    digests = {file["contentUrl"]: file["sha256"] for file in metadata["distribution"]}
    assert digests == {str(p.relative_to(out)): hashlib.sha256(p.read_bytes()).hexdigest() for p in out.glob("data/*")}
    for table in metadata["recordSet"]:
        for field in table["field"]:
            place = field["source"]
            columns = parquet.read_schema(out / place["fileObject"]["@id"]).names
            assert place["extract"]["column"] in columns
    head = yaml.safe_load((out / "README.md").read_text().split("---")[1])
    assert head["license"] == metadata["license"] == "cc-by-4.0"
    assert all((out / files["path"]).is_file() for item in head["configs"] for files in item["data_files"])
    assert "778ecf8b-63d7-4854-8559-79cada065f80" in (out / "README.md").read_text()  # the canary


def test_the_card_names_every_language_of_the_goals():
    records = exports.released()
    german = Task.parse({**records.tasks[0].task.document, "language": "de"})
    tasks = [replace(records.tasks[0], task=german), *records.tasks[1:]]
    made = hugging_face.files(replace(records, tasks=tasks), url="https://example.org/", now=exports.NOW)
    assert yaml.safe_load(made[hugging_face.CARD].decode().split("---")[1])["language"] == ["de", "en"]


def test_a_release_becomes_a_log_for_each_run(export, tmp_path):
    assert export("inspect", RELEASE, "--key", KEY).code == 0
    passed = {1: 6, 2: 4, 3: 2}
    for number, count in passed.items():
        members = dict(exports.unzipped((tmp_path / f"out/run-{number}.eval").read_bytes()))
        header = json.loads(members["header.json"])
        samples = [json.loads(data) for name, data in members.items() if name.startswith("samples/")]
        values = [sample["scores"][inspect_log.SCORER]["value"] for sample in samples]
        assert (len(values), values.count("C")) == (6, count)
        assert header["results"]["scores"][0]["metrics"]["accuracy"]["value"] == count / 6
        assert header["eval"]["dataset"]["sample_ids"] == [sample["id"] for sample in samples]


def test_a_scan_reads_what_is_exported_to_hugging_face_and_to_inspect(export, say, tmp_path):
    shares = {}
    for kind, words in (("hf", ("--license", "cc-by-4.0")), ("inspect", ())):
        assert export(kind, RELEASE, "--key", KEY, *words).code == 0
        (tmp_path / "out").rename(tmp_path / kind)
        results = list(result_sets.read(tmp_path / kind) or ())
        tasks = sorted({result.task for result in results})
        shares[kind] = {(result.agent.removeprefix("quarterturn/"), result.task): result.share for result in results}
        days = "".join(f"{task},2025-{number}-01\n" for number, task in enumerate(tasks, 10) if number < 13)
        days += "".join(f"{task},2025-12-31\n" for task in tasks[3:])
        (tmp_path / "days.csv").write_text(f"task,day\n{days}")
        said = say("watch", "scan", tmp_path / kind, "--days", tmp_path / "days.csv", "--exposed-until", "2025-11-30")
        assert (said.code, said.err) == (0, "")
        assert f"{kind}: 3 agents, 6 tasks, 2 of them up to 2025-11-30" in said.out
    assert shares["hf"] == shares["inspect"]
    assert sum(shares["hf"].values()) == 12


def test_each_task_of_a_release_becomes_a_folder_that_harbor_reads(export, tmp_path):
    assert export("harbor", RELEASE, "--key", KEY).code == 0
    folders = [path for path in (tmp_path / "out").iterdir() if path.is_dir()]
    assert len(folders) == 6
    for path in folders:
        jsonschema.validate(tomllib.loads((path / "task.toml").read_text()), HARBOR)
        held = {str(file.relative_to(path)) for file in path.rglob("*") if file.is_file()}
        assert {"instruction.md", "environment/Dockerfile", "tests/test.sh", "solution/solve.sh"} <= held
        assert (path / "tests/test.sh").stat().st_mode & 0o111
        predicate = json.dumps(json.loads((path / "tests/task.json").read_bytes())["success_predicate"])
        assert predicate not in (path / "instruction.md").read_text()
        assert "COPY" not in (path / "environment/Dockerfile").read_text()  # nothing of the task in the agent's image


def test_the_image_of_harbor_tasks_has_a_name_that_no_image_of_ours_has(export, tmp_path):
    assert export("harbor", RELEASE, "--key", KEY).code == 0
    (task, *_) = sorted((tmp_path / "out").glob("t-*"))
    services = yaml.safe_load((task / "environment/docker-compose.yaml").read_text())["services"]
    name = services["world"]["image"]
    assert f"FROM {name}\n" in (task / "tests/Dockerfile").read_text()
    assert f"-t {name} -" in (tmp_path / "out" / harbor.CARD).read_text()
    assert name not in {image.name for image in IMAGES}, "building it would take the place of the official world"


def test_a_wrong_task_file_does_not_pass_the_schema_of_harbor():
    records = exports.released()
    sound = tomllib.loads(harbor.toml(harbor.config(records, records.tasks[0])))
    jsonschema.validate(sound, HARBOR)
    server = sound["environment"]["mcp_servers"][0]
    wrong = [
        sound | {"name": "x"},
        sound | {"task": {"name": "no-organisation"}},
        sound | {"verifier": {"environment_mode": "shared", "environment": {}}},
        sound | {"environment": {"mcp_servers": [{key: server[key] for key in ("name", "transport")}]}},
        sound | {"artifacts": [{"source": "state.json", "service": "world"}]},
    ]
    for document in wrong:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(document, HARBOR)


def test_toml_is_read_back_as_it_was():
    values = {"a": 'quote " back \\ \x7f \x00 \n ☃ 😀', "b": {"c": [1, 2.5, True], "d": [{"e": "x", "f": {"g": []}}]}}
    assert tomllib.loads(harbor.toml(values)) == values


@pytest.mark.parametrize("kind", FORMATS)
def test_of_the_tasks_in_the_log_only_the_retired_ones_are_named(kind, export, tmp_path):
    """The log of the release names 30 tasks, of which 24 are still private."""
    named = re.compile(rb"t-[a-z2-7]{16}")
    retired = set(named.findall((RELEASE / "tasks.jsonl").read_bytes()))
    logged = {
        item for path in (RELEASE / "log/tile/entries").rglob("*") if path.is_file() for item in found(named, path)
    }
    assert (len(retired), len(logged)) == (6, 30)
    export(kind, RELEASE, "--key", KEY)
    written = {item for path in (tmp_path / "out").rglob("*") if path.is_file() for item in found(named, path)}
    assert written == retired


def found(named: re.Pattern[bytes], path: Path) -> list[bytes]:
    data = path.read_bytes()
    texts = [text for _, text in exports.unzipped(data)] if path.suffix == ".eval" else [data]
    return [item for text in (*texts, str(path).encode()) for item in named.findall(text)]


@pytest.mark.slow  # draws the dev sets
@pytest.mark.parametrize("kind", FORMATS)
def test_private_tasks_are_refused_and_nothing_is_written(kind, export, live, tmp_path):
    private = document()
    served = written(tmp_path / "private.json", (Task.parse(private), run_of(private)))
    dev = shipped_dev_sets.drafts(DEMO)[0].task
    altered = written(tmp_path / "altered.json", (Task.parse(dict(dev) | {"goal": SECRET}), run_of(dict(dev))))
    drafts = tmp_path / "drafts.jsonl"
    drafts.write_text(json.dumps({"task": private, "provenance": {}}))
    before = sorted(tmp_path.rglob("*"))
    refused = {"private": 8, "t-aaaaaaaaaaaaaaaa": 8, live: 8, served: 8, altered: 8, drafts: 2}
    for source, code in refused.items():
        said = export(kind, source)
        assert said.code == code, said.err
        assert len(said.sentence.splitlines()) == 1
        assert SECRET not in said.out + said.err
    assert sorted(tmp_path.rglob("*")) == before


def test_a_release_that_does_not_verify_is_refused(export, tmp_path):
    tampered, kind = exports.EXAMPLE / "tampered/Historical-2025-12", "inspect"
    assert [export(name, tampered, "--key", KEY).code for name in FORMATS] == [8] * 3
    said = export(kind, tampered, "--key", KEY)
    assert said.sentence.endswith("(results: a result and its salt are bound under the root of the score)")
    assert export(kind, RELEASE).code == 2  # without a key nothing verifies
    added = tmp_path / "added"
    for path in sorted(RELEASE.rglob("*")):
        if path.is_file():
            copy = added / path.relative_to(RELEASE)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes())
    with (added / "tasks.jsonl").open("a") as tasks:
        tasks.write(json.dumps(document()) + "\n")
    assert export(kind, added, "--key", KEY).code == 8
    assert export(kind, added, "--key", KEY, "--out", tmp_path / "parent" / "out").code == 8
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "parent").exists()


@pytest.mark.slow  # draws the dev sets
def test_a_run_on_the_dev_set_keeps_each_call_with_its_result(export, tmp_path):
    task = Task.parse(shipped_dev_sets.drafts(DEMO)[0].task)
    call = CallRecord(task.available_tools[0], {"path": "a\ud83d"}, True, False, False, "it is \ud83d", 0.5)
    file = written(tmp_path / "run.json", (task, run_of(task.document, call, answer="42")))
    assert export("inspect", file).code == 0
    members = dict(exports.unzipped((tmp_path / "out/run-1.eval").read_bytes()))
    sample = json.loads(members[f"samples/{task.id}_epoch_1.json"])
    assert [message["role"] for message in sample["messages"]] == ["user", "assistant", "tool", "assistant"]
    assert sample["messages"][1]["tool_calls"][0]["function"] == call.tool.replace(".", "__")
    assert sample["messages"][2]["content"] == r"it is \ud83d"  # a lone surrogate has no form in UTF-8
    assert sample["output"]["completion"] == "42"
    assert [event["event"] for event in sample["events"]] == ["tool", "score"]


@pytest.mark.slow  # draws the dev sets
def test_each_trial_becomes_a_log_and_a_trial_of_other_tasks_is_refused(export, tmp_path):
    first, second = (Task.parse(draft.task) for draft in shipped_dev_sets.drafts(DEMO)[:2])
    run, other = run_of(first.document), run_of(second.document)
    trials = DevRun("bwrap", [first], [run], later_trials=[[run_of(first.document, answer="42")]])
    (tmp_path / "run.json").write_text(json.dumps(trials.as_json()))
    assert export("inspect", tmp_path / "run.json").code == 0
    assert sorted(path.name for path in (tmp_path / "out").glob("*.eval")) == ["run-1.eval", "run-2.eval"]
    wrong = DevRun("bwrap", [first], [run], later_trials=[[other]]).as_json()
    with pytest.raises(sources.Malformed, match="a trial has other tasks than the run"):
        sources.dev_run(_file(tmp_path, json.dumps(wrong).encode()), shipped_dev_sets.public(DEMO))


@pytest.mark.slow  # draws the dev sets
def test_a_run_on_the_dev_set_of_a_set_file_is_exported_with_the_name_of_the_file(export, tmp_path):
    own = tmp_path / "own.toml"
    own.write_text(OWN)
    document = shipped_dev_sets.drafts(of(OWN))[0].task
    file = written(tmp_path / "run.json", (Task.parse(document), run_of(document)))
    assert export("inspect", file).code != 0
    assert export("inspect", file, "--dev-of", own).code == 0


def test_a_dev_set_has_no_log_to_export(export):
    said = export("inspect", "dev")
    assert said.code == 2
    assert "quarterturn run --out FILE.json" in said.sentence


def test_without_pyarrow_the_command_that_installs_it_is_named(export, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    said = export("hf", RELEASE, "--key", KEY)
    assert said.code == 6
    assert said.sentence.endswith(f"{sys.executable} -m pip install 'pyarrow>=26'")
    assert not (tmp_path / "out").exists()


def test_what_is_there_already_is_kept(export, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "mine.txt").write_text("mine")
    assert export("inspect", RELEASE, "--key", KEY).code == 8
    assert [path.name for path in out.iterdir()] == ["mine.txt"]
    assert export("inspect", RELEASE, "--key", KEY, "--out", out / "mine.txt" / "below").code == 6
    (out / "mine.txt").unlink()
    assert export("inspect", RELEASE, "--key", KEY).code == 0  # an empty folder is as good as none


def test_an_export_that_fails_leaves_nothing(tmp_path):
    with pytest.raises(FileExistsError):
        folder.write(tmp_path / "out", {"a": b"1", "a/b": b"2"})
    assert list(tmp_path.iterdir()) == []


def test_a_source_that_is_not_there_and_a_file_that_is_no_run(export, tmp_path):
    assert export("harbor", tmp_path / "none").code == 3
    (tmp_path / "empty").mkdir()
    assert export("harbor", tmp_path / "empty", "--key", KEY).code == 3
    with pytest.raises(sources.Malformed, match="not the file of a run"):
        sources.dev_run(_file(tmp_path, b"[1, 2"), lambda _tasks: {})
    with pytest.raises(sources.Malformed, match="not the file of a run"):
        sources.dev_run(_file(tmp_path, b'{"tasks": [{"task": {}, "run": {}}]}'), lambda _tasks: {})


def _file(place: Path, data: bytes) -> Path:
    file = place / "some.json"
    file.write_bytes(data)
    return file
