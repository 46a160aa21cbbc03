"""Tests of the audit: an honest month is proved, a dishonest one is refused at its step (more in `test_vectors.py`)."""

import json
import random
import shutil
from dataclasses import replace

import pytest

from vault.ledger.audit.verify import STEPS, audit
from vault.ledger.release import contents
from vault.ledger.signatures.checkpoint import Checkpoint
from vault.ledger.signatures.note import Signer

from ..builders import refused, signer, turned
from .bad_releases import edited
from .conftest import OTHER_SECOND, SECOND, solved

pytestmark = pytest.mark.slow

RETIRED = "cohort-2026-12"


@pytest.fixture
def live(month):
    """Give a month whose set is live."""
    return month.begin()


@pytest.fixture
def played(month):
    """Give a month up to its turn, played honestly."""
    return month.play()


def without_reserve(month):
    month.spares = []
    return month.begin()


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


def test_the_report_ends_with_what_an_audit_does_not_prove(played):
    lines = list(audit(played.retire(), played.keys).lines())
    assert "yes" in lines
    assert lines.index("yes") < lines.index("What this audit does not prove:")
    assert any("operator's word" in line for line in lines)


def test_a_checkpoint_that_was_kept_from_any_moment_is_extended(played):
    folder = played.retire()
    for kept in sorted((played.folder / "log/checkpoints").iterdir()):
        report = audit(folder, played.keys, kept.read_text())
        assert report.ok
        assert report.steps[11].proved == f"the tree of 16 leaves extends the older one of {kept.name}"


def test_a_withdrawn_task_is_refilled_with_the_next_of_its_reserve(live):
    live.open_run(1)
    served_before = {name: list(tasks) for name, tasks in live.cohorts.items()}
    gone = live.cohorts[RETIRED][0]
    live.withdraw(gone, live.spares[0])
    live.score(1, served_before)
    live.open_run(2)
    live.score(2)
    folder = live.retire()
    report = audit(folder, live.keys)
    assert not report.failed, report.failed
    assert "3 tasks open their commitments, byte for byte; 1 of them were withdrawn" in report.steps[6].proved
    assert (report.answer, report.ok) == ("yes with doubts", False)
    (doubt,) = report.doubts
    assert (doubt.rule, doubt.evidence.expected, doubt.evidence.found) == ("doubt.share", "0 to 0", {gone: "leak"})
    assert audit(folder, live.keys, accepted=[1]).ok
    assert not audit(folder, live.keys, accepted=[2]).ok


def test_a_leaked_task_that_was_withdrawn_is_opened_and_counts(month):
    without_reserve(month)
    month.open_run(1)
    served_before = {name: list(tasks) for name, tasks in month.cohorts.items()}
    gone, stays = month.cohorts[RETIRED]
    month.withdraw(gone, None)
    month.score(1, served_before)
    folder = month.retire()
    report = audit(folder, month.keys)
    assert not report.failed, report.failed
    assert json.loads((folder / contents.WITHDRAWN).read_text())["id"] == gone
    assert json.loads((folder / contents.TASKS).read_text())["id"] == stays
    (run,) = json.loads((folder / contents.AGGREGATE).read_text())["runs"]
    bound = json.loads((folder / contents.RUNS).read_text())["totals"]
    assert (bound["attempted"], bound["passed"]) == (2, 1)
    assert run["totals"] == bound
    assert contents.WITHDRAWN in (folder / contents.README).read_text()


@pytest.fixture
def broken(month):
    """Give a month in which a task was withdrawn as broken after it was scored, with what shows that."""
    month.begin().open_run(1)
    before = {name: list(tasks) for name, tasks in month.cohorts.items()}
    gone = month.cohorts[RETIRED][0]
    month.score(1, before)
    month.withdraw(gone, month.spares[0], cause="broken", reason="its reference solution fails")
    return month


def shown(month, **other):
    """Open what shows that the task was broken."""
    gone = next(iter(month.gone))
    line = {"task": gone, "solution": "reference", "calls": [], "answer": None, "state": {}, "verdict": False}
    return lambda content: replace(content, broken=[line | other])


def test_a_task_that_was_withdrawn_as_broken_counts_in_no_figure_and_the_effect_is_a_doubt(broken):
    folder = broken.retire(shown(broken))
    report = audit(folder, broken.keys)
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
    assert audit(folder, broken.keys, accepted=[1, 2]).ok


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda month: lambda content: content, "broken.jsonl"),
        (lambda month: shown(month, verdict=True), "$.verdict"),
        (lambda month: shown(month, solution="mutant"), "$.verdict"),
        (lambda month: shown(month, task=month.spares[0]), "$.task of all lines"),
    ],
    ids=["nothing", "a reference that passes", "a mutant that fails", "another task"],
)
def test_a_broken_task_that_is_not_shown_to_be_is_refused(broken, change, words):
    why = "task.lines" if words == "broken.jsonl" else "task.broken"
    refused(audit(broken.retire(change(broken)), broken.keys), why, words)


@pytest.mark.parametrize(
    "evidence", [{"solution": "reference", "answer": 'the "first"'}, {"solution": "mutant", "verdict": True}]
)
def test_evidence_of_a_broken_task_plays_a_solution_whose_provenance_is_opened(month, evidence):
    gone = month.cohorts[RETIRED][1]
    calls = solved(month, gone)[:1]
    without_reserve(month).withdraw_broken(gone, None, calls=calls, **evidence)
    report = audit(month.retire(), month.keys)
    assert not report.failed, report.failed


def test_what_shows_that_a_leaked_task_was_broken_is_refused(live):
    live.withdraw(live.cohorts[RETIRED][0], live.spares[0])
    refused(audit(live.retire(shown(live)), live.keys), "task.lines", "broken.jsonl")


def test_a_cohort_that_was_emptied_before_a_run_opens_no_result_of_it(month):
    without_reserve(month)
    for gone in list(month.cohorts[RETIRED]):
        month.withdraw(gone, None)
    month.open_run(1)
    month.score(1)
    month.open_run(2)
    month.score(2)
    report = audit(month.retire(), month.keys)
    assert not report.failed, report.failed
    assert [doubt.rule for doubt in report.doubts] == ["doubt.share"]
    assert report.steps[8].proved.startswith("0 results of 2 runs")


def test_gaps_are_counted_as_what_was_promised(month):
    for name in month.cohorts:
        month.cohorts[name] += [month.invent(f"{name}{n}", 1) for n in range(2)]
    without_reserve(month)
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
    before = {name: list(tasks) for name, tasks in live.cohorts.items()}
    live.withdraw_broken(live.cohorts[RETIRED][0], live.spares[0])
    live.score(1, before)
    report = audit(live.retire(), live.keys)
    assert not report.failed, report.failed
    assert [doubt.rule for doubt in report.doubts] == ["doubt.share", "doubt.withdrawn"]
    assert (report.answer, report.ok) == ("yes with doubts", False)


def test_an_endpoint_run_on_the_sunset_cohort_alone_leaves_nothing_pending(live):
    live.open_run(1, cohorts=[RETIRED], track="endpoint")
    alone = {RETIRED: live.cohorts[RETIRED]}
    kept, live.cohorts = live.cohorts, alone
    live.score(1, track="endpoint")
    live.cohorts = kept
    report = audit(live.retire(), live.keys)
    assert report.ok, report.failed
    assert report.pending is None


# -- files and keys ---------------------------------------------------------------------------------------------------


def test_a_bundle_is_judged_only_by_the_callers_keys(played):
    folder = played.retire()
    stranger = signer(9).verifier
    refused(audit(folder, []), "checkpoint", "no key")
    refused(audit(folder, [stranger.vkey]), "checkpoint", "no given key")
    refused(audit(folder, ["nonsense"]), "checkpoint", "verifier key")
    elsewhere = Signer("other.example/log", played.signer.key)
    refused(audit(folder, [elsewhere.verifier.vkey]), "checkpoint")


@pytest.mark.parametrize("name", ["log.vkey", "log/notes", "log/tile/0/001", "log/checkpoints/3", "extra/deep/file"])
def test_unlisted_file(played, name):
    folder = played.retire()
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(played.keys[0])
    report = audit(folder, played.keys)
    assert report.failed
    assert report.failed.name == "checkpoints" if "checkpoints" in name else report.failed.rule == "file.listed"
    assert name in report.failed.evidence.where


def test_link_in_place_of_a_file(played):
    folder = played.retire()
    (folder / "tasks.jsonl").rename(folder.parent / "tasks.jsonl")
    (folder / "tasks.jsonl").symlink_to(folder.parent / "tasks.jsonl")
    refused(audit(folder, played.keys), "files", "tasks.jsonl")


@pytest.mark.parametrize("name", ["tasks.jsonl", "manifest.json", "log/checkpoint", "log/tile/entries/000.p/16"])
def test_missing_file(played, name):
    folder = played.retire()
    (folder / name).unlink()
    assert audit(folder, played.keys).failed


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


def test_leaf_in_other_bytes_of_the_same_json(played):
    played.log("strange", json.dumps(json.loads(played.leaves[0])).encode())
    refused(audit(played.retire(by_hand=True), played.keys), "statements", "leaf 15 is not canonical")


@pytest.mark.parametrize("bytes_", [b"", b"{}", b"\xff", b"[" * 4000, b'{"a":NaN}', b'{"a":1,"a":1}', b'"\\ud800"'])
def test_leaf_that_is_no_statement(played, bytes_):
    played.log("strange", bytes_)
    refused(audit(played.retire(by_hand=True), played.keys), "statements", "leaf 15")


def test_task_committed_to_in_two_versions(month):
    month.commit_all()
    task = month.cohorts[RETIRED][0]
    kinder = month.tasks[task] | {"max_steps": 14}
    month.tasks[task], kept = kinder, month.tasks[task]
    month.commit(task)
    month.tasks[task] = kept
    month.state_set()
    refused(audit(month.retire(), month.keys), "commit.once", f"leaf 10: {task}", "leaf 0")


def test_cohort_that_is_quietly_forgotten(live):
    live.cohorts.pop("cohort-2027-02")
    live.state_set()
    refused(audit(live.retire(), live.keys), "statements", "leaf 11")


def test_checkpoint_of_a_fork_beside_the_log(month, new_month):
    fork = new_month("fork")
    for number, played in enumerate((month, fork)):
        if number:
            played.spares.reverse()
        played.play()
    folder = month.retire()
    mine = next((folder / "log/checkpoints").iterdir())
    shutil.copy(fork.folder / "log/checkpoints" / mine.name, mine)
    refused(audit(folder, month.keys), "checkpoint.root", f"log/checkpoints/{mine.name}")


def test_retirement_of_another_manifest(played):
    content = played.content()
    played.log_retirement(content, content.files(), manifest="00" * 32)
    played.write(played.folder / "bundle", content.files())
    refused(audit(played.folder / "bundle", played.keys), "retirement.one", "00" * 32)


def test_cohort_that_retires_twice(played):
    content = played.content()
    played.log_retirement(content, content.files())
    played.log_retirement(content, content.files())
    played.write(played.folder / "bundle", content.files())
    refused(audit(played.folder / "bundle", played.keys), "retire.cohort", RETIRED)


def test_history_that_was_rewritten_since(played, new_month):
    folder = played.retire()
    fork = new_month("fork")
    fork.spares.reverse()
    fork.play().retire()
    kept = (fork.folder / "log/checkpoints/11").read_text()
    refused(audit(folder, played.keys, kept), "consistency", "the checkpoint that was kept: the root at size 11")


def test_what_was_kept_is_a_checkpoint(played):
    refused(audit(played.retire(), played.keys, "no note"), "consistency", "the checkpoint that was kept")


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


# -- the tasks --------------------------------------------------------------------------------------------------------


def result(**fields):
    return edited(contents.RESULTS, lambda rows: rows[0]["result"].update(fields))


def opening(**fields):
    return edited(contents.OPENINGS, lambda rows: rows[0].update(fields))


def run(part=None, **fields):
    return edited(contents.RUNS, lambda rows: (rows[0][part] if part else rows[0]).update(fields))


EDITED = {
    "another salt": (opening(salt="11" * 32), "task.commitment"),
    "another commitment": (opening(commitment="11" * 32), "task.commitment"),
    "another leaf": (opening(commit=1), "task.lines"),
    "another canary": (opening(canary="0" * 8 + "-0000" * 3 + "-" + "0" * 12), "task.canary"),
    "a variant key of no task": (opening(variant_key="11" * 32), "task.variant"),
    "another provenance": (opening(provenance={"grammar": "kinder"}), "task.provenance"),
    "a provenance opened by half": (opening(provenance_salt=None), "task.provenance"),
    "an opening too many": (edited(contents.OPENINGS, lambda rows: [*rows, rows[0]]), "task.lines"),
    "an opening too few": (edited(contents.OPENINGS, lambda rows: rows[:1]), "task.lines"),
    "a run opened to somebody else": (run("opening", submitter="a-friend"), "opened.commitment"),
    "a run of other leaves": (run(close=14), "opened.leaves"),
    "a run opened twice": (edited(contents.RUNS, lambda rows: [rows[0], *rows]), "opened.runs"),
    "totals opened by half": (run(totals_salt=None), "opened.totals"),
    "fewer calls": (result(calls=1), "result.bound"),
    "a pass that was none": (result(passed=True, verdict="false"), "result.passed"),
    "a pass with a call too many": (result(passed=True, verdict="true", calls=13), "result.passed"),
    "more unlisted calls than calls": (result(unlisted=8), "result.calls"),
    "a result of another cohort": (result(cohort="cohort-2027-01"), "result.of"),
    "a result of another run": (result(run=2), "result.of"),
    "a result of another category": (result(category="composition"), "result.of"),
    "more steps": (result(max_steps=14), "result.of"),
    "a result of another task": (result(task="t-" + "a" * 16), "result.lines"),
    "a result left out": (edited(contents.RESULTS, lambda rows: rows[:1]), "result.lines"),
    "all results left out": (edited(contents.RESULTS, lambda rows: rows.clear()), "result.lines"),
    "a result of a run without a score": (
        edited(contents.RESULTS, lambda rows: rows.append(rows[0] | {"run": 2})),
        "result.lines",
    ),
    "results in another order": (edited(contents.RESULTS, lambda rows: rows[::-1]), "result.lines"),
    "a proof that is cut": (
        edited(contents.RESULTS, lambda rows: rows[0].update(proof=rows[0]["proof"][1:])),
        "result.bound",
    ),
    "another position": (edited(contents.RESULTS, lambda rows: rows[1].update(position=6)), "result.bound"),
    "a position twice": (edited(contents.RESULTS, lambda rows: rows[1].update(position=0)), "result.lines"),
    "totals that do not follow": (run("totals", passed=2), "result.totals"),
    "totals that were not bound": (run(totals_salt="22" * 32), "result.totals"),
}


@pytest.mark.parametrize("what", EDITED)
def test_file_that_was_edited_before_it_was_bound(played, what):
    edit, why = EDITED[what]
    refused(audit(played.retire(edit=edit), played.keys), why)


def test_task_swapped_after_the_scores(played):
    def swap(content):
        first, *rest = content.tasks
        return replace(content, tasks=[replace(first, document=first.document | {"max_steps": 14}), *rest])

    refused(audit(played.retire(swap), played.keys), "task.commitment", "line 1 of openings.jsonl: $.commitment")


def test_task_that_counts_and_is_opened_as_withdrawn(played):
    def moved(content):
        return replace(content, tasks=content.tasks[:1], withdrawn=content.tasks[1:])

    refused(audit(played.retire(moved), played.keys), "retire.tasks")


def test_withdrawn_task_that_is_swapped(month):
    def swapped(content):
        return replace(content, withdrawn=[replace(content.withdrawn[0], salt=bytes(32))])

    without_reserve(month).withdraw(month.cohorts[RETIRED][0], None)
    refused(audit(month.retire(swapped), month.keys), "task.commitment", "openings.jsonl: $.commitment")


@pytest.mark.parametrize(
    ("place", "refill", "why"),
    [
        (0, lambda month: month.cohorts["cohort-2027-02"][0], "withdraw.refill"),  # from nowhere
        (1, lambda month: month.spares[0], "task.refill"),  # from another reserve
    ],
)
def test_withdrawn_task_that_is_refilled_falsely(live, place, refill, why):
    live.withdraw(live.cohorts[RETIRED][place], refill(live))
    refused(audit(live.retire(), live.keys), why, "$.predicate.replacement")


def test_set_root_over_other_tasks(month):
    month.commit_all()
    month.state_set(root=bytes(32))
    refused(audit(month.retire(), month.keys), "set.root", "leaf 10: the digest", "00" * 32)


@pytest.mark.parametrize(("field", "why"), [("set_root", "run.root"), ("root", "checkpoint.root")])
def test_run_that_names_another_set_or_a_head_that_nobody_published(live, field, why):
    live.open_run(1, **{field: bytes(32)})
    live.score(1)
    refused(audit(live.retire(), live.keys), why, "00" * 32)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"max_steps":12', b'"max_steps":12.0'),
        (b'"max_steps":12', b'"max_steps":-0'),
        (b'"goal"', b'"go\\u0061l"'),
        (b'{"category"', b'{ "category"'),
        (b'"max_steps":12', b'"max_steps":12,"max_steps":12'),
        (b'"max_steps":12', b'"max_steps":NaN'),
        (b"out.txt", b"\\ud800"),
    ],
)
def test_twins_of_a_task_in_other_bytes(played, old, new):
    def edit(files):
        assert old in files[contents.TASKS]
        files[contents.TASKS] = files[contents.TASKS].replace(old, new, 1)

    refused(audit(played.retire(edit=edit), played.keys), "tasks")


@pytest.mark.parametrize("left", [1, 2])
def test_withdrawn_task_whose_place_stays_empty_though_somebody_is_next(month, left):
    month.spares = month.spares[:left]
    month.commit_all()
    month.state_set()
    month.withdraw(month.cohorts[RETIRED][0], None)
    refused(audit(month.retire(), month.keys), "task.refill", month.promised(month.spares[0]).hex())


def test_reserve_that_is_used_up_by_a_withdrawal_of_nobody(live):
    stranger = live.invent("stranger", 0)
    live.commit(stranger)
    live.withdraw(stranger, live.spares[0])
    live.withdraw(live.cohorts[RETIRED][0], live.spares[1])
    refused(audit(live.retire(), live.keys), "withdraw.refill", live.spares[0])


def test_refill_of_another_kind_than_its_reserve(month):
    for spare in month.spares:
        month.tasks[spare]["difficulty"] = "hard"
    month.commit_all()
    month.state_set()
    month.withdraw(month.cohorts[RETIRED][0], min(month.spares, key=month.promised))
    refused(audit(month.retire(), month.keys), "task.reserve", "filesystem/single-tool/hard")


def test_cohort_that_is_larger_than_the_others(month):
    month.cohorts["cohort-2027-03"] += [month.invent(f"x{n}", 0) for n in range(5)]
    month.commit_all()
    month.state_set()
    refused(audit(month.retire(), month.keys), "set.share", "cohort-2027-03")


def test_task_committed_to_after_the_run_that_used_it(month):
    late = month.cohorts[RETIRED][1]
    early = [task for tasks in month.cohorts.values() for task in tasks if task != late]
    month.commit(*early, *month.spares)
    month.publish()
    head = month.writer.checkpoint()
    month.commit(late)
    month.state_set()
    month.open_run(1, size=head.size, root=head.root)
    month.score(1)
    refused(audit(month.retire(), month.keys), "run.checkpoint", "11 to 11")


def test_run_under_a_checkpoint_that_ends_right_before_its_set(month):
    month.commit_all()
    head = month.writer.checkpoint()
    month.state_set()
    month.open_run(1, size=head.size, root=head.root)
    month.score(1)
    refused(audit(month.retire(), month.keys), "run.checkpoint", str(head.size))


# -- the runs ---------------------------------------------------------------------------------------------------------


def test_run_that_is_scored_twice(live):
    live.open_run(1)
    live.score(1)
    live.score(1)
    live.runs.pop()
    refused(audit(live.retire(), live.keys), "close.run", "leaf 12")


def test_score_over_fewer_tasks_than_were_served(live):
    live.open_run(1)
    fewer = live.cohorts | {"cohort-2027-03": live.cohorts["cohort-2027-03"][:1]}
    live.score(1, fewer)
    refused(audit(live.retire(), live.keys), "score.count", "8", "7")


@pytest.mark.parametrize("name", [contents.ATTESTATION, contents.README])
def test_figures_that_nobody_measured(played, name):
    def edit(files):
        files[name] = files[name].replace(b"0.5000", b"0.9000").replace(b"sha256", b"sha512").replace(b"6f1f", b"6f1e")

    refused(audit(played.retire(edit=edit), played.keys), "figures.files", name)
