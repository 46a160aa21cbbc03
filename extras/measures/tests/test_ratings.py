"""Tests of `quarterturn ratings`: sheets for blind second ratings, agreement, and sensitivity to the threshold."""

import csv
import json
from pathlib import Path

import pytest

from quarterturn.runs.dev_runs import DevRun
from rotation.generation import shipped_dev_sets
from rotation.month.sets import DEMO
from sandbox.results.outcome import TaskRun
from sandbox.transcript import CallRecord, Transcript
from vault.task.document import Task
from verifiers.language.verdict import Evidence, Verdict

ADA = "subject,rater,rating\nt-1,ada,approve\nt-2,ada,approve\nt-3,ada,reject\nt-4,ada,reject\nt-5,ada,\n"
GRACE = (
    "subject,rater,rating\nt-1,grace,approve\nt-2,grace,reject\nt-3,grace,reject\nt-4,grace,reject\nt-5,grace,approve\n"
)
CLAIMS = """submission,task,claim,score,skeleton
first,t-1,a,1,s-1
first,t-1,b,0.5,s-1
first,t-2,a,1,s-2
first,t-2,b,,s-2
second,t-1,a,1,s-1
second,t-1,b,0,s-1
second,t-2,a,1,s-2
second,t-2,b,0,s-2
"""


@pytest.fixture
def write(tmp_path: Path):
    def write(name: str, text: str) -> Path:
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return write


def test_two_raters_of_two_files(say, write):
    files = write("ada.csv", ADA), write("grace.csv", GRACE)
    found = say("ratings", "agreement", *files, "--json").data
    assert (found["raters"], found["subjects"]) == (["ada", "grace"], 5)
    kappa = found["measures"]["cohen_kappa"]  # 3 of 4 agree; by chance 2/4 * 1/4 + 2/4 * 3/4 = 1/2
    assert (kappa["value"], kappa["n"]) == (0.5, 4)
    assert found["measures"]["fleiss_kappa"]["n"] == 0
    assert found["measures"]["krippendorff_alpha"]["n"] == 4
    out = say("ratings", "agreement", *files).out
    assert "Cohen's kappa" in out
    assert "Fleiss" not in out


def test_three_raters_and_an_order(say, write):
    third = GRACE.replace("grace", "joan").replace("t-5,joan,approve", "t-5,joan,unsure")
    files = write("ada.csv", ADA), write("grace.csv", GRACE), write("joan.csv", third)
    found = say("ratings", "agreement", *files, "--order", "reject, unsure, approve", "--json").data
    assert found["measures"]["cohen_kappa"]["value"] is None
    assert (found["measures"]["fleiss_kappa"]["n"], found["measures"]["krippendorff_alpha"]["n"]) == (4, 5)
    say("ratings", "agreement", *files, "--order", "reject,approve").refuses(2, "'unsure' has no place in the order")


def test_numbers_are_in_their_order(say, write):
    text = "subject,rater,rating\n" + "".join(f"t-{n},{who},{n % 11}\n" for n in range(22) for who in ("a", "b"))
    assert say("ratings", "agreement", write("r.csv", text), "--json").data["order"] == [str(n) for n in range(11)]


def test_where_one_category_occurs_kappa_is_null(say, write):
    file = write("r.csv", "subject,rater,rating\nt-1,a,approve\nt-1,b,approve\nt-2,a,approve\nt-2,b,approve\n")
    measures = say("ratings", "agreement", file, "--json").data["measures"]
    assert measures["cohen_kappa"] == {"value": None, "n": 2, "low": None, "high": None}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "has no column subject; its first line has to name subject, rater, rating"),
        ("subject,rater\nt-1,ada\n", "has no column rating"),
        ("subject,rater,rating\nt-1,ada\n", "line 2: it has not one field for each column"),
        ("subject,rater,rating\nt-1,ada,x,y\n", "line 2: it has not one field for each column"),
        ("subject,rater,rating\n,ada,x\n", "line 2: subject is empty"),
        ("subject,rater,rating\nt-1,ada,x\nt-1,ada,y\n", "line 3: ada has rated t-1 already"),
        ("subject,rater,rating\nt-1,ada,x\n", "there are 1: name each rater's file"),
        ('subject,rater,rating\nt-1,"ada,x\n', "is no CSV file: "),
    ],
)
def test_a_file_that_holds_no_ratings_is_one_sentence(say, write, text, why):
    say("ratings", "agreement", write("r.csv", text)).refuses(2, why)


def test_a_file_that_is_not_there_or_no_text(say, tmp_path):
    assert say("ratings", "agreement", tmp_path / "none.csv").code == 3
    (tmp_path / "bytes.csv").write_bytes(b"subject,rater,rating\n\xff,a,b\n")
    assert say("ratings", "agreement", tmp_path / "bytes.csv").code == 2


def test_thresholds_of_claims(say, write):
    said = say("ratings", "thresholds", write("claims.csv", CLAIMS), "--json")
    rows = {row["threshold"]: row for row in said.data}
    assert list(rows) == [0.5, 0.6, 0.7, 0.75, 0.8, 0.9, 1]
    assert [rows[0.5]["pass_rates"][name]["value"] for name in ("first", "second")] == [1, 1]
    assert [rows[0.75]["pass_rates"][name]["value"] for name in ("first", "second")] == [0.5, 0]
    assert (rows[0.75]["open"], rows[0.75]["ranks"]) == ({"first": 1, "second": 0}, {"first": 1, "second": 2})
    assert (rows[0.75]["kendall_tau_b"], rows[1]["kendall_tau_b"]) == (1, None)
    out = say("ratings", "thresholds", write("claims.csv", CLAIMS)).out
    assert "threshold 0.75, tau-b with 0.75: 1.000" in out
    assert "n 2, 1 open" in out


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (("a,0.5", "a,2"), "'2' is no score"),
        (("b,0.5", "b,1.5"), "'1.5' is no score"),
        (("b,0.5", "b,1e9"), "'1e9' is no score"),
        (("first,t-1,b", "first,t-1,a"), "claim a of t-1 has a score already"),
        (("second,t-2", "second,t-3"), "first has no score of t-3, which another has"),
    ],
)
def test_a_file_that_holds_no_scores_is_one_sentence(say, write, change, why):
    claims = CLAIMS.replace("t-1,a,1,", "t-1,a,0.5,").replace(*change)
    say("ratings", "thresholds", write("claims.csv", claims)).refuses(2, why)


@pytest.fixture(scope="module")
def failed(tmp_path_factory) -> Path:
    """Return a run on three tasks: failed without a call, failed after one, passed."""
    drafts = shipped_dev_sets.drafts(DEMO)[:3]
    tasks = [Task.parse(draft.task) for draft in drafts]
    outcomes = []
    for place, task in enumerate(tasks):
        verdict = Verdict.TRUE if place == 2 else Verdict.FALSE
        calls = (CallRecord("x.guess", {}, False, True, False, "unknown tool", 0.0, refused=True),) * (place == 1)
        transcript = Transcript(calls, "It is done.", "answered")
        names = (task.id, task.category, task.max_steps, verdict, Evidence("filesystem.fileExists", verdict))
        outcomes.append(TaskRun(*names, transcript, goal=task.document["goal"]))
    file = tmp_path_factory.mktemp("ratings") / "run.json"
    file.write_text(json.dumps(DevRun("bwrap", tasks, outcomes).as_json()))
    return file


@pytest.mark.slow  # draws the dev sets
def test_a_blank_sheet_and_a_page_without_classes_are_rated_and_compared_with_the_rules(say, failed, tmp_path):
    sheet = ("ratings", "sheet", failed, "--rater", "ada", "--out", tmp_path / "ada.csv")
    said = say(*sheet, "--html", tmp_path / "p.html")
    assert (said.code, "2 failures" in said.out) == (0, True), said.err
    say("ratings", "sheet", failed, "--out", tmp_path / "rules.csv")
    sheets = ((tmp_path / name).read_text().splitlines() for name in ("ada.csv", "rules.csv"))
    blank, rules = (list(csv.DictReader(lines)) for lines in sheets)
    assert [row["rating"] for row in blank] == ["", ""]
    assert [row["rating"] for row in rules] == ["no_tools_called", "wrong_tool_selection"]
    assert [row["subject"] for row in blank] == [row["subject"] for row in rules]
    page = (tmp_path / "p.html").read_text()
    assert "No tools called" not in page
    assert "Wrong tool selection" not in page
    assert "It is done." in page
    with (tmp_path / "ada.csv").open("w") as file:
        writer = csv.DictWriter(file, blank[0])
        writer.writeheader()
        writer.writerows(row | {"rating": "no_tools_called"} for row in blank)
    measures = say("ratings", "agreement", tmp_path / "ada.csv", tmp_path / "rules.csv", "--json").data["measures"]
    assert (measures["cohen_kappa"]["value"], measures["cohen_kappa"]["n"]) == (0, 2)
    assert "has no run on a dev set" in say("ratings", "sheet", "dev", "--out", tmp_path / "no.csv").sentence
    say(*sheet).refuses(2, "may hold ratings; name another file")


def test_reviews_of_a_home_are_compared_with_a_blind_second_review(say, copy, tmp_path):
    home = copy("reviewed", tasks=1)
    said = say("ratings", "reviews", "--home", home, "--out", tmp_path / "first.csv")
    assert said.code == 0, said.err
    say("ratings", "reviews", "--home", home, "--rater", "joan", "--out", tmp_path / "joan.csv")
    sheets = ((tmp_path / name).read_text().splitlines() for name in ("first.csv", "joan.csv"))
    first, blank = (list(csv.DictReader(lines)) for lines in sheets)
    assert {(row["rater"], row["rating"]) for row in first} == {("grace", "approve")}
    assert {(row["rater"], row["rating"]) for row in blank} == {("joan", "")}
    assert [row["subject"] for row in first] == [row["subject"] for row in blank]
    sheet = (tmp_path / "joan.csv").read_text().replace("joan,\n", "joan,reject\n", 1)
    (tmp_path / "joan.csv").write_text(sheet.replace("joan,\n", "joan,approve\n"))
    found = say("ratings", "agreement", tmp_path / "first.csv", tmp_path / "joan.csv", "--json").data
    assert found["categories"] == {"approve": 2 * len(first) - 1, "reject": 1}
    assert found["measures"]["cohen_kappa"]["value"] == 0
    say("ratings", "reviews", "--home", home, "--out", tmp_path / "joan.csv").refuses(2, "name another file")


def test_a_home_without_a_review_has_no_ratings(say, copy, tmp_path):
    say("ratings", "reviews", "--home", copy("empty"), "--out", tmp_path / "first.csv").refuses(
        2, "has a review yet: quarterturn task review"
    )
    assert not (tmp_path / "first.csv").exists()
