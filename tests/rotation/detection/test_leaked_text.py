"""End-to-end test of tracing: variants served, a run named, and an audit that checks the keys; no worlds."""

import json

import pytest

from rotation.runs.run_tasks import OpenRun
from vault.errors import NotAllowed
from vault.ledger.audit.verify import audit
from vault.task import variant
from vault.task.document import Task
from vault.task.lifecycle import TaskState

from ..conftest import BEFORE, COMPOSITION, FIRST, Benchmark, OwnHome, document

pytestmark = pytest.mark.slow

NAMES = ("folder", "target", "output")


def wide(number: int) -> dict[str, dict[str, list[str]]]:
    return {name: {"from": [f"{name}-{number}-{n}" for n in range(256)]} for name in NAMES}


def _all_but_compositions_traceable(home: Benchmark) -> None:
    for number, stratum in enumerate([*home.spec.per_cohort] * 5):
        goal = f"Take number {number} out of the folder {{{{folder}}}} into {{{{target}}}}, as {{{{output}}}}."
        free = {} if stratum == COMPOSITION else {"free": wide(number), "goal": goal}
        home.add(document(number, stratum) | free, f"s-{number}")
    home.rotation.run(BEFORE)


@pytest.fixture
def month(own_home: OwnHome) -> Benchmark:
    """Return a home whose first set is live; two of three tasks of each cohort are traceable."""
    return own_home(_all_but_compositions_traceable)[0]


def served(home: Benchmark, name: str) -> tuple[OpenRun, dict[str, Task]]:
    run = home.open(name)
    return run, {task.id: task for task in home.serve(run)}


def varied(tasks: dict[str, Task]) -> list[Task]:
    return [task for task in tasks.values() if "folder-" in task.goal]


def test_each_submitter_is_served_their_own_variant_and_the_same_in_every_run(month):
    _, alphas = served(month, "alpha")
    _, again = served(month, "alpha")
    _, betas = served(month, "beta")
    assert alphas == again
    assert varied(alphas)
    assert all(betas[task.id].goal != task.goal for task in varied(alphas))
    assert all(task.free == {} and "{{" not in task.goal for task in alphas.values())
    plain = alphas.keys() - {task.id for task in varied(alphas)}
    assert plain
    assert all(alphas[name] == betas[name] for name in plain)


def test_a_leaked_text_names_its_runs_and_is_logged_before_anything_is_opened(month):
    for name in ("alpha", "beta", "gamma"):
        served(month, name)
    run, betas = served(month, "beta")
    text = f"Somebody posted this:\n{varied(betas)[0].goal.upper()}\n".encode()
    before = len(month.vault.access_log())
    found = month.leak_tracer.trace(text, who="ada")
    assert found.trace.verdict == "one"
    assert [(who.submitter, who.month) for who, _ in found.trace.named] == [("beta", str(FIRST))]
    assert [source.task_id for source in found.trace.sources] == [varied(betas)[0].id]
    assert next(iter(found.runs.values())) == (2, run.record.number)
    log = month.vault.access_log()[before:]
    assert log[0].what == f"text/{found.sha256}"
    opened = [entry.what for entry in log[1:]]
    assert opened == [f"task/{record.id}" for record in month.vault.records(TaskState.LIVE)]
    assert found.public == ()


def test_a_run_after_a_withdrawal_was_not_served_the_task(month):
    first, alphas = served(month, "alpha")
    (leaked, *_) = varied(alphas)
    month.withdrawals.withdraw([leaked.id], "it leaked", cause="leak", who="ada")
    served(month, "alpha")
    found = month.leak_tracer.trace(leaked.goal.encode(), who="ada")
    assert list(found.runs.values()) == [(first.record.number,)]


def test_an_unrelated_text_finds_nothing(month):
    served(month, "alpha")
    assert month.leak_tracer.trace(b"Take number 3 out of the folder.", who="ada").trace.verdict == "nothing"


def test_nobody_traces_without_a_name(month):
    with pytest.raises(NotAllowed, match="must say who"):
        month.leak_tracer.trace(b"a text", who="")


def test_a_text_counts_only_if_it_was_logged_before_the_key_was_public(month):
    run = month.play("alpha", 0.5)
    tasks = {planned.task.id: planned.task for planned in month.run_tasks.prepare(run)}
    of_sunset = varied({name: task for name, task in tasks.items() if name in run.cohorts[0].tasks})[0]
    early = of_sunset.goal.encode()
    month.leak_tracer.trace(early, who="ada")
    month.rotation.run(FIRST)
    late = early + b" Again."
    assert month.leak_tracer.trace(late, who="ada").public == (of_sunset.id,)
    known = month.leak_tracer.trace(early, who="ada")
    assert known.public == ()
    assert known.trace.verdict == "one"


def test_an_auditor_checks_the_keys_and_derives_what_each_run_was_shown(month):
    run = month.play("alpha", 0.5)
    shown = {planned.task.id: planned.task for planned in month.run_tasks.prepare(run)}
    month.rotation.run(FIRST)
    folder = month.releases / FIRST.release
    report = audit(folder, [month.vkey])
    assert report.ok
    tasks = [json.loads(line) for line in (folder / "tasks.jsonl").read_text().splitlines()]
    openings = [json.loads(line) for line in (folder / "openings.jsonl").read_text().splitlines()]
    submitter = json.loads((folder / "runs.jsonl").read_text())["opening"]["submitter"]
    assert {"variant_key" in opening for opening in openings} == {True, False}
    for task, opening in zip(tasks, openings, strict=True):
        assert ("variant_key" in opening) == ("free" in task)
        if "free" in task:
            free = {name: choice["from"] for name, choice in task["free"].items()}
            values = variant.assigned(bytes.fromhex(opening["variant_key"]), submitter, str(FIRST), free)
            assert Task.parse(task).filled(values) == shown[task["id"]]


def test_an_audit_finds_a_key_that_was_chosen_afterwards(month, monkeypatch):
    month.play("alpha", 0.5)
    monkeypatch.setattr(type(month.vault), "variant_key", lambda _, task_id: variant.task_key(b"x", task_id))
    month.rotation.run(FIRST)
    failed = [step for step in audit(month.releases / FIRST.release, [month.vkey]).steps if step.state == "failed"]
    assert [step.name for step in failed] == ["tasks"]
    assert failed[0].rule == "task.variant"
