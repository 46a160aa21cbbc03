"""Tests of `quarterturn measure RELEASE --trace`: calls that an owner has published, compared with the log."""

import json
import tempfile
from contextlib import closing
from pathlib import Path

import pytest

from quarterturn.app import Application
from tests.quarterturn.findings.test_evidence import copy_of_accused, turned
from tests.quarterturn.invented_runs import submitted

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def public(templates, memory):
    """Return a release, its log's key, and the run of mallory as its owner has published it."""
    home = copy_of_accused(templates, Path(tempfile.mkdtemp(dir=memory)) / "home")
    release = turned(home)
    with closing(Application(home, None)) as house:
        house.auth.accounts.create("mallory", "submitter")
        made, _ = submitted(house, "mallory", 1)
        house.submissions.traces.publish(made.id, "mallory", public=True)
        document = house.submissions.traces.published(made.id)
    return release, home / "public" / "log.vkey", document


@pytest.fixture
def published(public, tmp_path):
    """Return these with the published run in a file."""
    release, key, document = public
    file = tmp_path / "run.json"
    file.write_text(json.dumps(document))
    return release, key, file


def changed(file: Path, change) -> Path:
    document = json.loads(file.read_bytes())
    change(document["trace"]["tasks"])
    file.write_text(json.dumps(document))
    return file


def first_call(tasks):
    return tasks[0]["run"]["transcript"]["calls"][0]


@pytest.mark.full
def test_published_calls_are_what_the_log_bound_and_are_measured_in_their_variant(say, published, tmp_path):
    release, key, file = published
    said = say("measure", release, "--key", key, "--trace", file, "--html", tmp_path / "trace.html", "--json")
    assert said.code == 0, said.err
    mallory, ada = said.data["runs"]
    assert (mallory["measures"]["call_accuracy"]["n"], ada["measures"]["call_accuracy"]["n"]) == (6, 0)
    assert mallory["measures"]["tool_call_success"]["value"] == 1
    assert len(mallory["tasks"]) == 6
    assert "Reference solution 1" in (tmp_path / "trace.html").read_text()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            lambda tasks: tasks[0]["run"]["transcript"]["calls"][0].update(result="better"),
            "is not the one that the log bound",
        ),
        (lambda tasks: tasks[0].update(transcript_salt="00" * 32), "is not the one that the log bound"),
        (lambda tasks: tasks[0]["run"].update(verdict="false"), "verdict or counts differ from the result"),
        (lambda tasks: first_call(tasks).update(listed=False), "verdict or counts differ"),
        (lambda tasks: tasks.clear(), "no task of this release"),
    ],
)
def test_calls_that_the_log_did_not_bind_are_refused(say, published, change, sentence):
    release, key, file = published
    say("measure", release, "--key", key, "--trace", changed(file, change)).refuses(8, sentence)


def test_a_trace_is_read_beside_a_release_alone(say, published, tmp_path):
    release, key, file = published
    assert say("measure", release, "--key", key, "--trace", tmp_path / "none").code == 3
    file.write_text("[]")
    say("measure", release, "--key", key, "--trace", file).refuses(2, "is not a published run")
