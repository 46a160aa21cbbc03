"""Tests of the verb that withdraws a task: who may, what the public sees, and resuming after a kill."""

import json
import shlex
import signal
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from quarterturn.app import Application
from quarterturn.approvals.signatures import NAMESPACE
from quarterturn.cli.daily import findings_text
from quarterturn.errors import Unapproved
from quarterturn.findings.finding_list import listed
from quarterturn.http.responses.public_view import PublicView
from quarterturn.pages import leaderboard
from quarterturn.settings import ApprovalSettings
from rotation.calendar import Month
from rotation.errors import Malformed
from rotation.findings.store import NewFinding, ScanRecord
from rotation.month import sets
from rotation.runs import withdrawal
from vault.ledger.audit.verify import audit
from vault.ledger.statements.log_state import WITHDRAWAL
from vault.task.lifecycle import TaskState

from ...broken import EVIDENCE
from ...sandbox.builders import in_memory
from ...ssh_keys import make_ssh_key
from ..approvals.test_approvals import guard, sign
from ..children import Child, die
from ..conftest import configure, provenance_of, stocked_up, with_files, with_submitters
from ..invented_runs import passing, play

NOW = datetime(2026, 12, 5, 10, tzinfo=UTC)
FIRST = Month.parse("2026-12")
ROOT = Path(__file__).resolve().parents[3]
GUIDE = ROOT / "docs" / "how-to" / "withdraw-a-task.md"

pytestmark = pytest.mark.slow


@pytest.fixture
def reserved(copy, monkeypatch):
    """Return a home with a live set and one spare task of each stratum, and with tasks for the next turn."""
    monkeypatch.setitem(sets.SETS, "demo", replace(sets.DEMO, reserve=dict.fromkeys(sets.DEMO.per_cohort, 1), text=""))
    return copy("reserved", tasks=7, live=True)


@pytest.fixture
def house(reserved, opened):
    return with_submitters(opened(reserved, lambda: NOW), "ada")


def played(house, *failed, submitter="ada"):
    """Play a run that passes all tasks except these."""
    return house.runs.store.get(play(house, submitter, passing(lambda _, task: task not in failed)).record.number)


def of_fresh(house):
    """Return a task of the cohort that retires last."""
    return house.benchmark.months.cohorts("live")[-1].tasks[0]


def gone(house, *tasks, reason="it leaked"):
    return house.month.withdrawals.withdraw(tasks, reason, cause="leak", who="ada")


def gone_as_broken(house, *tasks, reason="it is broken"):
    """Withdraw with evidence that nobody proved: what proves it is tested with a real box below."""
    house.benchmark.withdrawals.withdraw(
        tasks, reason, cause="broken", who="ada", evidence=dict.fromkeys(tasks, EVIDENCE)
    )
    house.submissions.view.update()


def sealed_score(house, run):
    return house.runs.scores.of_month(run.month)[run.number].scores["sealed"]


@pytest.mark.both_databases
def test_figures_follow_the_published_leaf_and_not_the_row(house, monkeypatch):
    task = of_fresh(house)
    run = played(house, task)
    before = sealed_score(house, run)
    assert (before.attempted, before.passed) == (18, 17)
    first = house.runs.scores.disclosed(run.number)
    with monkeypatch.context() as patch:
        patch.setattr(house.log.ledger, "publish", lambda: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            gone_as_broken(house, task)
    house.submissions.view.update()
    assert sealed_score(house, run) == before, "nobody has seen the leaf yet"
    gone_as_broken(house, task)
    after = sealed_score(house, run)
    assert (after.attempted, after.passed) == (17, 17)
    opened = len(house.home.vault.access_log())
    house.submissions.view.update()
    assert sealed_score(house, run) == after
    assert len(house.home.vault.access_log()) == opened, "made anew once, and kept"
    assert house.runs.scores.disclosed(run.number) == first, "what was told was told"


def test_a_leak_after_the_score_changes_no_figure(house):
    """Whoever failed a task that they could read leaks it: the fail stays."""
    task = of_fresh(house)
    run = played(house, task)
    house.submissions.refresh_view()
    before = json.loads(PublicView(house.home.places.public).leaderboard("2026-12").body)
    kept, opened = house.runs.scores.of_month(run.month), len(house.home.vault.access_log())
    leaf = gone(house, task)[task].leaf
    house.submissions.view.update()
    after = json.loads(PublicView(house.home.places.public).leaderboard("2026-12").body)
    assert after["lines"] == before["lines"]
    assert house.runs.scores.of_month(run.month) == kept
    assert [entry.what for entry in house.home.vault.access_log()[opened:]] == [f"task/{task}"], "no closing was opened"
    assert after["changes"][0] | {"subject": task, "leaf": leaf, "cause": "leak"} == after["changes"][0]


@pytest.mark.full
def test_the_leaderboards_of_all_months_that_had_the_task_show_it(house):
    task = of_fresh(house)
    played(house, task)
    house.month.rotation.run(FIRST)
    january = played(house, task, submitter="bob")
    house.submissions.refresh_view()
    gone_as_broken(house, task, reason="its goal <cannot> be met")
    (leaf,) = (entry.leaf for entry in house.benchmark.withdrawals.listed())
    for month, attempted in (("2026-12", 23), ("2027-01", 23)):
        shown = json.loads(PublicView(house.home.places.public).leaderboard(month).body)
        assert [line["whole"]["attempted"] for line in shown["lines"]] == [attempted]
        (row,) = [row for row in shown["changes"] if row["kind"] == "withdraw"]
        assert (row["leaf"], row["subject"], row["cause"]) == (leaf, task, "broken")
        assert row["why"] == "its goal <cannot> be met"
    page = leaderboard.page(shown, ["2026-12", "2027-01"], None)
    assert "A task was withdrawn" in page
    assert "it is broken: it counts in no run" in page
    assert f"/log/proof/inclusion?index={leaf}" in page
    assert january.number in {line["run"] for line in shown["lines"]}
    assert house.detection.linked_scores(FIRST.plus(1))


def test_maintainers_are_notified_once_on_every_channel(house):
    task = of_fresh(house)
    leaf = gone(house, task)[task].leaf
    house.month.clock.look()
    house.month.clock.look()
    posted = [one for one in house.month.outbox.posted() if one.key.startswith("task.")]
    assert [(one.key, one.sent) for one in posted] == [(f"task.withdrawn/{leaf}", True)]


@pytest.mark.full
def test_a_withdrawal_at_the_command_line_is_audited_like_the_rest(reserved, say, monkeypatch, opened):
    house = opened(reserved, lambda: NOW)
    first, second = (cohort.tasks for cohort in house.benchmark.months.cohorts("live")[:2])
    house.auth.accounts.create("ada", "submitter")
    early = played(house, first[0])
    words = ("task", "withdraw", first[0], second[0], "--as", "ada", "--home", reserved)
    assert say(*words, "--cause", "leak", "--reason", "").code == 2
    assert say(*words, "--reason", "a text of it was found on a forum").code == 2, "which cause?"
    said = say(*words, "--cause", "leak", "--reason", "a text of it was found on a forum")
    assert said.code == 0, said.err
    assert f"{first[0]} was withdrawn from cohort-2026-12 at leaf" in said.out
    again = say(*words, "--cause", "broken", "--reason", "once more", "--json").data
    assert {(row["cause"], row["reason"]) for row in again} == {("leak", "a text of it was found on a forum")}
    assert all(row["replacement"] for row in again[:1])
    late = played(house, submitter="bob")
    house.month.rotation.run(FIRST)
    house.month.rotation.run(FIRST.plus(1))
    for month, task in ((FIRST, first[0]), (FIRST.plus(1), second[0])):
        folder = house.home.places.releases / month.release
        report = audit(folder, [house.home.places.log_vkey.read_text().strip()])
        assert not report.failed, report.failed
        assert report.doubts[0].rule == "doubt.share", "one of six is more than 5 %"
        assert [json.loads(line)["id"] for line in (folder / "withdrawn.jsonl").read_text().splitlines()] == [task]
        alone = [sys.executable, ROOT / "docs/audit.py", folder, "--key", house.home.places.log_vkey, "--json"]
        answer = subprocess.run(alone, capture_output=True, text=True, check=False)
        assert json.loads(answer.stdout)["answer"] == "yes with doubts", answer.stdout
    attempted = {run["run"]: run["totals"]["attempted"] for run in json.loads(_aggregate(house, FIRST))["runs"]}
    assert attempted == {early.number: 6, late.number: 6}, "what leaked counts where it was bound"
    entries = [entry for entry in house.home.vault.access_log() if entry.why.startswith("withdraw: ")]
    assert [entry.who for entry in entries] == ["ada", "ada"]
    assert [entry.what for entry in entries] == sorted(f"task/{task}" for task in (first[0], second[0]))


def solved_unless_git(stratum, number):
    """Write the provenance of a task that a real box can play; on git its solution makes another folder."""
    return provenance_of(number, f"/data/files/{'x' * (stratum.server == 'git')}number-{{}}")


@pytest.fixture
def one_broken(few, copy, opened):
    """Return a home whose live tasks can be proven again; of each cohort the task with a repository is broken."""
    folder = copy("bare-few")
    house = opened(folder, lambda: NOW)
    stocked_up(house, 5, write=with_files, provenance=solved_unless_git)
    house.month.rotation.run(FIRST.plus(-1))
    house.auth.accounts.create("ada", "submitter")
    return house


@pytest.mark.full
def test_only_what_execution_shows_to_be_broken_stops_to_count_and_the_release_shows_it(
    one_broken, say, tmp_path, monkeypatch
):
    monkeypatch.setattr("quarterturn.boxes.choose_box", lambda *_, **__: in_memory()[0])
    house, home = one_broken, one_broken.home.folder
    cohort = house.benchmark.months.cohorts("live")[0]
    works, breaks = sorted(cohort.tasks, key=lambda task: house.home.vault.record(task).server)
    run = played(house, works, breaks)
    house.submissions.refresh_view()

    def withdraw(task, cause):
        words = ("--cause", cause, "--reason", "it was failed", "--box", "bwrap", "--as", "ada", "--home", home)
        return say("task", "withdraw", task, *words)

    def figures():
        (line,) = json.loads(PublicView(house.home.places.public).leaderboard("2026-12").body)["lines"]
        return line["whole"]["attempted"], line["sunset"]["success_rate"]["value"]

    before, size = figures(), house.log.ledger.size
    assert before == (8, 0)
    said = withdraw(works, "broken")
    assert said.code == 4
    assert f"task {works} is not broken as far as execution shows" in said.sentence
    assert "withdraw it with `--cause leak`" in said.sentence
    assert (house.log.ledger.size, house.home.vault.record(works).state) == (size, TaskState.LIVE)
    assert withdraw(works, "leak").code == 0
    assert figures() == before, "what leaked counts where it is bound"
    said = withdraw(breaks, "broken")
    assert (said.code, said.err) == (0, "")
    assert "It counts in no figure any more" in said.out
    assert figures() == (7, 0)
    stocked_up(house, 1, first=50, write=with_files)
    house.month.rotation.run(FIRST)
    folder = house.home.places.releases / FIRST.release
    report = audit(folder, [house.home.places.log_vkey.read_text().strip()])
    assert not report.failed, report.failed
    (row,) = json.loads(_aggregate(house, FIRST))["runs"]
    assert (row["run"], row["totals"]["attempted"], row["totals"]["passed"]) == (run.number, 1, 0)
    house.submissions.view.update()
    counts = json.loads((house.home.places.view / "results" / f"{FIRST.release}.json").read_text())
    assert [count["attempted"] for count in counts] == [1, 1, 1]  # by server, category and language
    (line,) = [json.loads(line) for line in (folder / "broken.jsonl").read_text().splitlines()]
    tasks = {one["id"]: one for one in map(json.loads, (folder / "withdrawn.jsonl").read_text().splitlines())}
    assert (line["task"], line["solution"], line["verdict"]) == (breaks, "reference", False)
    (call,) = line["calls"]
    assert (call["tool"], "xnumber" in call["arguments"]["path"]) == ("filesystem.create_directory", True)
    for name, document in (("state", line["state"]), ("task", tasks[breaks])):
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
    given = ("--state", tmp_path / "state.json", "--predicate", tmp_path / "task.json")
    said = say("predicate", "check", *given, "--json")
    assert (said.code, said.data["verdict"]) == (1, "false"), "as the line says"


def _aggregate(house, month):
    return (house.home.places.releases / month.release / "aggregate.json").read_bytes()


def withdraw_and_die(home: Path, task: str, step: str) -> None:
    withdrawals = Application(home, None).benchmark.withdrawals
    withdrawals.withdraw(
        [task], "it leaked", cause="leak", who="ada", on_step=lambda done: die() if done == step else None
    )


def test_a_process_killed_before_it_published_leaves_it_to_the_next(reserved, say, opened):
    """After which step it is killed, and that it is finished once: `tests/rotation/runs/test_withdrawal.py`."""
    house = opened(reserved, lambda: NOW)
    task = house.benchmark.months.cohorts("live")[0].tasks[0]
    house.close()
    assert Child(lambda: withdraw_and_die(reserved, task, withdrawal.STEPS[0]))().code == -signal.SIGKILL
    again = ("--cause", "leak", "--reason", "said again", "--as", "bob", "--home", reserved, "--json")
    said = say("task", "withdraw", task, *again)
    house = opened(reserved, lambda: NOW)
    (row,) = said.data
    assert row["reason"] == "it leaked"
    assert house.home.vault.record(row["replacement"]).state is TaskState.LIVE
    house.month.rotation.run(FIRST)
    assert not audit(
        house.home.places.releases / FIRST.release, [house.home.places.log_vkey.read_text().strip()]
    ).failed


def test_the_guide_works_line_by_line(reserved, say, opened):
    task = of_fresh(opened(reserved))
    shown = [line for line in GUIDE.read_text().splitlines() if line.startswith("quarterturn ")]
    assert any(line.startswith("quarterturn task withdraw") for line in shown)
    for line in shown:
        words = shlex.split(line.replace("t-abcdefghijklmnop", task))[1:]
        said = say(*(reserved if word == "home" else word for word in words))
        assert said.code == 0, (line, said.err)
    assert task in said.out


def test_where_the_rules_ask_for_two_one_maintainer_withdraws_nothing(reserved, opened):
    house = opened(guard(reserved, "ada", "bob", actions=("policy", "withdraw")), lambda: NOW)
    task, size = of_fresh(house), house.log.ledger.size
    with pytest.raises(Malformed):
        gone(house, task, reason=" ")
    for _ in range(2):
        with pytest.raises(Unapproved, match=f"task/{task}"):
            gone(house, task)
    assert (house.home.vault.record(task).state, house.log.ledger.size) == (TaskState.LIVE, size)
    (asked,) = house.auth.approvals.requests()
    assert asked.detail == {"tasks": [task], "cause": "leak", "reason": "it leaked"}
    sign(house, asked, "ada", "bob")
    with pytest.raises(Unapproved):
        gone(house, task, reason="another reason than they signed for")
    assert gone(house, task)[task].leaf == size
    assert gone(house, task, reason="whatever")[task].leaf == size, "what is done needs nobody's word again"


@pytest.mark.needs("ssh-keygen")
def test_a_second_person_whose_key_the_set_names_signs_on_a_machine_of_their_own(reserved, say, tmp_path, opened):
    for name in ("dan", "eve"):
        make_ssh_key(tmp_path / name)
    keys = {"dan": (tmp_path / "dan.pub").read_text()}
    configure(reserved, approvals=ApprovalSettings.model_validate({"withdrawal_keys": keys}))
    house = opened(reserved, lambda: NOW)
    house.month.rotation.run(FIRST)
    task, size = house.benchmark.months.cohorts("live")[0].tasks[0], house.log.ledger.size
    asked, text = tmp_path / "asked", tmp_path / "asked" / f"{task}.json"
    words = ("task", "withdraw", task, "--cause", "leak", "--reason", "it leaked", "--as", "ada", "--home", reserved)

    def refused(*more):
        said = say(*words, *more)
        assert (said.code, house.log.ledger.size, house.home.vault.record(task).state) == (4, size, TaskState.LIVE)
        return said.sentence

    assert "the signature of dan as well" in refused()
    assert "ssh-keygen -Y sign -n quarterturn-withdrawal" in refused("--to-sign", asked)
    document = json.loads(text.read_bytes())
    assert (document["task"], document["reason"], document["cause"]) == (task, "it leaked", "leak")
    assert "is not by dan" in refused("--second-key", tmp_path / "eve")
    sign = ["ssh-keygen", "-q", "-Y", "sign", "-f", tmp_path / "dan", "-n"]
    subprocess.run([*sign, NAMESPACE, text], check=True, capture_output=True)
    assert "not for the namespace quarterturn-withdrawal" in refused("--to-sign", asked)
    text.with_name(f"{text.name}.sig").unlink()
    subprocess.run([*sign, WITHDRAWAL, text], check=True, capture_output=True)
    assert say(*words, "--to-sign", asked).code == 0
    assert say(*words).code == 0, "what is done needs nobody's signature again"
    statement = json.loads(house.log.ledger.leaf(size))["predicate"]
    assert statement["signature"]["key"].startswith("dan+")
    stocked_up(house, 3, first=50)
    house.month.rotation.run(FIRST.plus(1))
    key = house.home.places.log_vkey.read_text().strip()
    assert not audit(house.home.places.releases / FIRST.plus(1).release, [key]).failed


def test_a_proposal_of_the_watch_names_the_verb_and_is_closed_by_it(house):
    task = of_fresh(house)
    found = [NewFinding("exposure", task, FIRST, detail="served too often: withdraw it?")]
    house.benchmark.findings.keep([ScanRecord(FIRST, NOW, 1, 1, None)], found)
    before = "\n".join(findings_text.of_list(listed(house.benchmark.findings, None, everything=False)))
    assert f"`quarterturn task withdraw {task} --cause CAUSE --reason TEXT`" in before
    leaf = gone(house, task)[task].leaf
    after = "\n".join(findings_text.of_list(listed(house.benchmark.findings, None, everything=False)))
    assert f"confirmed since 2026-12-05, ada: withdrawn at leaf {leaf}" in after
    assert "task withdraw" not in after
