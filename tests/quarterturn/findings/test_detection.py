"""Tests of detection in a home: what maintainers read and set, and that a failed scan stops nobody."""

import pytest

from rotation.calendar import Month
from rotation.findings.store import NewFinding, ScanRecord

pytestmark = pytest.mark.slow

JANUARY = Month(2027, 1)


@pytest.fixture
def flagged(live, opened):
    """Make a home with one finding under review, one with status `watching` and one that is clean."""
    house = opened(live)
    chances = {"mallory": 0.001, "bob": 0.03, "ada": 0.9}
    found = [NewFinding("leak", name, JANUARY, p, p, p) for name, p in chances.items()]
    house.benchmark.findings.keep([ScanRecord(JANUARY, house.home.now(), 6, 4, None, smallest=0.4)], found)
    return live


def test_findings_that_want_attention_are_listed_and_too_few_peers_are_reported(say, flagged):
    data = say("watch", "list", "--home", flagged, "--json").data
    assert [(one["subject"], one["status"], one["state"]) for one in data["findings"]] == [
        ("mallory", "review", "open"),
        ("bob", "watching", None),
    ]
    assert data["looks"][0]["too_few_peers"] is True
    text = say("watch", "list", "--month", "2027-01", "--home", flagged).out
    assert "too few peers" in text
    assert "(one of 40% of the exposed tasks could have been seen)" in text
    assert "ada" not in text
    assert "ada" in say("watch", "list", "--all", "--home", flagged).out
    assert say("watch", "list", "--month", "2027-02", "--home", flagged, "--json").data["findings"] == []


def test_a_person_says_what_a_finding_is_and_why(say, flagged):
    assert "1 finding waits for a review" in say("turn", "status", "--home", flagged).out
    words = ("watch", "review", 1, "explained", "--home", flagged, "--as", "grace")
    assert say(*words).code == 2, "without a reason"
    said = say(*words, "--note", "a public fork of their own", "--json").data
    assert (said["state"], [word["who"] for word in said["reviews"]]) == ("explained", ["detectors", "grace"])
    assert "explained" in say("watch", "list", "--home", flagged).out
    assert "wait for a review" not in say("turn", "status", "--home", flagged).out
    assert say("watch", "review", 99, "open", "--home", flagged, "--as", "grace").code == 3
    assert say("watch", "review", 1, "guilty", "--home", flagged, "--as", "grace").code == 2


def test_a_failed_scan_stops_no_turn_and_is_shown_to_maintainers(say, live, monkeypatch):
    def broken(self, why):
        raise ValueError("the goal of a task")

    monkeypatch.setattr("rotation.detection.scan_results.Scanner.run", broken)
    said = say("turn", "run", "--early", "--home", live)
    assert said.code == 0
    assert "the detectors failed" in said.out
    assert "ValueError" in say("watch", "list", "--home", live).out
    assert "the goal of a task" not in said.out + said.err + say("watch", "list", "--home", live).out


def test_the_submitters_that_were_served_a_task_can_be_read(say, live, opened):
    assert say("watch", "exposure", "--home", live).out.startswith("nothing was served yet")
    task = opened(live).benchmark.months.cohorts("live")[0].tasks[0]
    assert say("watch", "exposure", "--task", task, "--home", live, "--json").data == {"tasks": [], "servings": []}


def test_a_scan_of_a_home_without_runs_finds_nothing(live, opened):
    house = opened(live)
    house.detection.detectors.run("test")
    assert house.benchmark.findings.scans() == []
