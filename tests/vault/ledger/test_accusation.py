"""Tests of evidence against a submitter: an honest document is proved, and no changed one."""

import copy
import json

import pytest

from vault.errors import Broken, Malformed
from vault.ledger.audit.accusation import check_accusation, recipients_of
from vault.ledger.statements.statement import Statement

from .conftest import RETIRED

WORDS = ("amber", "birch", "cobalt", "delta")


class Case:
    """A month in which two runs were served a task of the cohort that retires, and evidence against the first."""

    def __init__(self, month, *, varied):
        self.task = month.cohorts[RETIRED][0]
        if varied:
            month.vary()
            free = {
                f"name_{place}": {"from": [f"{word}{place}{n}" for word in WORDS for n in range(64)]}
                for place in (1, 2)
            }
            month.tasks[self.task] |= {"free": free}
            month.tasks[self.task]["goal"] += " for {{name_1}} and {{name_2}}"
        month.begin().play_run(1).play_run(2)
        self.month, self.document = month, month.tasks[self.task]
        self.opened, self.score = (
            Statement.parse(month.leaves[month.index[f"{kind}/1"]]) for kind in ("open", "score")
        )
        self.recipients = {("agent-1", "2026-12"), ("agent-2", "2026-12")}
        self.evidence = json.loads(json.dumps(month.evidence_against(1, self.task)))

    def check(self, evidence=None, **other):
        given = {"task": self.document, "opened": self.opened, "score": self.score, "recipients": self.recipients}
        return check_accusation(self.evidence if evidence is None else evidence, **(given | other))


@pytest.fixture
def varied(month):
    return Case(month, varied=True)


@pytest.fixture
def plain(month):
    return Case(month, varied=False)


def test_honest_evidence_is_proved_step_by_step(varied):
    assert varied.check() == [
        "run 1 is one of agent-1 in 2026-12",
        f"its result on {varied.task} was bound when it ended",
        "its transcript was bound with it (calls: 7)",
        "it was served the variant of agent-1 in 2026-12, which is that of 0 other recipients",
    ]
    assert sorted(recipients_of(varied.evidence)) == sorted(varied.recipients)


def test_a_task_that_is_served_alike_to_everybody_has_no_variant_to_show(plain):
    assert plain.check()[-1] == "the task was served alike to everybody"
    with pytest.raises(Broken, match="variant key's presence"):
        plain.check(plain.evidence | {"variant_key": "ab" * 32, "recipients": []})


def leaves(value, way=()):
    """Walk over every value in a document that holds no other, with the way to it."""
    if isinstance(value, dict | list) and value:
        for step, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(part, (*way, step))
    else:
        yield way, value


def other(value):
    """Return another value of the same kind."""
    if isinstance(value, bool) or value is None:
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, str):
        return value[:-1] + ("0" if value[-1:] != "0" else "1")
    return [*value, "ab" * 32]


def test_no_field_can_be_changed_or_left_out_but_the_findings_own_name(varied):
    ways = dict(leaves(varied.evidence))
    assert len(ways) > 60
    for way, value in ways.items():
        changed, cut = copy.deepcopy(varied.evidence), copy.deepcopy(varied.evidence)
        for made in (changed, cut):
            part = made
            for step in way[:-1]:
                part = part[step]
            if made is changed:
                part[way[-1]] = other(value)
            else:
                del part[way[-1]]
            if made is cut or way != ("finding",):
                with pytest.raises((Broken, Malformed)):
                    varied.check(made)
    assert varied.check(varied.evidence | {"finding": 4, "kind": "task"})


def test_a_variant_that_two_recipients_share_is_said_to_be(month):
    """With two choices of one parameter somebody else was shown the same."""
    task = month.cohorts[RETIRED][0]
    month.vary()
    month.tasks[task] |= {"free": {"name": {"from": ["amber", "birch"]}}, "goal": "Write {{name}}"}
    shown = {number: month.task_served(number, task)["goal"] for number in range(1, 20)}
    twin = next(number for number in shown if number > 1 and shown[number] == shown[1])
    month.begin().play_run(1).play_run(twin)
    opened, score = (Statement.parse(month.leaves[month.index[f"{kind}/1"]]) for kind in ("open", "score"))
    recipients = {("agent-1", "2026-12"), (f"agent-{twin}", "2026-12")}
    proved = check_accusation(month.evidence_against(1, task), month.tasks[task], opened, score, recipients)
    assert proved[-1].endswith("which is that of 1 other recipients")


def test_a_run_that_was_not_opened_for_the_task_is_no_recipients(plain):
    with pytest.raises(Broken, match="place of its submitter among the recipients"):
        plain.check(recipients={("agent-2", "2026-12")})
