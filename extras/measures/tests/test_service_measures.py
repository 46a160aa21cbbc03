"""Tests of the measures of submissions: computed in a process of their own, kept with the trace, shown to the owner."""

import json
import subprocess
import sys
import threading
from datetime import timedelta

import pytest

from quarterturn import extras
from quarterturn.runs import dev_runs
from quarterturn.runs.dev_runs import DevRun
from quarterturn.submissions.store.requests import SubmissionRequest
from quarterturn_measures import process
from quarterturn_measures.comparison import process as comparison_process
from quarterturn_measures.failure_field import FailureField
from quarterturn_measures.measures.failure_class import TITLES
from rotation.generation import shipped_dev_sets
from rotation.month.sets import DEMO
from tests.quarterturn.http.conftest import outcome, served, with_dev_set

pytestmark = pytest.mark.slow

HOSTILE = "<script>no</script>"


@pytest.fixture
def site(live, templates):
    with served(with_dev_set(live, templates)) as site:
        yield site


def play_two(_request, tasks, *_more, **_words):
    """Stand for a run on the dev set: two tasks, each with one call."""
    return DevRun("memory", tasks[:2], [outcome(task, passed=n == 0, says=HOSTILE) for n, task in enumerate(tasks[:2])])


def test_a_run_on_the_dev_set_is_measured_and_its_owner_sees_the_trace(site, monkeypatch):
    monkeypatch.setattr(dev_runs, "dev", play_two)
    site.account("ada")
    site.account("bob")
    made, _ = site.house.submissions.store.take("ada", SubmissionRequest("dev", image="agent:1"), month="2026-12")
    site.house.execution.job_worker.work(site.house.submissions.queue.claim("w"), threading.Event())
    measures = site.get(f"/runs/{made.id}", "ada").json()["trace"]["measures"]
    assert measures["measures"]["success_rate"]["value"] == 0.5
    assert (measures["failures"]["diagnosed"], len(measures["tasks"])) == (1, 2)
    page = site.get(f"/submission/{made.id}", "ada")
    assert f"/submission/{made.id}/trace" in page.text
    assert site.get(f"/submission/{made.id}/measures.csv", "ada").text.startswith("measure,")
    trace = site.get(f"/submission/{made.id}/trace", "ada")
    assert (trace.status_code, "Reference solution" in trace.text, HOSTILE in trace.text) == (200, True, False)
    assert "style-src 'sha256-" in trace.headers["content-security-policy"]
    assert site.get(f"/submission/{made.id}/trace", "bob").status_code == 404


def failing(*classes: str, passed: int = 1) -> dict:
    """Return a kept run whose failures have these classes."""
    shares = {name: {"value": classes.count(name) / len(classes) if classes else None} for name in TITLES}
    measures = {"failures": {"diagnosed": len(classes), "classes": shares}}
    return {"tasks": [{"run": {"passed": True}}] * passed, "measures": measures}


def test_the_field_is_the_median_of_what_other_parties_have_published(site):
    store, times = site.house.submissions.trace_store, iter(range(100))
    for name in ("ada", "bob", "cem", "dia", "eva"):
        site.account(name)
    site.house.auth.accounts.link("eva", "ada")
    field = FailureField(store, site.house.auth.accounts.parties)

    def run(account: str, *classes: str, tasks: str = "dev", published: bool = True) -> str:
        made, _ = site.house.submissions.store.take(account, SubmissionRequest(tasks, image="agent:1"), month="2026-12")
        store.keep(made.id, failing(*classes))
        if published:
            store.publish(made.id, site.house.home.now() + timedelta(seconds=next(times)))
        return made.id

    run("bob", "no_tools_called")
    run("cem", "no_tools_called", "skipped_steps")
    run("dia", tasks="check")
    assert field.beside("ada") is None  # two parties
    run("dia", "skipped_steps", published=False)
    run("eva", "skipped_steps")  # the same party
    assert field.beside("ada") is None
    last = run("dia", "skipped_steps")
    run("dia")  # newer, without a failure
    beside = field.beside("ada")
    assert (beside.runs, beside.shares["no_tools_called"], beside.shares["skipped_steps"]) == (3, 0.5, 0.5)
    assert field.beside("bob").runs == 3
    run("bob", "wrong_tool_selection")  # the newest of a party counts
    assert field.beside("ada").shares["no_tools_called"] == 0
    store.publish(last, None)
    assert field.beside("ada") is None


@pytest.mark.full
def test_an_owner_sees_the_field_beside_the_own_profile(site, monkeypatch):
    monkeypatch.setattr(dev_runs, "dev", play_two)
    names = ("ada", "bob", "cem", "dia")
    made = {}
    for name in names:
        site.account(name)
        made[name] = site.house.submissions.store.take(
            name, SubmissionRequest("dev", image="agent:1"), month="2026-12"
        )[0].id
        site.house.execution.job_worker.work(site.house.submissions.queue.claim("w"), threading.Event())
    table = site.get(f"/submission/{made['ada']}/failures.csv", "ada").text
    assert table.startswith("class,value,low,high,n,median,runs\r\n")
    assert site.get(f"/submission/{made['ada']}/failures.json", "ada").json()["failures"][0]["median"] is None
    assert "median of the other runs" not in site.get(f"/submission/{made['ada']}/trace", "ada").text
    for name in names[1:]:
        assert site.ask("PUT", f"/runs/{made[name]}/publication", name).status_code == 200
    rows = site.get(f"/submission/{made['ada']}/failures.json", "ada").json()["failures"]
    assert {row["runs"] for row in rows} == {3}
    assert sum(row["median"] for row in rows) == 1
    assert "median of the other runs" in site.get(f"/submission/{made['ada']}/trace", "ada").text
    assert "Why tasks failed" in site.get(f"/submission/{made['ada']}", "ada").text


def test_a_submission_without_measures_has_no_trace_page(site):
    site.account("ada")
    made, _ = site.house.submissions.store.take("ada", SubmissionRequest("dev", image="agent:1"), month="2026-12")
    assert site.get(f"/submission/{made.id}/trace", "ada").status_code == 404
    run = play_two(None, site.house.execution.facilities.dev_tasks(2))
    site.house.submissions.trace_store.keep(made.id, run.as_json() | {"measures": None})
    assert site.get(f"/submission/{made.id}", "ada").status_code == 200
    assert site.get(f"/submission/{made.id}/trace", "ada").status_code == 404


def test_a_run_that_cannot_be_measured_is_kept_without_measures(monkeypatch, caplog):
    drafts = shipped_dev_sets.drafts(DEMO)[:1]
    monkeypatch.setattr(process, "CHILD_TIMEOUT_SECONDS", 0.0)
    run = play_two(None, [])
    assert process.measured(run, drafts) is None
    assert "a run was not measured: TimeoutExpired" in caplog.text


SERVED = {"skeleton": "s", "files": {}, "listing_bytes": 1, "is_baseline": False}


@pytest.mark.parametrize(
    ("module", "beside"),
    [(process, lambda draft: {"provenance": draft.provenance}), (comparison_process, lambda _: SERVED)],
)
def test_the_process_opens_no_file_once_it_reads_what_an_agent_wrote(module, beside):
    words = (
        f"import {module.__name__} as process"
        + """
import json, os, sys
def look(text, **how):
    if text != b"secret":
        return real(text, **how)
    try:
        open("/etc/hostname")
    except OSError as error:
        os.write(1, error.strerror.encode())
    os._exit(0)
real, json.loads = json.loads, look
process.main()
"""
    )
    drafts = shipped_dev_sets.drafts(DEMO)[:1]
    tasks = json.dumps([{"task": draft.task} | beside(draft) for draft in drafts])
    sent = f"{tasks}\nsecret\n".encode()
    done = subprocess.run([sys.executable, "-c", words], input=sent, capture_output=True, check=True)
    assert done.stdout == b"Operation not permitted"


def test_a_service_without_the_extra_keeps_runs_without_measures_and_shows_none_of_a_home_that_has_some(
    live, templates, monkeypatch
):
    monkeypatch.setattr(dev_runs, "dev", play_two)
    monkeypatch.setattr(extras, "entry_point", lambda *_: None)
    with served(with_dev_set(live, templates)) as site:
        site.account("ada")
        made, _ = site.house.submissions.store.take("ada", SubmissionRequest("dev", image="agent:1"), month="2026-12")
        site.house.execution.job_worker.work(site.house.submissions.queue.claim("w"), threading.Event())
        kept = site.get(f"/runs/{made.id}", "ada").json()["trace"]
        assert (kept["measures"], len(kept["tasks"])) == (None, 2)
        site.house.submissions.trace_store.keep(made.id, kept | {"measures": failing("skipped_steps")["measures"]})
        page = site.get(f"/submission/{made.id}", "ada")
        assert (page.status_code, "Why tasks failed" in page.text) == (200, False)
        assert site.get(f"/submission/{made.id}/trace", "ada").status_code == 404
