"""Tests of the audit against an operator who holds all keys: no lie passes in silence, and no change of a field.

A change of an honest history that no release's audit refuses or doubts is the operator's word, and `OPERATORS_WORD`
says why; a change that becomes one, or that is one no more, fails the test.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from freezing.ledger_rules import CHECKED, WORD
from vault.ledger.audit.verify import audit
from vault.ledger.signatures.policy import Policy
from vault.ledger.statements.statement import STATEMENTS

from ..builders import refused
from .conftest import Month
from .forger import CHANGES, Change, Forger, History
from .lies import LIES

pytestmark = pytest.mark.slow

ORDER = "order within a month, as long as nothing that follows from it changes, where no witness cosigns"
EARLY = "when a commitment was made, as long as it was before its set"
PRIVATE = "what was committed to is opened when its tasks retire"
MEASURED = "what was measured; it was fixed before the task was opened, and adds up"
GRAMMARS = "which grammars are public"
TEXT = "what a task says, as long as it was committed to before a run"
FUTURE = "which tasks are kept in reserve, as long as the next one is used"

OPERATORS_WORD = {
    "commit": {
        "commit $.predicate.provenance: change": "opened where it tells nothing of other tasks",
        "commit $.predicate.public_grammar: change": GRAMMARS,
        "commit $.predicate.public_grammar: exchange": GRAMMARS,
        "commit of a private task $.subject[].digest.hmac-sha256: change": PRIVATE,
        "commit of a private task $.predicate.provenance: change": PRIVATE,
        "commit of a private task $.predicate.public_grammar: change": GRAMMARS,
        "commit of a private task $.predicate.public_grammar: exchange": GRAMMARS,
        **{f"commit: move {place}": EARLY for place in (
            "after commit", "before commit", "before run-open", "before score", "before abort", "before retire",
        )},
        **{f"commit of a private task: move {place}": EARLY for place in (
            "before commit", "before run-open", "before score", "before retire", "before withdraw", "before key",
        )},
    },
    "set": {
        "set $.predicate.cohorts[]: exchange": "the order of a set's cohorts, which says nothing: they retire by month",
        "set $.predicate.cohorts[].tasks[]: exchange": "the order in which a cohort is first promised",
        "set $.predicate.reserve.*: drop": FUTURE,
        "set $.predicate.reserve.*: rename": PRIVATE,
        "set $.predicate.reserve.*[]: drop": FUTURE,
        "set $.predicate.counts.unseen: change": "which skeletons were seen: tags of private tasks are sealed",
        "set $.predicate.servers.*: change": "which servers tasks run on; a release carries no server",
        "set $.predicate.next_draw: change": PRIVATE,
        "set $.predicate.month_key: drop": "the key of the month's files, which stand beside the release",
        "set $.predicate.month_key: change": "the key of the month's files, which stand beside the release",
        "set $.predicate.access_log: drop": "the access log, until a set states how long it is",
        "set $.predicate.access_log.entries: change": "how long the access log is, as long as it does not shrink",
        "set $.predicate.access_log.commitment: change": "the access log is opened to whom the operator chooses",
        "set $.predicate.access_log.commitment: exchange": "the access log is opened to whom the operator chooses",
    },
    "run-open": {
        "run-open $.predicate.cohorts[]: exchange": "the order of an aborted run's cohorts, which says nothing",
        "run-open $.predicate.checkpoint.size: change": "which head of the set a run names, of those before it",
        "run-open $.predicate.judge: drop": "whether a run is judged by a model",
        "run-open $.predicate.judge: add": "whether a run is judged by a model",
        **{f"run-open: move {place}": ORDER for place in (
            "before score", "before withdraw",
        )},
    },
    "score": {
        "score $.predicate.totals[].commitment: change": PRIVATE,
        **{f"score: move {place}": ORDER for place in (
            "after run-open", "after score", "after abort", "after withdraw", "after key", "before withdraw",
        )},
    },
    "abort": {
        "abort $.predicate.reason: change": "why a run was aborted; its results would count nowhere",
        **{f"abort: move {place}": ORDER for place in (
            "after run-open", "before score", "after score", "after withdraw",
        )},
    },
    "retire": {
        "retire $.predicate.spot_check.judged: change": "how many of the chosen results could be judged again",
        "retire: move after commit": ORDER,
    },
    "withdraw": {
        "withdraw $.predicate.reason: change": "free text",
        "withdraw $.predicate.reason: exchange": "free text",
        **{f"withdraw: move {place}": ORDER for place in (
            "before run-open", "after run-open", "before score", "after score", "before abort", "after key",
            "before withdraw", "before key",
        )},
    },
    "key": {
        "key $.predicate.new: change": "which key is the new one; an auditor takes it from elsewhere",
        "key: drop": "whether the key was changed; an auditor takes the keys from elsewhere",
        **{f"key: move {place}": "when the key was changed: each head is signed by the key of its size" for place in (
            "before commit", "after commit", "before set", "after set", "before run-open", "after run-open",
            "before score", "after score", "before abort", "after abort", "before retire", "after retire",
            "before withdraw", "after withdraw",
        )},
    },
    "tasks.jsonl": {"tasks.jsonl $.goal: change, bound": TEXT},
    "withdrawn.jsonl": {
        "withdrawn.jsonl $.goal: change, bound": TEXT,
        "withdrawn.jsonl $.goal: exchange, bound": TEXT,
        "withdrawn.jsonl $.max_steps: change, bound": "the limit of a task that was never served",
    },
    "openings.jsonl": {"openings.jsonl $.provenance: change, bound": "where a task comes from, if it was bound"},
    "runs.jsonl": {
        "runs.jsonl $.opening.submitter: change, bound": "whose a run is, as long as the numbers of attempts fit",
        "runs.jsonl $.opening.submission: change, bound": "what was run; a release carries no submission",
    },
    "results.jsonl": {
        **{f"results.jsonl $.result.{name}: change, bound": MEASURED for name in (
            "verdict", "passed", "calls", "unlisted", "saw_error", "skeleton", "transcript",
        )},
        **{f"results.jsonl $.result.{name}: exchange, bound": MEASURED for name in (
            "saw_error", "skeleton", "transcript",
        )},
    },
    "broken.jsonl": {
        "broken.jsonl $.answer: change": "what shows a task to be broken; whoever has the software can replay it",
        "broken.jsonl $.state: change": "what shows a task to be broken; whoever has the software can replay it",
    },
}  # fmt: skip


def test_each_field_that_can_be_changed_unseen_is_listed_as_the_operators_word():
    for kind in STATEMENTS:
        known = {name for name, entry in CHECKED.items() if WORD in entry}
        for key, reason in OPERATORS_WORD.get(kind, {}).items():
            found = re.search(r"\$\.predicate\.([a-z_.]+?)(?:\.\*)?: (change|drop|add)", key)
            if found and reason != PRIVATE:
                assert any(f"{name}.".startswith(f"{kind} {found[1]}.") for name in known), key


@pytest.fixture(scope="module")
def forger() -> Iterator[Forger]:
    """Yield a forger of three honest months; its releases are written thousands of times, in memory if there is any."""
    memory = Path("/dev/shm")
    with TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        month = Month(Path(folder)).play_turns()
        month.retire()
        forger = Forger(History(month), Path(folder) / "forged")
        chosen = forger.history.releases[-1].retire["predicate"]["spot_check"]["chosen"]
        assert chosen, "the spot check chooses something, so that each of its counts can be told falsely"
        yield forger


def by_word(forger: Forger, what: str) -> dict[str, list[Change]]:
    """Group the changes that begin with a kind of leaf or a file by the words of the table."""
    groups: dict[str, list[Change]] = {}
    for change in CHANGES[what](forger.history):
        groups.setdefault(f"{change.field}: {change.operation}", []).append(change)
    return groups


LARGE = ("commit", "results.jsonl", "retire", "run-open", "runs.jsonl", "score", "set", "withdraw")
"""Leaves and files with many fields; the small size changes the fields of all others."""


@pytest.mark.parametrize("what", [pytest.param(what, marks=[pytest.mark.full] * (what in LARGE)) for what in CHANGES])
def test_a_change_of_each_field_is_refused_or_doubted_or_the_operators_word(forger, what):
    """What is the operator's word is believed at some leaf; of every other field one leaf is changed here."""
    words, groups = OPERATORS_WORD.get(what, {}), by_word(forger, what)
    believed = {
        key
        for key, changes in groups.items()
        if "yes" in map(forger.outcome, changes if key in words else changes[:1])  # ends at the first that is believed
    }
    assert believed == words.keys()
    assert len(groups) > len(words)


@pytest.mark.exhaustive
@pytest.mark.parametrize("what", CHANGES)
def test_further_changes_of_a_field_are_refused_or_doubted_alike(forger, what):
    groups = by_word(forger, what)
    further = {key: changes[1:] for key, changes in groups.items() if key not in OPERATORS_WORD.get(what, {})}
    assert {key for key, changes in further.items() if "yes" in map(forger.outcome, changes)} == set()


@pytest.mark.parametrize("name", LIES)
def test_no_lie_is_believed_and_the_report_shows_what_disagrees(month, name):
    lie = LIES[name]
    report = audit(lie.play(month), month.keys, policy=lie.policy and Policy.parse(lie.policy))
    assert (report.ok, report.answer) == (False, "yes with doubts" if lie.rule.startswith("doubt.") else "no")
    if report.failed:
        refused(report, lie.rule)
        failed, evidence = report.failed, report.failed.evidence
        assert failed.rule is None or evidence.expected != evidence.found
        text, lines = list(report.lines()), [f"    {line}" for line in evidence.lines()]
        start = text.index(f"    {failed.detail}")
        assert text[start + 1 :][: len(lines)] == lines
        assert json.loads(json.dumps(report.as_json()))["steps"][failed.number - 1]["evidence"] == evidence.as_json()
        shown = text[start:][: len(lines) + 1]
    else:
        shown = [line for doubt in report.doubts if doubt.rule == lie.rule for line in doubt.evidence.lines()]
    assert shown
    assert lie.words in "".join(shown), shown
