"""Tests of the audit: an honest month is proved; what is passed on in pieces is refused (lies are in `lies.py`)."""

import json
import random

import pytest

from vault.errors import Malformed
from vault.ledger.audit.verify import STEPS, audit
from vault.ledger.release import contents
from vault.ledger.signatures.checkpoint import Checkpoint
from vault.ledger.signatures.note import Signer

from ..builders import refused, signer, turned
from .conftest import OTHER_SECOND, RETIRED, SECOND, solved

pytestmark = pytest.mark.slow


@pytest.fixture
def live(month):
    """Return a month whose set is live."""
    return month.begin()


@pytest.fixture
def played(month):
    """Return a month up to its turn, played honestly."""
    return month.play()


# -- the honest month -------------------------------------------------------------------------------------------------


def test_an_honest_month_is_proved_and_its_full_score_is_pending(played):
    report = audit(played.retire(), played.keys)
    assert report.ok, report.failed
    assert [step.name for step in report.steps] == list(STEPS)
    assert report.pending == "2027-03"
    states = {step.name: step.state for step in report.steps if step.state != "proved"}
    unasked = dict.fromkeys(("consistency", "spot check", "evidence"), "not asked")
    assert states == unasked | {"full score": "pending"}
    assert (report.answer, report.doubts) == ("yes", [])
    assert len(report.caveats) == 5
    assert json.loads(json.dumps(report.as_json()))["failed"] is None
    lines = list(report.lines())
    assert lines.index("yes") < lines.index("What this audit does not prove:")
    assert any("operator's word" in line for line in lines)


def test_a_withdrawn_task_is_refilled_with_the_next_of_its_reserve(live):
    live.open_run(1)
    gone = live.cohorts[RETIRED][0]
    live.withdraw(gone, live.spares[0])
    live.score(1)
    folder = live.play_run(2).retire()
    report = audit(folder, live.keys)
    assert not report.failed, report.failed
    assert "3 tasks open their commitments, byte for byte; 1 of them were withdrawn" in report.steps[6].proved
    assert (report.answer, report.ok) == ("yes with doubts", False)
    (doubt,) = report.doubts
    assert (doubt.rule, doubt.evidence.expected, doubt.evidence.found) == ("doubt.share", "0 to 0", {gone: "leak"})
    assert audit(folder, live.keys, accepted=[1]).ok
    wrong = audit(folder, live.keys, accepted=[2])
    assert not wrong.ok
    with pytest.raises(Malformed, match=r"--accept 2 is no doubt of this audit: its doubts have the numbers 1 to 1"):
        wrong.require_doubts()


def test_a_task_that_was_withdrawn_as_broken_counts_in_no_figure_and_the_effect_is_a_doubt(live):
    live.play_run(1).withdraw_broken(live.cohorts[RETIRED][0], live.spares[0])
    folder = live.retire()
    report = audit(folder, live.keys)
    assert not report.failed, report.failed
    assert "1 of them were withdrawn, 1 as broken, as is shown" in report.steps[6].proved
    assert "without 1 broken tasks" in report.steps[9].proved
    (run,) = json.loads((folder / contents.AGGREGATE).read_text())["runs"]
    bound = json.loads((folder / contents.RUNS).read_text())["totals"]
    assert (bound["attempted"], bound["passed"]) == (2, 1)
    assert (run["totals"]["attempted"], run["totals"]["passed"]) == (1, 0), "what passed was the withdrawn one"
    share, effect = report.doubts
    assert (share.rule, effect.rule) == ("doubt.share", "doubt.withdrawn")
    assert "the effect on ranks is pending until 2027-03" in effect.evidence.where
    assert effect.evidence.expected["with"]["success_rate"] == "0.5000"
    assert effect.evidence.found["without"]["success_rate"] == "0.0000"
    assert audit(folder, live.keys, accepted=[1, 2]).ok


@pytest.mark.parametrize(
    "evidence", [{"solution": "reference", "answer": 'the "first"'}, {"solution": "mutant", "verdict": True}]
)
def test_evidence_of_a_broken_task_plays_a_solution_whose_provenance_is_opened(month, evidence):
    gone = month.cohorts[RETIRED][1]
    calls = solved(month, gone)[:1]
    month.begin_without_reserve().withdraw_broken(gone, None, calls=calls, **evidence)
    report = audit(month.retire(), month.keys)
    assert not report.failed, report.failed


def test_gaps_are_counted_as_what_was_promised(month):
    for name in month.cohorts:
        month.cohorts[name] += [month.invent(f"{name}{n}", 1) for n in range(2)]
    month.begin_without_reserve()
    for gone in month.cohorts[RETIRED][:3]:
        month.withdraw(gone, None)
    report = audit(month.retire(), month.keys)
    assert not report.failed, report.failed
    assert "3 of cohort-2026-12 were withdrawn: see the doubts" in report.steps[6].proved
    assert [doubt.rule for doubt in report.doubts] == ["doubt.share"]


def test_tasks_that_left_the_reserve_are_opened_with_the_next_cohort_and_skipped_in_its_order(live):
    spare, after = live.spares
    live.withdraw(spare, None)
    live.withdraw(live.cohorts[RETIRED][0], after)
    report = audit(live.retire(), live.keys)
    assert not report.failed, report.failed
    assert "2 of them were withdrawn; 1 of cohort-2026-12 were" in report.steps[6].proved


def test_a_second_person_signs_for_the_cohorts_whose_first_set_with_keys_named_them(month):
    month.begin().turn()
    month.second = SECOND  # from here on, also for cohorts that were live without
    month.turn()
    month.withdraw(month.cohorts["cohort-2027-03"][1], None)
    month.second = OTHER_SECOND
    month.turn()
    month.withdraw(month.spares[0], None)
    month.withdraw(month.cohorts["cohort-2027-06"][1], None)
    month.second = SECOND
    month.withdraw(month.cohorts["cohort-2027-04"][1], None)
    report = audit(month.retire(), month.keys)
    assert not report.failed, report.failed


def test_a_task_that_is_withdrawn_as_broken_between_the_opening_and_the_score_of_a_run_is_a_doubt(live):
    live.open_run(1)
    live.withdraw_broken(live.cohorts[RETIRED][0], live.spares[0])
    live.score(1)
    report = audit(live.retire(), live.keys)
    assert not report.failed, report.failed
    assert [doubt.rule for doubt in report.doubts] == ["doubt.share", "doubt.withdrawn"]
    assert (report.answer, report.ok) == ("yes with doubts", False)


def test_an_endpoint_run_on_the_sunset_cohort_alone_leaves_nothing_pending(live):
    report = audit(live.play_run(1, cohorts=[RETIRED], track="endpoint").retire(), live.keys)
    assert report.ok, report.failed
    assert report.pending is None


# -- files and keys ---------------------------------------------------------------------------------------------------


def test_a_bundle_is_judged_only_by_the_callers_keys(played):
    folder = played.retire()
    stranger = signer(9).verifier
    refused(audit(folder, []), "checkpoint", "no key")
    assert audit(folder, []).as_json()["steps"][1]["evidence"] is None, "what the caller gave has no place in a release"
    refused(audit(folder, [stranger.vkey]), "checkpoint", "no given key")
    refused(audit(folder, ["nonsense"]), "checkpoint", "verifier key")
    refused(audit(folder, played.keys, "no note"), "consistency", "the checkpoint that was kept")
    elsewhere = Signer("other.example/log", played.signer.key)
    refused(audit(folder, [elsewhere.verifier.vkey]), "checkpoint")


def test_link_in_place_of_a_file(played):
    folder = played.retire()
    (folder / "tasks.jsonl").rename(folder.parent / "tasks.jsonl")
    (folder / "tasks.jsonl").symlink_to(folder.parent / "tasks.jsonl")
    refused(audit(folder, played.keys), "files", "tasks.jsonl")


def test_a_folder_that_is_no_bundle(tmp_path, month):
    refused(audit(tmp_path / "nowhere", month.keys), "files")
    (tmp_path / "file").write_text("x")
    refused(audit(tmp_path / "file", month.keys), "files")


@pytest.mark.slow
def test_no_truncation_and_no_flipped_bit_of_any_file_goes_unnoticed(played):
    folder = played.retire()
    draw = random.Random(8785)
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        data = path.read_bytes()
        places = {0, len(data) // 2, len(data) - 1, *(draw.randrange(len(data)) for _ in range(6))}
        for place in places:
            path.write_bytes(turned(data, 8 * place + draw.randrange(8)))
            assert audit(folder, played.keys).failed, (path.name, place)
            path.write_bytes(data[:place])
            assert audit(folder, played.keys).failed, (path.name, place)
        path.write_bytes(data)
    assert audit(folder, played.keys).ok


# -- the log ----------------------------------------------------------------------------------------------------------


def test_a_signed_head_of_absurd_size_is_refused_at_once(played):
    folder = played.retire()
    (folder / "log/checkpoint").write_text(Checkpoint("bench.example/log", 2**52, bytes(32)).sign(played.signer))
    refused(audit(folder, played.keys), "root", "the tiles of 4503599627370496 leaves")


def test_names_that_could_write_to_a_terminal_are_escaped(played):
    folder = played.retire()
    (folder / "log" / "\x1b[2J\udcff").write_text("x")
    report = audit(folder, played.keys)
    refused(report, "file.listed")
    text = "\n".join(report.lines())
    assert "\x1b" not in text
    assert "\\x1b[2J" in text
    assert text.encode()
