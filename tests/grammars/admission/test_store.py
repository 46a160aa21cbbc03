"""Tests of the store of drafts: sealed with their evidence, reviewed, rejected, and never in plaintext."""

import hashlib
import sqlite3
from dataclasses import replace
from datetime import UTC, datetime
from random import Random

import pytest
from sqlmodel import Session, SQLModel, select

from grammars.admission.duplicates import wording
from grammars.admission.existing_tasks import TaskIndex
from grammars.admission.gates import admit
from grammars.admission.review import CHECKLIST, TaskReview
from grammars.admission.store import Drafts
from grammars.admission.tables import AdmissionRow, TaskReviewRow
from grammars.draw.sample import sample
from grammars.errors import Malformed, NotAllowed, NotFound
from vault.database import open_engine
from vault.errors import NotAllowed as NotOpen
from vault.keys.ring import FileKeyRing
from vault.store.tables import AccessRow, BlobRow, TaskRow
from vault.store.tasks import Vault
from vault.task.lifecycle import TaskState

TABLES = [row.__table__ for row in (TaskRow, BlobRow, AccessRow, AdmissionRow, TaskReviewRow)]
NOW = datetime(2026, 12, 1, 9, tzinfo=UTC)


@pytest.fixture
def home(tmp_path, url):
    engine = open_engine(url)
    SQLModel.metadata.create_all(engine, tables=TABLES)
    vault = Vault(engine, FileKeyRing.create(tmp_path / "keys" / "ring.json", None), lambda: NOW)
    yield vault, Drafts(engine, vault, lambda: NOW), tmp_path
    engine.dispose()


@pytest.fixture
def kept(home, draft, prover):
    vault, drafts, _ = home
    drafts.keep(draft, admit(draft, prover, TaskIndex()), author="Ada", public_grammar=True)
    return vault, drafts, draft


def review(draft, reviewer="Bea", decision="approve", note="", **no):
    checklist = {key: key.replace("-", "_") not in no for key in CHECKLIST}
    return TaskReview(draft.id, reviewer, decision, checklist, NOW, note)


@pytest.mark.both_databases
def test_an_admitted_draft_is_sealed_with_its_evidence_and_waits_for_a_review(kept):
    vault, drafts, draft = kept
    assert vault.record(draft.id).state is TaskState.ADMITTED
    assert drafts.admission(draft.id).ok
    evidence = drafts.evidence(draft.id, who="Bea", why="review")
    assert [gate["number"] for gate in evidence["gates"]] == [1, 2, 3, 4, 5, 6, 7]
    opened = vault.open(draft.id, who="Bea", why="review")
    assert opened.provenance["skeleton"] == draft.skeleton
    assert [entry.who for entry in vault.access_log()] == ["Bea", "Bea"]


@pytest.mark.both_databases
def test_a_draft_that_failed_is_kept_as_rejected_with_the_gates_that_stayed_shut(home, draft, prover):
    vault, drafts, _ = home
    prover.known.clear()
    drafts.keep(draft, admit(draft, prover, TaskIndex()), author="Ada", public_grammar=False)
    assert vault.record(draft.id).state is TaskState.REJECTED
    assert drafts.admission(draft.id).failed_gates == (3, 4)


@pytest.fixture
def twin(draft):
    return replace(draft, task={**draft.task, "id": "t-bbbbbbbbbbbbbbbb", "initial_state": {}})


@pytest.mark.both_databases
def test_a_task_with_the_same_wording_is_named_and_nothing_is_opened(kept, twin):
    vault, drafts, draft = kept
    assert drafts.told(twin) == draft.id
    assert drafts.told(draft) is None, "no draft is in its own way"
    assert drafts.told(replace(twin, task={**twin.task, "goal": "Something else."})) is None
    assert vault.access_log() == []
    for event in ("approve", "activate", "retire", "publish"):
        vault.advance(draft.id, event)
        assert drafts.told(twin) == draft.id, event


@pytest.mark.both_databases
def test_the_words_of_a_task_that_was_rejected_are_free_again(kept, twin):
    vault, drafts, draft = kept
    vault.advance(draft.id, "reject")
    assert drafts.told(twin) is None


def test_the_tag_of_a_goal_is_keyed_indexed_and_another_one_in_every_home(kept, tmp_path, draft):
    vault, drafts, _ = kept
    with Session(drafts._engine) as session:
        tag = session.exec(select(AdmissionRow.goal_tag)).one()
        plan = session.connection().exec_driver_sql(
            "EXPLAIN QUERY PLAN SELECT task FROM grammars_admission WHERE goal_tag = ?", (tag,)
        )
        assert "ix_grammars_admission_goal_tag" in str(plan.all())
    said = wording(draft.task)
    assert tag == vault.tag("goal", said)
    assert tag not in {hashlib.sha256(text.encode()).hexdigest() for text in (said, draft.task["goal"])}
    engine = open_engine(f"sqlite:///{tmp_path / 'other.db'}")
    SQLModel.metadata.create_all(engine, tables=TABLES)
    other = Vault(engine, FileKeyRing.create(tmp_path / "other.json", None), lambda: NOW)
    assert other.tag("goal", said) != tag
    engine.dispose()


@pytest.mark.both_databases
def test_an_admission_of_another_draft_is_refused_and_nothing_is_written(home, grammar, draft, prover):
    vault, drafts, _ = home
    with pytest.raises(NotAllowed, match="the admission is of task"):
        drafts.keep(draft, admit(sample(grammar, Random(99)), prover, TaskIndex()), author="Ada", public_grammar=True)
    assert vault.records() == []
    with pytest.raises(NotFound, match="never went through the gates"):
        drafts.admission(draft.id)


@pytest.mark.both_databases
def test_a_second_person_approves_and_nobody_else_is_needed(kept):
    _, drafts, draft = kept
    assert drafts.review(review(draft, note="fine")).state is TaskState.REVIEWED
    assert [(said.reviewer, said.decision) for said in drafts.reviews(draft.id)] == [("Bea", "approve")]
    with pytest.raises(NotOpen):
        drafts.review(review(draft, "Cem", "reject", "late"))
    assert len(drafts.reviews(draft.id)) == 1


@pytest.mark.both_databases
def test_the_author_is_refused_and_an_incomplete_review_changes_nothing(kept):
    vault, drafts, draft = kept
    with pytest.raises(NotAllowed):
        drafts.review(review(draft, "ada"))
    with pytest.raises(Malformed):
        drafts.review(review(draft, paths_covered=False))
    assert vault.record(draft.id).state is TaskState.ADMITTED
    assert drafts.reviews(draft.id) == []


@pytest.mark.both_databases
def test_a_rejection_keeps_its_reason_sealed(home, kept):
    vault, drafts, draft = kept
    drafts.review(review(draft, decision="reject", note="two readings of heron", goal_unambiguous=False))
    assert vault.record(draft.id).state is TaskState.REJECTED
    assert drafts.reviews(draft.id)[0].checklist["goal-unambiguous"] is False
    assert vault.open_blob(f"review/{draft.id}/0", who="Ada", why="to mend it") == b"two readings of heron"


def test_no_word_of_a_draft_reaches_the_database(home, kept):
    _, drafts, draft = kept
    drafts.review(review(draft, note="two readings of heron"))
    dump = "\n".join(sqlite3.connect(home[2] / "quarterturn.db").iterdump())
    for word in (draft.task["goal"], draft.provenance["parameters"]["name"], "heron", draft.skeleton, "out/"):
        assert word not in dump


@pytest.mark.both_databases
def test_a_draft_that_is_there_already_is_left_as_it_is(kept, prover):
    vault, drafts, draft = kept
    with pytest.raises(Exception, match="already"):
        drafts.keep(replace(draft), admit(draft, prover, TaskIndex()), author="Eve", public_grammar=False)
    assert vault.record(draft.id).author == "Ada"
