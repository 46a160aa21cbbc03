"""Tests of `quarterturn measure`: figures of public runs, the failure profile, and the trace page."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from freezing import exports
from quarterturn.pages import trace
from quarterturn.public_records import sources
from quarterturn.public_records.records import PublicRecords, PublicRun
from quarterturn.runs.dev_runs import DevRun
from quarterturn_measures import run_measures
from quarterturn_measures.measures.table import MEASURES
from quarterturn_measures.trace_figures import trace_figures
from rotation.generation import shipped_dev_sets
from rotation.month.sets import DEMO
from sandbox.results.outcome import TaskRun
from sandbox.transcript import CallRecord, ModelCall, Transcript
from vault.task.document import Task
from verifiers.language.verdict import Evidence, Verdict

RELEASE = exports.EXAMPLE / "Historical-2025-12"
KEY = exports.EXAMPLE / "log.vkey"
HOSTILE = "<script>alert(1)</script>\u202e"
ANSWER = f"It stands in nowhere/x.md:1. {HOSTILE}"


def played(task: Task, calls: list[CallRecord], *, passed: bool) -> TaskRun:
    verdict = Verdict.TRUE if passed else Verdict.FALSE
    evidence = Evidence("filesystem.fileExists", verdict, {"path": HOSTILE}, HOSTILE)
    pieces = (("content", "t" * 25), ("tool", HOSTILE[:5]), ("arguments", "{[[["))
    model = ModelCall("chat", "m", 0, {}, pieces, read=1200, written=34, outcome="ok")
    transcript = Transcript(tuple(calls), ANSWER, "answered", model_calls=(model,))
    names = (task.id, task.category, task.max_steps)
    return TaskRun(*names, verdict, evidence, transcript, goal=task.document["goal"])


@pytest.fixture(scope="module")
def records() -> PublicRecords:
    """Return two trials on three tasks: solved, then broken off and hostile, then empty."""
    drafts = [draft for draft in shipped_dev_sets.drafts(DEMO) if draft.task["server"] == "filesystem"][:3]
    public = sources.dev_set("demo", drafts)
    runs = []
    for number in (1, 2):
        results = []
        for place, task in enumerate(public.tasks):
            solution = task.solutions[0]["calls"]
            whole = [CallRecord(call["tool"], call["arguments"], True, False, False, "ok", 0.1) for call in solution]
            broken = replace(whole[-1], result=f"ENOENT: no such file {HOSTILE}", error=True)
            solved = place == 0 or (number == 2 and place == 1)
            calls = whole if solved else [*whole[:-1], broken][: 99 * (place == 1)]
            results.append(sources.played(played(task.task, calls, passed=solved)))
        runs.append(PublicRun(number, "agent", number, {}, results))
    return replace(public, runs=runs)


@pytest.fixture
def file(records: PublicRecords, tmp_path: Path) -> Path:
    first, second = ([result.played for result in run.results] for run in records.runs)
    run = DevRun("bwrap", [task.task for task in records.tasks], first, later_trials=[second])
    (tmp_path / "run.json").write_text(json.dumps(run.as_json()))
    return tmp_path / "run.json"


pytestmark = pytest.mark.slow  # draws the dev sets


def test_a_run_is_measured_with_its_trials(say, file, tmp_path):
    said = say("measure", file, "--html", tmp_path / "trace.html", "--by", "category", "--json")
    assert said.code == 0, said.err
    first, second = said.data["runs"]
    assert [run["measures"]["success_rate"]["value"] for run in (first, second)] == pytest.approx([1 / 3, 2 / 3])
    assert set(first["measures"]) == {measure.name for measure in MEASURES}
    assert first["measures"]["recovery_rate"] == {"value": None, "n": 0, "low": None, "high": None}
    assert first["failures"]["classes"]["no_tools_called"]["value"] == 0.5
    assert [row["cause"] for row in first["root_causes"]] == ["not found"]
    assert first["tasks"][0]["call_accuracy"] == 1
    assert sum(group["success_rate"]["n"] for group in first["groups"].values()) == 3
    pass_at = said.data["trials"]["pass_at"]
    assert (pass_at["1"]["value"], pass_at["2"]["value"]) == pytest.approx((0.5, 2 / 3))
    assert all(figure["low"] < figure["value"] < figure["high"] for figure in pass_at.values())
    shown = say("measure", file).out
    assert (shown.count("call accuracy (AST)"), shown.count("recall of needed tools")) == (1, 0)
    alone = say("measure", file, "--run", 2, "--json").data
    assert (alone["trials"], [run["run"] for run in alone["runs"]]) == (None, [2])


def test_recall_is_measured_where_an_agent_tells_its_shortlist_and_never_beside_another_offer(say, file, tmp_path):
    run = json.loads(file.read_text())
    first = run["tasks"][0]
    first["run"]["transcript"]["shortlist"] = first["task"]["available_tools"]
    offering = tmp_path / "offering.json"
    offering.write_text(json.dumps(run | {"offered_tools": ["a.one", "a.two"], "later_trials": []}))
    said = say("measure", offering, "--json")
    recall = said.data["runs"][0]["measures"]["tool_recall_at_20"]
    assert (said.data["offered_tools"], recall["value"], recall["n"]) == (2, 1, 1)
    assert said.data["runs"][0]["tasks"][1]["tool_recall_at_20"] is None
    assert say("measure", offering).out.startswith("each task offered 2 tools\n")
    say("measure", offering, "--field", file).refuses(2, "all without --all-tools, or all with it on one set")


def test_figures_are_told_apart_by_the_language_of_the_goal(records):
    german = Task.parse({**records.tasks[0].task.document, "language": "de"})
    tasks = [replace(records.tasks[0], task=german), *records.tasks[1:]]
    first, *_ = run_measures.measure(replace(records, tasks=tasks))
    rates = {language: figures["success_rate"] for language, figures in first.groups("language").items()}
    assert {language: (rate.value, rate.n) for language, rate in rates.items()} == {"de": (1, 1), "en": (0, 2)}


@pytest.mark.parametrize(("passed", "bound"), [(False, "high"), (True, "low")])
def test_pass_at_k_of_an_agent_that_never_or_always_passes_has_an_interval_with_a_width(records, passed, bound):
    runs = [
        replace(run, results=[replace(result, passed=passed, verdict=str(passed).lower()) for result in run.results])
        for run in records.runs
    ]
    figures = run_measures.trials(run_measures.measure(replace(records, runs=runs)))["pass_at"]
    assert all(0 < figure[bound] < 1 for figure in figures.values())


def test_the_profile_is_compared_with_the_field(say, file):
    said = say("measure", file, "--field", file, "--json")
    assert said.data["field"]["no_tools_called"] == pytest.approx(0.75)
    assert "median of the field 75.0 %" in say("measure", file, "--field", file).out


def test_the_runs_of_a_release_have_their_axes_and_no_calls(say):
    said = say("measure", RELEASE, "--key", KEY, "--json")
    assert [run["measures"]["success_rate"]["value"] for run in said.data["runs"]] == pytest.approx([1, 4 / 6, 2 / 6])
    assert all(run["measures"]["call_accuracy"]["n"] == 0 for run in said.data["runs"])
    assert (said.data["trials"], said.data["runs"][0]["failures"]["diagnosed"]) == (None, 0)


def test_what_has_no_public_run_is_refused(say, file):
    assert "play one with `quarterturn run --out FILE.json`" in say("measure", "dev").sentence
    assert "has no run 7; it has 1, 2" in say("measure", file, "--run", 7).sentence
    private = json.loads(file.read_bytes())
    private["tasks"][0]["task"]["goal"] = "Move the confidential ledger."
    file.write_text(json.dumps(private))
    say("measure", file).refuses(8, "may be private")


def test_a_file_of_the_wrong_shape_is_one_sentence(say, file):
    sound = file.read_bytes()
    call, model_call = "transcript.calls.0", "transcript.model_calls.0"
    for place, part, value in (
        (call, "arguments", [1]),
        (call, "result", None),
        (call, "tool", 7),
        ("transcript", "answer", {}),
        ("evidence", "looked_at", "x"),
        ("evidence", "found", 1),
        (model_call, "written", -1),
        (model_call, "response", [["text", 1]]),
    ):
        document = json.loads(sound)
        holder = document["tasks"][0]["run"]
        for step in place.split("."):
            holder = holder[int(step)] if step.isdigit() else holder[step]
        holder[part] = value
        file.write_text(json.dumps(document))
        say("measure", file).refuses(2, "is not the file of a run")


EXCHANGE = {"claim": "who", "marker": "0" * 32, "request": "0" * 64, "outcome": "ok", "reply": "{}"}
CLAIMS = {"op": "answer.claims", "verdict": "false", "looked_at": {"claims": [{"id": "who", "text": "It was Ada."}]}}


def test_claims_of_the_wrong_shape_are_one_sentence(say, file):
    document = json.loads(file.read_bytes())

    def measured(evidence, exchanges):
        document["tasks"][0]["run"] |= {"evidence": evidence, "claims": exchanges}
        file.write_text(json.dumps(document))
        return say("measure", file)

    assert measured(CLAIMS, [EXCHANGE]).code == 0
    for evidence, exchanges in (
        (CLAIMS | {"looked_at": {"claims": 7}}, [EXCHANGE]),
        (CLAIMS | {"looked_at": {"claims": []}}, [EXCHANGE]),
        (CLAIMS, [EXCHANGE | {"reply": 7}]),
        (CLAIMS, [EXCHANGE | {"claim": []}]),
        (CLAIMS, [EXCHANGE | {"more": 1}]),
        (CLAIMS, 7),
    ):
        measured(evidence, exchanges).refuses(2, "is not the file of a run")


def test_the_page_shows_calls_beside_the_solution_and_runs_nothing(records):
    run = run_measures.measure(records)[0]
    figures = trace_figures("A run", run.as_json(), run.played)
    page = trace.page(figures)
    assert page == trace.page(figures)
    assert "default-src &#39;none&#39;" in page
    assert not re.search(r"<script|\u202e|src=|href=", page)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;\\u202e" in page
    assert page.count("Reference solution ") == 3
    assert "No tools called." in page
    assert "1 requests to a language model: 1,200 tokens read, 34 written (reasoning 25, tool 9)." in page
    assert "Citations: 1 unresolved." in page
    assert "call 1 of the solution" in page


def test_a_release_has_no_trace(say, tmp_path):
    say("measure", RELEASE, "--key", KEY, "--html", tmp_path / "trace.html").refuses(
        2, "a release opens no calls; add --trace FILE"
    )
    assert not (tmp_path / "trace.html").exists()


def test_a_judges_scores_come_to_the_measures_of_a_run(say, file, tmp_path):
    tasks = [item["task"]["id"] for item in json.loads(file.read_bytes())["tasks"]]
    lines = [f"1,{tasks[0]},a,1", f"1,{tasks[0]},b,0.5", f"1,{tasks[1]},a,"]
    scores = tmp_path / "claims.csv"
    scores.write_text("\n".join(["submission,task,claim,score", *lines, ""]))
    run = say("measure", file, "--claim-scores", scores, "--json").data["runs"][0]
    assert (run["measures"]["claim_coverage"]["value"], run["measures"]["claim_coverage"]["n"]) == (0.75, 1)
    assert [task["claim_coverage"] for task in run["tasks"]] == [0.75, None, None]
    assert run["measures"]["fairness"]["value"] is None
    scores.write_text(f"submission,task,claim,score\n3,{tasks[0]},a,1\n")
    assert "no run of this number has that task" in say("measure", file, "--claim-scores", scores).sentence
