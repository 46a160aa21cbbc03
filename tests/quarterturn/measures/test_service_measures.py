"""Tests of the measures of submissions: computed in a process of their own, kept with the trace, shown to the owner."""

from __future__ import annotations

import json
import subprocess
import sys
import threading

import pytest

from quarterturn.measures import process
from quarterturn.runs import dev_runs
from quarterturn.runs.dev_runs import DevRun
from quarterturn.submissions.store.requests import SubmissionRequest
from rotation.generation import dev_sets
from rotation.generation.grammars import shipped_grammars
from rotation.month.sets import DEMO

from ..http.conftest import outcome, served, with_dev_set

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
    made, _ = site.house.submissions.take("ada", SubmissionRequest("dev", image="agent:1"), month="2026-12")
    site.house.job_worker.work(site.house.queue.claim("w"), threading.Event())
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


def test_a_submission_without_measures_has_no_trace_page(site):
    site.account("ada")
    made, _ = site.house.submissions.take("ada", SubmissionRequest("dev", image="agent:1"), month="2026-12")
    assert site.get(f"/submission/{made.id}/trace", "ada").status_code == 404
    run = play_two(None, site.house._dev_tasks(2))
    site.house.trace_store.keep(made.id, run.as_json() | {"measures": None})
    assert site.get(f"/submission/{made.id}", "ada").status_code == 200
    assert site.get(f"/submission/{made.id}/trace", "ada").status_code == 404


def test_a_run_that_cannot_be_measured_is_kept_without_measures(monkeypatch, caplog):
    drafts = dev_sets.draw(shipped_grammars(), DEMO)[:1]
    monkeypatch.setattr(process, "PATIENCE", 0.0)
    run = play_two(None, [])
    assert process.measured(run, drafts) is None
    assert "a run was not measured: TimeoutExpired" in caplog.text


def test_the_process_opens_no_file_once_it_reads_what_an_agent_wrote():
    words = """
import json, os, sys
from quarterturn.measures import process
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
    drafts = dev_sets.draw(shipped_grammars(), DEMO)[:1]
    tasks = json.dumps([{"task": draft.task, "provenance": draft.provenance} for draft in drafts])
    sent = f"{tasks}\nsecret\n".encode()
    done = subprocess.run([sys.executable, "-c", words], input=sent, capture_output=True, check=True)
    assert done.stdout == b"Operation not permitted"
