"""Tests of shredding tasks from the command line: only what was never promised, all of it or nothing."""

import pytest

from vault.store.shredding import erase
from vault.task.document import Task

pytestmark = pytest.mark.slow


def drafts(house, document, strata):
    """Add drafts with evidence as admission leaves them: the first waits for a review, the others were rejected."""
    ids = []
    for number, stratum in enumerate(strata):
        task = Task.parse(document(stratum, 900 + number))
        house.home.vault.add(task, {}, author="ada", public_grammar=False, skeleton=f"s/{number}", template="t")
        house.home.vault.seal_blob(f"admission/{task.id}", b'{"gates": []}')
        house.home.vault.seal_blob(f"sketch/{task.id}", b"sketch")
        house.home.vault.advance(task.id, "admit" if number == 0 else "reject")
        ids.append(task.id)
    return ids


@pytest.fixture
def house(live, opened):
    return opened(live)


@pytest.fixture
def ids(house, document):
    return drafts(house, document, list(house.benchmark.spec.per_cohort)[:3])


@pytest.mark.both_databases
def test_all_rejected_tasks_go_with_their_evidence(house, ids, live, say, backend):
    rejected = sorted(ids[1:])
    said = say("task", "shred", "--state", "rejected", "--home", live, "--as", "ada", "--json")
    assert said.code == 0
    assert sorted(said.data["shredded"]) == rejected
    assert (said.data["keys"], said.data["erased"]) == ([house.home.ring.key_id], True if backend == "sqlite" else None)
    for task_id in rejected:
        assert say("task", "show", task_id, "--home", live, "--as", "ada").code == 3
        assert not any(house.home.vault.has_blob(f"{kind}/{task_id}") for kind in ("admission", "sketch"))
    assert house.home.vault.has_blob(f"sketch/{ids[0]}")
    listed = say("task", "list", "--state", "rejected", "--home", live, "--json").data
    assert {row["id"] for row in listed} == set(rejected)
    entries = [entry for entry in house.home.vault.access_log() if entry.why.startswith("task shred")]
    assert sorted(entry.what for entry in entries) == [f"task/{task_id}" for task_id in rejected]
    again = say("task", "shred", "--state", "rejected", "--home", live, "--as", "ada")
    assert again.code == 0
    assert "copies and backups" not in again.out
    twice = say("task", "shred", *rejected[:1] * 2, "--home", live, "--as", "ada")
    assert twice.out.startswith("1 tasks are shredded"), "who is named twice is one"


def test_reviewers_remarks_are_shredded_too(house, ids, live, say):
    said = say("task", "review", ids[0], "--reject", "the canary sings", "--home", live, "--as", "grace")
    assert said.code == 0
    assert house.home.vault.blob_names(f"review/{ids[0]}/")
    said = say("task", "shred", ids[0], "--home", live, "--as", "ada")
    assert said.code == 0
    assert f"with {house.home.ring.key_id}" in said.out
    assert not house.home.vault.blob_names(f"review/{ids[0]}/")
    assert [review.reviewer for review in house.tasks.drafts.reviews(ids[0])] == ["grace"]


def test_one_task_that_must_not_be_shredded_keeps_all(house, ids, live, say):
    promised = house.home.vault.records("live")[0].id
    for other, why in ((promised, "is live and is not shredded: it is promised"), (ids[0], "reject it first")):
        say("task", "shred", ids[1], other, "--home", live, "--as", "ada").refuses(8, why)
        assert house.home.vault.has_blob(f"admission/{ids[1]}")
    assert say("task", "shred", "t-nosuchtask", "--home", live, "--as", "ada").code == 3
    assert say("task", "shred", "--home", live, "--as", "ada").code == 2
    assert say("task", "shred", ids[1], "--state", "draft", "--home", live, "--as", "ada").code == 2


@pytest.mark.full
def test_a_home_goes_on_after_its_rejected_tasks_are_shredded(house, ids, live, say):
    assert say("task", "shred", "--state", "rejected", "--home", live, "--as", "ada").code == 0
    assert say("keys", "rotate", "--home", live, "--as", "ada").code == 0
    assert house.tasks.drafts.sketches(who="ada", why="look").keys() == {ids[0]}
    assert erase(house.home.engine)
    house.month.rotation.run(house.benchmark.months.turns()[-1].month.plus(1))
    house.log.ledger.verify()
