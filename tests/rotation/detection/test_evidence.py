"""Tests of evidence documents: what a maintainer may have written, of which results, and from when on."""

import json
from dataclasses import replace

import pytest

from rotation.errors import NotAllowed, NotFound, Refused
from rotation.findings.store import NewFinding, PublishedEvidence, ScanRecord
from rotation.runs.run_tasks import OpenRun
from sandbox.results.outcome import unplayed
from vault.ledger.audit.accusation import check_accusation, recipients_of
from vault.ledger.release.openings import evidence_line
from vault.task import variant

from ..conftest import BEFORE, FIRST, Benchmark, played
from .test_leaked_text import month  # noqa: F401 - a fixture

pytestmark = pytest.mark.slow


def found(home: Benchmark, kind: str, subject: str) -> int:
    """Store a finding of the first month, and give its number."""
    finding = NewFinding(kind, subject, FIRST, 0.001, 0.001, 0.001)
    home.findings.keep([ScanRecord(FIRST, home.clock(), 1, 1, None)], [finding])
    return next(item.number for item in home.findings.all() if (item.kind, item.subject) == (kind, subject))


def written(home: Benchmark, number: int, task: str, run: int = 1) -> dict:
    return home.evidence.document(home.findings.get(number), task, run, who="ada", why="a test")


def of_sunset(home: Benchmark, run: OpenRun, *, varied: bool = True) -> str:
    """Return a task of the cohort that retires first."""
    return next(task for task in run.cohorts[0].tasks if home.vault.record(task).traceable is varied)


def test_what_a_finding_rests_on_is_opened_and_holds(month):  # noqa: F811
    run = month.play("alpha", 0.5)
    month.play("beta", 0.5)
    task = of_sunset(month, run)
    document = written(month, found(month, "leak", "alpha"), task)
    assert recipients_of(document) == [("alpha", "2026-12"), ("beta", "2026-12")]
    served = next(item.task for item in month.run_tasks.prepare(replace(run, done=frozenset())) if item.task.id == task)
    assert document["transcript"]["goal"] == served.goal
    assert "folder-" in served.goal
    opened = month.vault.open(task, who="ada", why="a test").task
    statements = month.run_ledger.opened(1).statement, month.run_ledger.scored(1).statement
    line = json.loads(evidence_line(document))
    assert len(check_accusation(line, opened.document, *statements, recipients_of(document))) == 4
    key = bytes.fromhex(document["variant_key"])
    assert opened.filled(variant.assigned(key, "alpha", "2026-12", opened.free)) == served


def test_a_task_that_all_are_served_alike_has_no_recipients(month):  # noqa: F811
    run = month.play("alpha", 0.5)
    document = written(month, found(month, "leak", "alpha"), of_sunset(month, run, varied=False))
    assert not {"recipients", "variant_key"} & document.keys()


def test_every_opening_is_logged_under_the_name_of_who_asked(month):  # noqa: F811
    run = month.play("alpha", 0.5)
    task, number = of_sunset(month, run), found(month, "leak", "alpha")
    before = len(month.vault.access_log())
    written(month, number, task)
    entries = month.vault.access_log()[before:]
    assert {entry.who for entry in entries} == {"ada"}
    assert {entry.what for entry in entries} == {
        "blob/closing/1", "blob/opening/1", f"blob/run/1/{task}", f"task/{task}"
    }  # fmt: skip


ABOUT_ANOTHER = (
    ("leak", "beta"),
    ("copy", "beta|gamma"),
    ("task", "t-other"),
    ("verdict", "2/TASK"),
    ("family", "tag"),
)
ABOUT_IT = (
    ("copy", "alpha|beta"),
    ("task", "TASK"),
    ("exposure", "TASK"),
    ("verdict", "1/TASK"),
    ("family", "TAG"),
    ("unclear", "alpha"),
)


def test_evidence_is_of_a_result_that_the_finding_is_about(month):  # noqa: F811
    run = month.play("alpha", 0.5)
    task = of_sunset(month, run)
    for kind, subject in (*ABOUT_ANOTHER, *ABOUT_IT):
        number = found(month, kind, subject.replace("TASK", task).replace("TAG", month.vault.record(task).template_tag))
        if (kind, subject) in ABOUT_IT:
            assert written(month, number, task)["kind"] == kind
            continue
        with pytest.raises(Refused, match=rf"finding {number} \({kind}, 2026-12\) is about .*name another --task or"):
            written(month, number, task)


def test_a_result_without_a_transcript_and_one_that_is_not_there_are_refused(month):  # noqa: F811
    run = month.open("alpha")
    lost, *rest = run.tasks
    tasks = {task.id: task for task in month.serve(run)}
    month.run_tasks.record(run, unplayed(tasks[lost], "unclear", "worker-lost"))
    number = found(month, "leak", "alpha")
    with pytest.raises(NotFound, match="run 1 has no result for task"):
        written(month, number, rest[0])
    for task in rest:
        month.run_tasks.record(run, played(tasks[task], month.done(task)))
    month.official.close(run)
    with pytest.raises(Refused, match="run 1 left no transcript of task"):
        written(month, number, lost)
    with pytest.raises(NotFound, match="there is no finding 7"):
        month.findings.get(7)


def test_a_private_task_is_refused_until_its_release_is_written(month):  # noqa: F811
    run = month.play("alpha", 0.5)
    task = of_sunset(month, run)
    withdrawn = next(name for name in run.cohorts[0].tasks if name != task)
    month.withdrawals.withdraw([withdrawn], "it leaked", cause="leak", who="ada")
    for name in (task, withdrawn):
        with pytest.raises(NotAllowed, match="is private until the turn of 2026-12 publishes cohort-2026-12"):
            month.evidence.require_public(name)
    month.rotation.run(FIRST)
    for name in (task, withdrawn):
        month.evidence.require_public(name)
    with pytest.raises(NotAllowed, match="never belonged to a cohort"):
        month.evidence.require_public("t-none")


def test_a_release_carries_what_was_marked_on_its_cohort_and_is_the_same_when_written_again(month):  # noqa: F811
    run = month.play("alpha", 0.5)
    mine, later = of_sunset(month, run), run.cohorts[1].tasks[0]
    number = found(month, "leak", "alpha")
    with month.months.transaction() as session:
        for task in (later, mine, mine):
            month.findings.publish_evidence(session, PublishedEvidence(number, 1, task), who="ada")
    month.rotation.run(FIRST)
    folder = month.audited(FIRST)
    (line,) = (folder / "evidence.jsonl").read_bytes().splitlines()
    assert json.loads(line) == written(month, number, mine)
    assert "evidence.jsonl" in (folder / "README.md").read_text()
    files = {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    turn = month.months.turn(FIRST)
    assert {folder / name: data for name, data in month.release.content(turn, run.cohorts[0]).files().items()} == files
    assert not (month.releases / BEFORE.release / "evidence.jsonl").exists()
