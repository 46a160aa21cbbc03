"""An honest month is proved; every dishonest one is refused at the step that stops it, with a sentence."""

import json
import random
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from vault.ledger import contents
from vault.ledger.audit import STEPS, audit
from vault.ledger.checkpoint import Checkpoint
from vault.ledger.jcs import canonical
from vault.ledger.note import Signer, Verifier

RETIRED = "cohort-2026-12"


def refused(report, step, *words):
    assert not report.ok
    assert report.failed is not None, [s.detail for s in report.steps]
    assert report.failed.name == step, (report.failed.name, report.failed.detail)
    for word in words:
        assert word in report.failed.detail, report.failed.detail


# -- the honest month -------------------------------------------------------------------------------------------------


def test_an_honest_month_is_proved_and_its_full_score_is_pending(month):
    report = audit(month.play().retire(), month.keys)
    assert report.ok, report.failed
    assert [step.name for step in report.steps] == list(STEPS)
    assert report.steps[-1].state == "pending"
    assert report.pending == "2027-03"
    assert report.steps[-2].state == "not asked"
    assert len(report.caveats) == 4
    assert json.loads(json.dumps(report.as_json()))["failed"] is None


def test_the_report_ends_with_what_an_audit_does_not_prove(month):
    lines = list(audit(month.play().retire(), month.keys).lines())
    assert "yes" in lines
    assert lines.index("yes") < lines.index("What this audit does not prove:")
    assert any("operator's word" in line for line in lines)


def test_a_checkpoint_that_was_kept_from_any_moment_is_extended(month):
    month.play()
    folder = month.retire()
    for kept in sorted((month.folder / "log/checkpoints").iterdir()):
        report = audit(folder, month.keys, kept.read_text())
        assert report.ok
        assert f"older checkpoint of size {kept.name}" in report.steps[-2].proved


def test_a_withdrawn_task_is_refilled_with_the_next_of_its_reserve(month):
    month.commit_all()
    month.state_set()
    month.open_run(1)
    served_before = {name: list(tasks) for name, tasks in month.cohorts.items()}
    gone = month.cohorts[RETIRED][0]
    month.withdraw(gone, month.spares[0])
    month.score(1, served_before)
    month.state_set()
    month.open_run(2)
    month.score(2)
    report = audit(month.retire(), month.keys)
    assert report.ok, report.failed
    promise = report.steps[list(STEPS).index("promise")]
    assert "1 were withdrawn" in promise.proved
    assert "review" in promise.proved


def without_reserve(month):
    month.spares = []
    month.commit_all()
    month.state_set()


def test_a_withdrawn_task_is_opened_and_counts_in_no_figure(month):
    without_reserve(month)
    month.open_run(1)
    served_before = {name: list(tasks) for name, tasks in month.cohorts.items()}
    gone, stays = month.cohorts[RETIRED]
    month.withdraw(gone, None)
    month.score(1, served_before)
    folder = month.retire()
    report = audit(folder, month.keys)
    assert report.ok, report.failed
    assert json.loads((folder / contents.WITHDRAWN).read_text())["id"] == gone
    assert json.loads((folder / contents.TASKS).read_text())["id"] == stays
    (run,) = json.loads((folder / contents.AGGREGATE).read_text())["runs"]
    bound = json.loads((folder / contents.RUNS).read_text())["totals"]
    assert (bound["attempted"], bound["passed"]) == (2, 1)
    assert (run["totals"]["attempted"], run["totals"]["passed"]) == (1, 0), "what passed was the withdrawn one"
    assert contents.WITHDRAWN in (folder / contents.README).read_text()


def test_gaps_are_counted_as_what_was_promised(month):
    for name in month.cohorts:
        month.cohorts[name] += [month.invent(f"{name}{n}", 1) for n in range(2)]
    without_reserve(month)
    for gone in month.cohorts[RETIRED][:3]:
        month.withdraw(gone, None)
    month.state_set()
    report = audit(month.retire(), month.keys)
    assert report.ok, report.failed
    assert "3 were withdrawn; more than 5 % were withdrawn: review" in report.steps[7].proved


def test_what_left_the_reserve_is_opened_with_the_next_cohort_and_is_no_ones_turn(month):
    month.commit_all()
    month.state_set()
    spare, after = month.spares
    month.withdraw(spare, None)
    month.withdraw(month.cohorts[RETIRED][0], after)
    report = audit(month.retire(), month.keys)
    assert report.ok, report.failed
    assert "2 of them left early" in report.steps[6].proved
    assert "1 were withdrawn" in report.steps[7].proved


def test_an_endpoint_run_on_the_sunset_cohort_alone_leaves_nothing_pending(month):
    month.commit_all()
    month.state_set()
    month.open_run(1, cohorts=[RETIRED], track="endpoint")
    alone = {RETIRED: month.cohorts[RETIRED]}
    kept, month.cohorts = month.cohorts, alone
    month.score(1, track="endpoint")
    month.cohorts = kept
    report = audit(month.retire(), month.keys)
    assert report.ok, report.failed
    assert report.pending is None


# -- files and keys ---------------------------------------------------------------------------------------------------


def test_a_bundle_is_judged_only_by_the_callers_keys(month):
    folder = month.play().retire()
    stranger = Verifier("bench.example/log", bytes(32))
    refused(audit(folder, []), "checkpoint", "no key")
    refused(audit(folder, [stranger.vkey]), "checkpoint", "no given key")
    refused(audit(folder, ["nonsense"]), "checkpoint", "verifier key")
    elsewhere = Signer("other.example/log", month.signer.key)
    refused(audit(folder, [elsewhere.verifier.vkey]), "checkpoint")


@pytest.mark.parametrize("name", ["log.vkey", "log/notes", "log/tile/0/001", "log/checkpoints/3", "extra/deep/file"])
def test_unlisted_file(month, name):
    folder = month.play().retire()
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(month.keys[0])
    report = audit(folder, month.keys)
    assert report.failed
    assert name.removeprefix("log/") in report.failed.detail


def test_link_in_place_of_a_file(month):
    folder = month.play().retire()
    (folder / "tasks.jsonl").rename(folder.parent / "tasks.jsonl")
    (folder / "tasks.jsonl").symlink_to(folder.parent / "tasks.jsonl")
    refused(audit(folder, month.keys), "files", "tasks.jsonl")


@pytest.mark.parametrize("name", ["tasks.jsonl", "manifest.json", "log/checkpoint", "log/tile/entries/000.p/16"])
def test_missing_file(month, name):
    folder = month.play().retire()
    (folder / name).unlink()
    assert audit(folder, month.keys).failed


def test_a_folder_that_is_no_bundle(tmp_path, month):
    refused(audit(tmp_path / "nowhere", month.keys), "files")
    (tmp_path / "file").write_text("x")
    refused(audit(tmp_path / "file", month.keys), "files")


@pytest.mark.slow
def test_no_truncation_and_no_flipped_bit_of_any_file_goes_unnoticed(month):
    folder = month.play().retire()
    draw = random.Random(8785)
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        data = path.read_bytes()
        places = {0, len(data) // 2, len(data) - 1, *(draw.randrange(len(data)) for _ in range(6))}
        for place in places:
            flipped = bytearray(data)
            flipped[place] ^= 1 << draw.randrange(8)
            path.write_bytes(flipped)
            assert audit(folder, month.keys).failed, (path.name, place)
            path.write_bytes(data[:place])
            assert audit(folder, month.keys).failed, (path.name, place)
        path.write_bytes(data)
    assert audit(folder, month.keys).ok


# -- the log ----------------------------------------------------------------------------------------------------------


def entries(folder: Path) -> Path:
    return next((folder / "log/tile/entries/000.p").iterdir())


def cut(data: bytes) -> list[bytes]:
    found = []
    while data:
        length = 2 + int.from_bytes(data[:2], "big")
        found.append(data[:length])
        data = data[length:]
    return found


def test_reordered_leaves(month):
    folder = month.play().retire()
    parts = cut(entries(folder).read_bytes())
    parts[0], parts[1] = parts[1], parts[0]
    entries(folder).write_bytes(b"".join(parts))
    refused(audit(folder, month.keys), "root", "leaf 0")


def test_missing_leaf(month):
    folder = month.play().retire()
    parts = cut(entries(folder).read_bytes())
    entries(folder).write_bytes(b"".join(parts[:3] + parts[4:]))
    refused(audit(folder, month.keys), "root")


def test_leaf_in_other_bytes_of_the_same_json(month):
    month.play()
    month.log("strange", json.dumps(json.loads(month.leaves[0])).encode())
    refused(audit(month.retire(by_hand=True), month.keys), "statements", "not canonical")


@pytest.mark.parametrize("bytes_", [b"", b"{}", b"\xff", b"[" * 4000, b'{"a":NaN}', b'{"a":1,"a":1}', b'"\\ud800"'])
def test_leaf_that_is_no_statement(month, bytes_):
    month.play()
    month.log("strange", bytes_)
    refused(audit(month.retire(by_hand=True), month.keys), "statements", "leaf 15")


def test_task_committed_to_in_two_versions(month):
    month.commit_all()
    task = month.cohorts[RETIRED][0]
    kinder = month.tasks[task] | {"max_steps": 14}
    month.tasks[task], kept = kinder, month.tasks[task]
    month.commit(task)
    month.tasks[task] = kept
    month.state_set()
    refused(audit(month.retire(), month.keys), "statements", task, "twice")


def test_promise_that_changes_from_one_set_to_the_next(month):
    month.commit_all()
    month.state_set()
    month.cohorts[RETIRED].reverse()
    month.state_set()
    refused(audit(month.retire(), month.keys), "statements", "other tasks", RETIRED)


def test_cohort_that_is_quietly_forgotten(month):
    month.commit_all()
    month.state_set()
    month.cohorts.pop("cohort-2027-02")
    month.state_set()
    refused(audit(month.retire(), month.keys), "statements", "cohort-2027-02")


def test_checkpoint_that_a_run_names_and_nobody_published(month):
    month.commit_all()
    month.state_set()
    month.open_run(1, root=bytes(32))
    month.score(1)
    refused(audit(month.retire(), month.keys), "named checkpoints", "00" * 32)


def test_checkpoint_of_a_fork_beside_the_log(month, new_month):
    fork = new_month("fork")
    for number, played in enumerate((month, fork)):
        if number:
            played.spares.reverse()
        played.play()
    folder = month.retire()
    mine = next((folder / "log/checkpoints").iterdir())
    shutil.copy(fork.folder / "log/checkpoints" / mine.name, mine)
    refused(audit(folder, month.keys), "named checkpoints", "states the root")


def test_retirement_of_another_manifest(month):
    month.play()
    content = month.content()
    month.log_retirement(content, content.files(), manifest="00" * 32)
    month.write(month.folder / "bundle", content.files())
    refused(audit(month.folder / "bundle", month.keys), "retirement", "00" * 32)


def test_cohort_that_retires_twice(month):
    month.play()
    content = month.content()
    month.log_retirement(content, content.files())
    month.log_retirement(content, content.files())
    month.write(month.folder / "bundle", content.files())
    refused(audit(month.folder / "bundle", month.keys), "statements", "not live")


def test_history_that_was_rewritten_since(month, new_month):
    folder = month.play().retire()
    fork = new_month("fork")
    fork.spares.reverse()
    fork.play().retire()
    kept = (fork.folder / "log/checkpoints/11").read_text()
    refused(audit(folder, month.keys, kept), "consistency", "older checkpoint")


def test_bundle_that_is_older_than_what_was_kept(month):
    folder = month.play().retire()
    month.open_run(3)
    refused(audit(folder, month.keys, month.writer.note()), "consistency", "newer bundle")
    refused(audit(folder, month.keys, "no note"), "consistency")


def test_a_signed_head_of_absurd_size_is_refused_at_once(month):
    folder = month.play().retire()
    (folder / "log/checkpoint").write_text(Checkpoint("bench.example/log", 2**62, bytes(32)).sign(month.signer))
    refused(audit(folder, month.keys), "root", "more files")


def test_names_that_could_write_to_a_terminal_are_escaped(month):
    folder = month.play().retire()
    (folder / "log" / "\x1b[2J\udcff").write_text("x")
    detail = audit(folder, month.keys).failed.detail
    assert "\x1b" not in detail
    assert detail.encode()


# -- the tasks --------------------------------------------------------------------------------------------------------


def test_task_swapped_after_the_scores(month):
    month.play()
    task = month.cohorts[RETIRED][0]

    def swap(content):
        first, *rest = content.tasks
        return replace(content, tasks=[replace(first, document=first.document | {"max_steps": 14}), *rest])

    refused(audit(month.retire(swap), month.keys), "commitments", task)


def test_swapped_tasks(month):
    month.play()

    def swap(content):
        one, two = content.tasks
        return replace(content, tasks=[replace(one, document=two.document), replace(two, document=one.document)])

    refused(audit(month.retire(swap), month.keys), "commitments", "leaf")


def test_swapped_salts(month):
    month.play()

    def swap(content):
        one, two = content.tasks
        return replace(content, tasks=[replace(one, salt=two.salt), replace(two, salt=one.salt)])

    refused(audit(month.retire(swap), month.keys), "commitments", "commitment")


def rewrite(name, change):
    """Edit each line of a file, and let the operator bind the outcome as if it were true."""

    def edit(files):
        rows = [json.loads(line) for line in files[name].splitlines()]
        files[name] = b"".join(canonical(row) + b"\n" for row in change(rows) or rows)

    return edit


def test_salt_that_is_not_the_one(month):
    month.play()
    other = rewrite(contents.OPENINGS, lambda rows: rows[0].update(salt="11" * 32))
    refused(audit(month.retire(edit=other), month.keys), "commitments", "do not open")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("café".encode(), b"cafe\xcc\x81"),  # the same letters to the eye: NFC and NFD
        (b'"max_steps":12', b'"max_steps":12.0'),
        (b'"max_steps":12', b'"max_steps":-0'),
        (b'"goal"', b'"go\\u0061l"'),
        (b'{"category"', b'{ "category"'),
        (b'"max_steps":12', b'"max_steps":12,"max_steps":12'),
        (b'"max_steps":12', b'"max_steps":NaN'),
        (b"out.txt", b"\\ud800"),
    ],
)
def test_twins_of_a_task_in_other_bytes(month, old, new):
    month.play()

    def edit(files):
        assert old in files[contents.TASKS]
        files[contents.TASKS] = files[contents.TASKS].replace(old, new, 1)

    refused(audit(month.retire(edit=edit), month.keys), "commitments")


def test_provenance_that_is_not_what_was_promised(month):
    month.play()
    other = rewrite(contents.OPENINGS, lambda rows: rows[0].update(provenance={"grammar": "kinder"}))
    refused(audit(month.retire(edit=other), month.keys), "commitments", "provenance")


def test_provenance_opened_by_half(month):
    month.play()
    other = rewrite(contents.OPENINGS, lambda rows: rows[0].update(provenance_salt=None))
    refused(audit(month.retire(edit=other), month.keys), "commitments", "by half")


def test_tasks_in_another_order_than_promised(month, other_content):
    month.play()
    backwards = other_content(tasks=lambda content: content.tasks[::-1])
    refused(audit(month.retire(backwards), month.keys), "promise", "task 1")


def test_task_that_is_left_out(month, other_content):
    month.play()
    fewer = other_content(tasks=lambda content: content.tasks[:1])
    refused(audit(month.retire(fewer), month.keys), "promise", month.cohorts[RETIRED][1])


def test_withdrawn_task_refilled_out_of_turn(month):
    month.commit_all()
    month.state_set()
    month.withdraw(month.cohorts[RETIRED][0], month.spares[1])
    refused(audit(month.retire(), month.keys), "promise", "not next")


def test_withdrawn_task_refilled_from_nowhere(month):
    month.commit_all()
    month.state_set()
    month.withdraw(month.cohorts[RETIRED][0], month.cohorts["cohort-2027-02"][0])
    refused(audit(month.retire(), month.keys), "promise", "not next")


@pytest.mark.parametrize("left", [1, 2])
def test_withdrawn_task_whose_place_stays_empty_though_somebody_is_next(month, left):
    month.spares = month.spares[:left]
    month.commit_all()
    month.state_set()
    month.withdraw(month.cohorts[RETIRED][0], None)
    refused(audit(month.retire(), month.keys), "promise", "with nobody", f"{left} left")


def test_withdrawn_task_refilled_from_another_reserve(month):
    month.commit_all()
    month.state_set()
    month.withdraw(month.cohorts[RETIRED][1], month.spares[0])
    refused(audit(month.retire(), month.keys), "promise", "not next in the reserve of git/recovery/hard")


def test_reserve_that_is_used_up_by_a_withdrawal_of_nobody(month):
    month.commit_all()
    month.state_set()
    stranger = month.invent("stranger", 0)
    month.commit(stranger)
    month.withdraw(stranger, month.spares[0])
    month.withdraw(month.cohorts[RETIRED][0], month.spares[1])
    refused(audit(month.retire(), month.keys), "promise", stranger, "not being served")


def test_withdrawn_task_that_is_not_opened(month, other_content):
    without_reserve(month)
    month.withdraw(month.cohorts[RETIRED][0], None)
    closed = other_content(withdrawn=lambda content: ())
    refused(audit(month.retire(closed), month.keys), "commitments", month.gone[0])


def test_withdrawn_task_that_is_swapped(month, other_content):
    without_reserve(month)
    month.withdraw(month.cohorts[RETIRED][0], None)
    swapped = other_content(withdrawn=lambda content: [replace(content.withdrawn[0], salt=bytes(32))])
    refused(audit(month.retire(swapped), month.keys), "commitments", month.gone[0])


def test_task_that_counts_and_is_opened_as_withdrawn(month, other_content):
    month.play()
    moved = other_content(tasks=lambda content: content.tasks[:1], withdrawn=lambda content: content.tasks[1:])
    refused(audit(month.retire(moved), month.keys), "commitments", "by the log that is none")


def test_figures_that_count_a_withdrawn_task(month):
    without_reserve(month)
    month.open_run(1)
    served_before = {name: list(tasks) for name, tasks in month.cohorts.items()}
    month.withdraw(month.cohorts[RETIRED][0], None)
    month.score(1, served_before)
    bound = [(dict(month.runs[0].opening), month.runs[0].totals)]
    counted = b"".join(contents.aggregate("2026-12", RETIRED, bound))
    folder = month.retire(edit=lambda files: files.update({contents.AGGREGATE: counted}))
    refused(audit(folder, month.keys), "figures", "aggregate.json")


def test_refill_of_another_kind_than_its_reserve(month):
    month.tasks[month.spares[0]]["difficulty"] = "hard"
    month.commit_all()
    month.state_set()
    month.withdraw(month.cohorts[RETIRED][0], month.spares[0])
    refused(audit(month.retire(), month.keys), "promise", "filesystem/single-tool/hard")


def test_cohort_that_is_no_quarter(month):
    month.cohorts["cohort-2027-03"] += [month.invent(f"x{n}", 0) for n in range(5)]
    month.commit_all()
    month.state_set()
    refused(audit(month.retire(), month.keys), "promise", "quarter")


def test_set_root_over_other_tasks(month):
    month.commit_all()
    month.state_set(root=bytes(32))
    refused(audit(month.retire(), month.keys), "promise", "00" * 32)


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
    refused(audit(month.retire(), month.keys), "order", "run 1")


def test_run_under_a_checkpoint_that_ends_right_before_its_set(month):
    month.commit_all()
    head = month.writer.checkpoint()
    month.state_set()
    month.open_run(1, size=head.size, root=head.root)
    month.score(1)
    refused(audit(month.retire(), month.keys), "order", f"size {head.size}, which does not cover its set")


def test_run_that_names_another_set(month):
    month.commit_all()
    month.state_set()
    month.open_run(1, set_root=bytes(32))
    month.score(1)
    refused(audit(month.retire(), month.keys), "order", "00" * 32)


# -- the runs ---------------------------------------------------------------------------------------------------------


def test_run_that_is_never_closed(month):
    month.play()
    month.open_run(3)
    refused(audit(month.retire(), month.keys), "runs", "run 3", "neither score nor abort")


def test_bad_run_that_is_dropped(month, other_content):
    month.play()
    fewer = other_content(runs=lambda content: content.runs[1:])
    refused(audit(month.retire(fewer), month.keys), "runs", "[1, 2]")


def test_run_that_is_opened_to_somebody_else(month):
    month.play()
    other = rewrite(contents.RUNS, lambda rows: rows[0]["opening"].update(submitter="a-friend"))
    refused(audit(month.retire(edit=other), month.keys), "runs", "does not open")


def test_run_that_is_scored_twice(month):
    month.commit_all()
    month.state_set()
    month.open_run(1)
    month.score(1)
    month.score(1)
    month.runs.pop()
    refused(audit(month.retire(), month.keys), "statements", "run 1", "twice")


def edited_result(**fields):
    return rewrite(contents.RESULTS, lambda rows: rows[0]["result"].update(fields))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"calls": 1}, "not under the results root"),
        ({"passed": True, "verdict": "false"}, "verdict"),
        ({"cohort": "cohort-2027-01"}, "cohort-2027-01"),
        ({"run": 2}, "run 2"),
        ({"max_steps": 14}, "14 steps"),
        ({"task": "t-" + "a" * 16}, "one result for each task"),
    ],
)
def test_altered_result(month, fields, words):
    month.play()
    refused(audit(month.retire(edit=edited_result(**fields)), month.keys), "results", words)


def test_result_that_is_left_out(month):
    month.play()
    fewer = rewrite(contents.RESULTS, lambda rows: rows[:1])
    refused(audit(month.retire(edit=fewer), month.keys), "results", "one result for each task")


def test_score_over_fewer_tasks_than_were_served(month):
    month.commit_all()
    month.state_set()
    month.open_run(1)
    fewer = month.cohorts | {"cohort-2027-03": month.cohorts["cohort-2027-03"][:1]}
    month.score(1, fewer)
    refused(audit(month.retire(), month.keys), "results", "8 tasks", "7 results")


def test_result_under_another_position_or_proof(month):
    month.play()
    moved = rewrite(contents.RESULTS, lambda rows: rows[0].update(position=7))
    assert audit(month.retire(edit=moved), month.keys).failed.name == "results"


def test_totals_that_do_not_follow(month):
    month.play()
    other = rewrite(contents.RUNS, lambda rows: rows[0]["totals"].update(passed=2))
    refused(audit(month.retire(edit=other), month.keys), "results", "passed = 1")


def test_totals_that_were_not_bound(month):
    month.play()
    other = rewrite(contents.RUNS, lambda rows: rows[0].update(totals_salt="22" * 32))
    refused(audit(month.retire(edit=other), month.keys), "results", "totals of run 1 do not open")


@pytest.mark.parametrize("name", [contents.AGGREGATE, contents.ATTESTATION, contents.README])
def test_figures_that_nobody_measured(month, name):
    month.play()

    def edit(files):
        files[name] = files[name].replace(b"0.5000", b"0.9000").replace(b"sha256", b"sha512").replace(b"6f1f", b"6f1e")

    refused(audit(month.retire(edit=edit), month.keys), "figures", name)
