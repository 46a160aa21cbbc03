"""Tests of the comparison of servers: rewritten tasks, measures of trials, figures, and one played in a real box."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from fractions import Fraction
from pathlib import Path

import pytest

from grammars.language.grammar import Draft
from quarterturn.errors import Malformed
from quarterturn.pages import comparison as comparison_page
from quarterturn_measures.comparison.comparison import ServerTrials, compare_servers, report
from quarterturn_measures.comparison.explanations import EXPLANATIONS
from quarterturn_measures.comparison.figures import figures_of, paired_differences, spread_between_trials
from quarterturn_measures.comparison.played_trial import PlayedTrial, ServedTask, measure_trial
from quarterturn_measures.comparison.rewritten_task import rewrite_task, why_not_comparable
from rotation.generation.import_tasks import read_drafts
from sandbox.results.interval import NOTHING
from sandbox.results.outcome import TaskRun
from sandbox.servers.registry import SERVERS
from sandbox.transcript import CallRecord, ModelCall, Transcript
from tests.quarterturn.servers.conftest import forgotten
from vault.task.document import Task
from verifiers.language.verdict import Evidence, Verdict

__all__ = ["forgotten"]
ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "comparison" / "tasks.jsonl"
RULEBOOK = ROOT / "examples" / "agents" / "rulebook" / "agent.py"
FILESYSTEM = SERVERS["filesystem"]
MANIFEST = """\
server: twin
package: "npm:@modelcontextprotocol/server-filesystem"
version: "2026.8.31"
state: {kind: files}
command: ["{node}", /opt/world/npm/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js, "{state}"]
"""


@pytest.fixture(scope="module")
def drafts() -> list[Draft]:
    return read_drafts(EXAMPLE.read_bytes(), str(EXAMPLE))


def trial(
    task: str, number: int = 1, *, passed: bool | None = True, calls: int = 2, fairness: float = 1
) -> PlayedTrial:
    scores = {"quality": passed, "calls_saved": fairness, "fairness": fairness, "adoption": None}
    known = {name: None if value is None or passed is None else float(value) for name, value in scores.items()}
    costs = {"calls": calls, "bytes_shown": 100 * calls, "turns": None, "tokens": None}
    return PlayedTrial(task, task, number, passed, known, costs)


def ls(result: str, *, error: bool = False, listed: bool = True) -> CallRecord:
    return CallRecord("filesystem.shell_execute", {"path": "/data/files/a.txt"}, listed, error, False, result, 0.1)


def run_of(task: Task, calls: list[CallRecord], answer: str | None, verdict: Verdict = Verdict.TRUE) -> TaskRun:
    evidence = Evidence("all", verdict, children=(Evidence("filesystem.unchanged", verdict, {}),))
    return TaskRun(
        task.id, task.category, 20, verdict, evidence, Transcript(tuple(calls), answer, "answered"), goal="Gö"
    )


def test_a_task_is_rewritten_for_another_server_and_judged_by_the_same_predicate(drafts):
    other = replace(
        SERVERS["filesystem"], name="git", root="repos", tools={"run": SERVERS["filesystem"].tools["read_file"]}
    )
    cite, *_ = drafts
    # the namespace `git` has other predicates, which is what a server of another state kind would be met with
    with pytest.raises(Malformed, match=r"cannot be played with git: \$\.all\[1\]|there is no predicate"):
        rewrite_task(drafts[2], other)
    task = rewrite_task(cite, replace(other, name="filesystem"))
    assert task.available_tools == ("filesystem.run",)
    assert "/data/repos/services" in task.goal
    assert "/data/files" not in json.dumps(task.document)
    assert task.success_predicate["all"][0] == {"answer.equals": {"text": "/data/repos/services/search.conf:5"}}
    assert task.initial_state["filesystem"] == cite.task["initial_state"]["filesystem"]


def test_frames_of_servers_that_only_distract_are_left_out(drafts):
    document = drafts[0].task | {"available_tools": [*drafts[0].task["available_tools"], "git.git_log"]}
    document |= {"success_predicate": {"all": [*document["success_predicate"]["all"], {"git.unchanged": {}}]}}
    distracted = Draft(document, drafts[0].provenance)
    assert why_not_comparable(distracted, "files") is None
    assert rewrite_task(distracted, FILESYSTEM).success_predicate == drafts[0].task["success_predicate"]


def test_a_task_that_needs_one_server_s_own_tools_is_not_comparable(drafts):
    draft = drafts[0]
    fault = {"tool": "filesystem.read_file", "call": 1, "error": "busy"}
    assert "of the state kind git" in (why_not_comparable(draft, "git") or "")
    assert "schedules" in (why_not_comparable(Draft(draft.task | {"faults": [fault]}, draft.provenance), "files") or "")
    calls = [{"name": "a", "calls": [{"tool": "git.git_log", "arguments": {}}], "answer": None}]
    assert "needs git" in (
        why_not_comparable(Draft(draft.task, draft.provenance | {"solutions": calls}), "files") or ""
    )
    looks = {"all": [{"git.tagExists": {"repository": "a", "tag": "b"}}, {"filesystem.unchanged": {}}]}
    looking = Draft(draft.task | {"success_predicate": looks}, draft.provenance)
    assert "looks at git" in (why_not_comparable(looking, "files") or "")


def test_servers_of_two_state_kinds_are_not_compared(drafts):
    with pytest.raises(Malformed, match="git is of the state kind git and filesystem of files"):
        compare_servers(drafts, [FILESYSTEM, SERVERS["git"]], None, lambda *_: pytest.fail("it was played"))


def test_a_trial_has_fairness_by_its_verdict_adoption_and_costs(drafts):
    task = rewrite_task(drafts[0], FILESYSTEM)
    calls = [ls("x"), ls("é", error=True), ls("no such tool", listed=False)]
    cited = "/data/files/services/search.conf:5 and /data/files/services/search.conf:50"
    served, baseline = (ServedTask.of(task, FILESYSTEM, "s", is_baseline=base) for base in (False, True))
    measured = measure_trial(run_of(task, calls, cited), served, 1)
    expected = {
        "quality": 1,
        "calls_saved": Fraction(17, 20),
        "fairness": Fraction(80, 100) + Fraction(20, 100) * Fraction(17, 20),
        "adoption": Fraction(60, 100) * Fraction(1, 3) + Fraction(40, 100),
    }
    assert measured.scores == pytest.approx({name: float(value) for name, value in expected.items()})
    assert PlayedTrial.from_json(measured.as_json()) == measured
    # the tool's name does not say that it only reads, and the frame does: nothing that is cited was written
    assert (measured.grounding.grounded, measured.grounding.hallucinated, measured.grounding.left_out) == (1, 1, 0)
    without_results = measure_trial(run_of(task, [], cited), served, 1)
    shown = measured.costs["bytes_shown"], without_results.costs["bytes_shown"]
    assert shown[0] - shown[1] == len("x") + len("é".encode()) + len("no such tool")
    assert without_results.scores["adoption"] == 0
    failed = measure_trial(run_of(task, calls, cited, Verdict.FALSE), baseline, 1)
    assert failed.scores == {"quality": 0, "calls_saved": 0, "fairness": 0, "adoption": None}


def test_a_model_s_turns_and_tokens_are_costs_and_an_unknown_verdict_has_no_score(drafts):
    task = rewrite_task(drafts[0], FILESYSTEM)
    run = run_of(task, [], None, Verdict.UNKNOWN)
    asked = ModelCall("chat", "m", 0, {}, read=70, written=5, outcome="ok")
    run = replace(run, failure="ours", transcript=replace(run.transcript, model_calls=(asked, asked)))
    measured = measure_trial(run, ServedTask.of(task, FILESYSTEM, "s", is_baseline=False), 1)
    assert (measured.passed, set(measured.scores.values())) == (None, {None})
    assert (measured.costs["turns"], measured.costs["tokens"]) == (2, 150)


def test_figures_have_trials_of_one_task_as_one_cluster_and_costs_of_passed_trials_alone():
    trials = [
        *(trial("a", number, calls=2) for number in (1, 2)),
        *(trial("b", number, passed=False, calls=9, fairness=0) for number in (1, 2)),
        trial("c", 1, passed=None),
    ]
    figures = figures_of(trials)
    assert (figures["quality"].value, figures["quality"].n) == (0.5, 4)
    assert (figures["calls"].value, figures["calls"].n, figures["calls"].low) == (2, 2, None)
    assert figures["adoption"] == figures["turns"] == figures["grounding"] == NOTHING
    apart = [replace(one, skeleton=f"{one.skeleton}{one.trial}") for one in trials]
    assert figures_of(apart)["quality"].low > figures["quality"].low


def test_the_spread_is_that_of_the_trials_means():
    trials = [trial("a", 1), trial("b", 1), trial("a", 2), trial("b", 2, passed=False, fairness=0)]
    assert spread_between_trials(trials)["quality"] == pytest.approx((0.5 * 0.25) ** 0.5)
    assert spread_between_trials(trials[:2])["quality"] is None


def test_differences_are_paired_by_task():
    first = [trial("a", fairness=0.9), trial("b", fairness=0.5), trial("only", fairness=0)]
    second = [trial("a", fairness=0.8), trial("b", fairness=0.2)]
    fairness = paired_differences(first, second)["fairness"]
    assert (fairness.value, fairness.n) == (pytest.approx(0.2), 2)
    # the t interval of the differences .1 and .3 by hand: .2 -/+ 12.7062 * .1
    assert (fairness.low, fairness.high) == pytest.approx((0.2 - 1.27062, 0.2 + 1.27062), abs=1e-4)
    reversed_ = paired_differences(second, first)["fairness"]
    assert (reversed_.value, reversed_.low) == pytest.approx((-0.2, -fairness.high))
    calls = paired_differences(first, second)["calls"]
    assert (calls.value, calls.low, calls.high) == (0, None, None)
    assert paired_differences(first, [trial("else")])["fairness"] == NOTHING


def test_the_page_escapes_every_text_and_runs_nothing(drafts):
    hostile = "<script>alert(1)</script>"
    server = replace(FILESYSTEM, name=hostile, package=hostile)
    trials = [trial(drafts[0].id)]
    compared = [ServerTrials(server, base, 10, trials, [{}]) for base in (False, True)]
    one = [Draft(drafts[0].task | {"goal": hostile}, drafts[0].provenance)]
    data = report(one, compared, agent=hostile, model=hostile, trials=1)
    page = comparison_page.page(data, EXPLANATIONS)
    assert page.count("&lt;script&gt;alert(1)") >= 7
    assert "default-src &#39;none&#39;" in page
    assert not any(part in page for part in ("<script", "src=", "href="))
    assert set(EXPLANATIONS) == set(comparison_page.ROWS)


def test_a_figure_without_a_value_is_explained_and_a_cost_has_as_many_digits_as_tell_something():
    server = {"figures": {name: asdict(NOTHING) for name in comparison_page.ROWS}}
    reasons = comparison_page.no_value_text([server])
    assert all(text in reasons for text in ("none passed", "no adoption", "with a model", "cited"))
    figure = {"value": 12100.6, "low": 11947.3, "high": 12254.0}
    assert comparison_page.figure_text("bytes_shown", figure) == "12,101 [11,947, 12,254]"
    assert comparison_page.difference_text("bytes_shown", figure) == "+12,101 [+11,947, +12,254]"
    assert comparison_page.figure_text("calls", {"value": 4, "low": None, "high": None}) == "4.0"
    measured = {"figures": dict.fromkeys(comparison_page.ROWS, figure)}
    assert comparison_page.no_value_text([measured]) == ""


def test_what_cannot_be_compared_is_one_sentence(say, home, tmp_path):
    def compare(*words: object):
        return say("server", "compare", *words, "--agent", "true", "--as", "ada", "--home", home)

    compare("filesystem").refuses(2, "cannot be compared with itself")
    compare("filesystem", "--baseline", "filesystem").refuses(2, "is named twice")
    compare("filesystem", "nothing").refuses(3, "there is no server 'nothing'")
    compare("git", "redis", "--tasks", EXAMPLE).refuses(2, "of the state kind git")
    compare("git", "redis", "--tasks", tmp_path / "none").refuses(3, "there is no file")


@pytest.mark.box
def test_two_servers_are_compared_in_a_box_and_one_report_is_written(say, home, tmp_path):
    folder = home / "servers" / "twin"  # as `server add` leaves it; its program is the shipped server's
    folder.mkdir(parents=True)
    (folder / "server.yaml").write_text(MANIFEST)
    (folder / "tools.json").write_text(json.dumps(dict(FILESYSTEM.tools)))
    (tmp_path / "tasks.jsonl").write_text(EXAMPLE.read_text().splitlines()[2] + "\n")
    words = ("--tasks", tmp_path / "tasks.jsonl", "--agent", f"python3 {RULEBOOK}", "--trials", 1, "--box", "bwrap")
    written = ("--out", tmp_path / "report.json", "--html", tmp_path / "report.html")
    said = say("server", "compare", "twin", "--baseline", "filesystem", *words, *written, "--as", "ada", "--home", home)
    assert said.code == 0, said.err
    data = json.loads((tmp_path / "report.json").read_text())
    figures = {server["server"]: server["figures"] for server in data["servers"]}
    assert {name: one["quality"]["value"] for name, one in figures.items()} == {"twin": 1, "filesystem": 1}
    assert figures["twin"]["fairness"]["value"] == pytest.approx(0.8 + 0.2 * (1 - 1 / 20))
    assert [server["trials"][0]["run"]["transcript"]["calls"][0]["tool"] for server in data["servers"]] == [
        "twin.move_file",
        "filesystem.move_file",
    ]
    assert (figures["twin"]["adoption"]["value"], figures["filesystem"]["adoption"]["value"]) == (1, None)
    assert data["differences"][0]["figures"]["quality"]["value"] == 0
    assert "1 of 1, 1.0 calls" in (tmp_path / "report.html").read_text()
    assert "twin minus filesystem, paired by task" in said.out
