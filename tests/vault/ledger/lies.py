"""Lies of an operator who holds all keys: months played falsely, each with the rule of the audit that names the lie.

Every lie is signed, bound and published as the truth would be. A rule that begins with `doubt.` is a doubt that the
report must state; every other is that of the step which refuses the release. All three auditors hear all lies.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import count, repeat
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from vault.commitment import commitment
from vault.ledger.release import contents
from vault.ledger.signatures.note import Signer
from vault.ledger.statements import leaf
from vault.ledger.statements.jcs import canonical

from .conftest import (
    JUDGE,
    JUDGE_DIGEST,
    ORIGIN,
    OTHER_SECOND,
    RETIRED,
    SECOND,
    SPOT_SEED,
    STRATA,
    WITNESS,
    Month,
    dice,
    second_signature,
    solved,
)

Play = Callable[[Month], Path]
WITNESSED = f"witness W {WITNESS.witness.vkey}\nquorum W\n"
WATCHED = f"witness W {WITNESS.witness.vkey}\nquorum none\n"
DECEMBER, JUNE = 1_796_083_200, 1_811_808_000  # 2026-12-01, 2027-06-01
STRATUM, OTHER_STRATUM = ("/".join(words) for words in STRATA)
NEW = Signer(ORIGIN, Ed25519PrivateKey.from_private_bytes(dice("new key")))


@dataclass(frozen=True)
class Lie:
    """How months are played, the rule that is broken, words of what is shown, and the policy (a text) of the audit."""

    play: Play
    rule: str
    words: str = ""
    policy: str | None = None


# -- how months are played


def _play(operator: Month, number: int, cohorts: list[str] | None = None, **other: object) -> None:
    """Open and close a run; `cohorts` are those that it is said to have been served."""
    operator.open_run(number, **(other if cohorts is None else other | {"cohorts": cohorts}))
    if cohorts is not None and RETIRED not in cohorts:
        operator.abort(number)
    else:
        operator.score(number, **{name: other[name] for name in ("track", "month") if name in other})


def _first_set(**facts: object) -> Play:
    """State the first set so."""

    def play(operator: Month) -> Path:
        operator.commit_all()
        operator.state_set(**facts)
        _play(operator, 1)
        return operator.retire()

    return play


def _next_set(first: dict[str, Any] | None = None, **facts: object) -> Play:
    """State the set of the second month so."""

    def play(operator: Month) -> Path:
        operator.commit_all()
        operator.state_set(**(first or {}))
        operator.turn(**facts)
        return operator.retire()

    return play


def _after(*steps: Callable[[Month], object]) -> Play:
    """Take these steps after the first run of the month."""

    def play(operator: Month) -> Path:
        _play(operator.begin(), 1)
        for step in steps:
            step(operator)
        return operator.retire()

    return play


def _before(*steps: Callable[[Month], object]) -> Play:
    """Take these steps before anything is committed to."""

    def play(operator: Month) -> Path:
        for step in steps:
            step(operator)
        _play(operator.begin(), 1)
        return operator.retire()

    return play


def _run(cohorts: list[str] | None = None, **other: object) -> Play:
    return _after(lambda operator: _play(operator, 2, cohorts, **other))


def _attempts(*attempts: int) -> Play:
    """Play as many runs of one submitter, with these numbers."""

    def play(operator: Month) -> Path:
        operator.begin()
        operator.submitters = {number: ("favourite", attempt) for number, attempt in enumerate(attempts, 1)}
        for number in operator.submitters:
            _play(operator, number)
        return operator.retire()

    return play


def _numbered(operator: Month) -> Path:
    """Number the second run of a submitter as its first one, which counts."""
    operator.submitters = {1: ("favourite", 1), 2: ("favourite", 2)}
    _play(operator.begin(), 2)
    _play(operator, 1)
    operator.runs.reverse()
    return operator.retire()


def _results(**fields: object) -> Play:
    """Bind results with these fields."""

    def play(operator: Month) -> Path:
        honest = operator.begin().result
        operator.result = lambda *of: honest(*of) | fields  # type: ignore[method-assign]
        _play(operator, 1)
        return operator.retire()

    return play


def _scored(**facts: object) -> Play:
    """Close the second run so."""

    def play(operator: Month) -> Path:
        _play(operator.begin(), 1)
        operator.open_run(2)
        operator.score(2, **facts)
        return operator.retire()

    return play


def _retired(**facts: object) -> Play:
    """State the retirement so."""

    def play(operator: Month) -> Path:
        _play(operator.begin(), 1)
        operator.retirement = facts
        return operator.retire()

    return play


def _checked(**facts: object) -> Play:
    """Open the promised spot check so."""

    def play(operator: Month) -> Path:
        operator.play_checked().check(**facts)
        return operator.retire()

    return play


def _edited(name: str, change: Callable[[list[dict]], object]) -> Play:
    """Edit the lines of a file of the release before it is bound."""

    def edit(files: dict[str, bytes]) -> None:
        rows = [json.loads(line) for line in files[name].splitlines()]
        change(rows)
        files[name] = b"".join(canonical(row) + b"\n" for row in rows)

    def play(operator: Month) -> Path:
        operator.play()
        return operator.retire(edit=edit)

    return play


# -- withdrawals


def _without_reserve(operator: Month) -> Month:
    operator.spares = []
    return operator.begin()


def _withdrawn(*refills: Callable[[Month], str | None], place: int = 0, **facts: object) -> Play:
    """Withdraw a task of the cohort, with each of these replacements in turn."""

    def play(operator: Month) -> Path:
        _play(operator.begin(), 1)
        for refill in refills:
            operator.withdraw(operator.cohorts[RETIRED][place], refill(operator), **facts)
        return operator.retire()

    return play


def _favourite(operator: Month, *, broken: bool) -> Path:
    """Withdraw five of six tasks that the favourite failed, after its score."""
    for number, tasks in enumerate(operator.cohorts.values()):
        tasks[:] = [operator.invent(f"six {number}{place}", int(place > 0)) for place in range(6)]
    _play(_without_reserve(operator), 1)
    for task in operator.cohorts[RETIRED][1:]:
        (operator.withdraw_broken if broken else operator.withdraw)(task, None)
    folder = operator.retire()
    (row,) = json.loads((folder / contents.AGGREGATE).read_bytes())["runs"]
    assert row["figures"]["success_rate"] == ("1.0000" if broken else "0.1667")
    return folder


def _broken(change: Callable[[list[dict]], object], *, both: bool = False, **evidence: object) -> Play:
    """Withdraw a task as broken, or both of the cohort, with these changes of the evidence."""

    def play(operator: Month) -> Path:
        _play(_without_reserve(operator), 1)
        for task in list(operator.cohorts[RETIRED])[: 1 + both]:
            operator.withdraw_broken(task, None, **evidence)
        change(operator.evidence)
        return operator.retire()

    return play


def _played_otherwise(
    calls: Callable[[list[dict]], list[dict]], answer: str = 'the "first"', **evidence: object
) -> Play:
    """Withdraw a task as broken, with these calls in the place of those of its solutions."""

    def play(operator: Month) -> Path:
        gone = operator.cohorts[RETIRED][1]
        committed = solved(operator, gone)
        _play(_without_reserve(operator), 1)
        operator.withdraw_broken(gone, None, calls=calls(committed), answer=answer, **evidence)
        return operator.retire()

    return play


def _leaked_with_evidence(operator: Month) -> Path:
    _play(_without_reserve(operator), 1)
    operator.withdraw_broken(operator.cohorts[RETIRED][0], None)
    operator.evidence[:] = [line | {"task": operator.cohorts[RETIRED][0]} for line in operator.evidence]
    operator.withdraw(operator.cohorts[RETIRED][0], None)
    return operator.retire()


def _withdraw_nobody(operator: Month) -> None:
    facts = {"month": operator.month, "cause": "leak", "reason": "it leaked", "replacement": None}
    operator.log("nobody", leaf.withdraw("t-" + "a" * 16, ZERO, **facts))


def _withdrawn_not_opened(operator: Month) -> Path:
    _play(_without_reserve(operator), 1)
    operator.withdraw(operator.cohorts[RETIRED][0], None)
    return operator.retire(lambda content: replace(content, withdrawn=[]))


def _second(signer: Signer | None, *, named: Signer | None = SECOND, origin: str = ORIGIN, **signed: object) -> Play:
    """Withdraw a task with the signature of `signer`, over these facts, where the set names the key of `named`."""

    def play(operator: Month) -> Path:
        operator.second = named
        _play(_without_reserve(operator), 1)
        gone = operator.cohorts[RETIRED][0]
        facts = {"month": operator.month, "cause": "leak", "reason": "it leaked", "replacement": None} | signed
        task = str(facts.pop("task", gone))
        unsigned = leaf.withdraw(task, operator.promised(gone), **facts)
        operator.withdraw(gone, None, signature=signer and second_signature(signer, unsigned, origin))
        return operator.retire()

    return play


def _exchanged_keys(second: Signer | None) -> Play:
    """Let the next set name other keys, or none, before a task of an older cohort is withdrawn."""

    def play(operator: Month) -> Path:
        operator.second = SECOND
        _play(_without_reserve(operator), 1)
        operator.second = second
        operator.turn()
        operator.withdraw(operator.cohorts["cohort-2027-01"][0], None)
        return operator.retire()

    return play


# -- cohorts and reserves


def _entering(tasks: Callable[[Month], list[str]]) -> Play:
    """Let a cohort of these tasks enter with the second month."""

    def play(operator: Month) -> Path:
        _play(_without_reserve(operator), 1)
        gone = operator.cohorts["cohort-2027-01"][0]
        operator.withdraw(gone, None)
        retired = operator.cohorts[RETIRED]
        operator.end()
        operator.gone_before = [gone, *retired]  # type: ignore[attr-defined]
        operator.enter(*tasks(operator))
        operator.state_set()
        return operator.retire()

    return play


def _new_task(operator: Month, place: int = 1) -> str:
    return operator.invent(f"entering {len(operator.tasks)}", place)


def _returning(operator: Month) -> Path:
    """List the retired cohort in the place of a new one."""
    _play(operator.begin(), 1)
    tasks = operator.cohorts[RETIRED]
    operator.end()
    operator.cohorts[RETIRED] = tasks
    operator.state_set(plan={"cohorts": 4, "lifetime": "P4M"})
    return operator.retire()


def _past(operator: Month) -> None:
    operator.cohorts["cohort-2026-11"] = operator.cohorts.pop("cohort-2027-03")


def _renamed(operator: Month) -> Path:
    """Promise a cohort that keeps its name and retires in another month."""
    operator.commit_all()
    rows = [operator.as_cohort(name) for name in operator.cohorts]
    rows[2]["id"], rows[3]["id"] = rows[3]["id"], rows[2]["id"]
    operator.state_set(cohorts=rows)
    return operator.retire()


def _counted(part: int, **fields: object) -> Play:
    """State a cohort's fields falsely in the first set."""

    def play(operator: Month) -> Path:
        operator.commit_all()
        rows = [operator.as_cohort(name) for name in operator.cohorts]
        rows[part] |= fields
        operator.state_set(cohorts=rows)
        return operator.retire()

    return play


def _swapped_promise(operator: Month) -> Path:
    """Exchange a private task for a new one between two sets."""
    _play(operator.begin(), 1)
    operator.end()
    operator.enter()
    operator.cohorts["cohort-2027-03"][0] = _new_task(operator, 0)
    operator.commit(operator.cohorts["cohort-2027-03"][0])
    operator.state_set()
    return operator.retire()


def _reserved(reserve: Callable[[Month], dict[str, list[str]]]) -> Play:
    """State a reserve of these tasks, by stratum, in the first set."""

    def play(operator: Month) -> Path:
        operator.commit_all()
        rows = {name: [operator.promised(t).hex() for t in row] for name, row in reserve(operator).items()}
        operator.state_set(reserve=rows)
        return operator.retire()

    return play


def _reserved_after_withdrawal(operator: Month) -> Path:
    """Keep a withdrawn task in the reserve of the next set."""
    operator.begin().withdraw(operator.spares[0], None)
    rows = {STRATUM: [operator.promised(task).hex() for task in operator.spares]}
    operator.turn(reserve=rows)
    return operator.retire()


def _uncommitted(operator: Month) -> Path:
    """List a task in the set before it was committed to."""
    operator.commit(*(task for tasks in operator.cohorts.values() for task in tasks))
    operator.state_set()
    operator.commit(*operator.spares)
    return operator.retire()


def _other_stratum(operator: Month) -> Path:
    """Replace a task by the next of another stratum's reserve."""
    operator.spares.append(operator.invent("other stratum", 1))
    _play(operator.begin(), 1)
    operator.withdraw(operator.cohorts[RETIRED][0], operator.spares[-1])
    return operator.retire()


def _mislabelled(operator: Month) -> Path:
    """Replace a task by a harder one that stood in its reserve."""
    operator.tasks[operator.spares[0]]["difficulty"] = "hard"
    operator.spares[1:] = []
    _play(operator.begin(), 1)
    operator.withdraw(operator.cohorts[RETIRED][0], operator.spares[0])
    return operator.retire()


# -- seeds


def _seeds(change: Callable[[list[dict]], list[dict]]) -> Play:
    """Play three months of two live cohorts; the last retirement opens these seeds, not the one that is due."""

    def play(operator: Month) -> Path:
        operator.plan = {"cohorts": 2, "lifetime": "P2M"}
        operator.cohorts = {name: operator.cohorts[name] for name in list(operator.cohorts)[:2]}
        operator.begin().turn()
        operator.turn()
        seeds = [
            {"set": at, "seed": seed.hex(), "salt": salt.hex()}
            for at, (seed, salt) in ((at, operator.draw_seed(month)) for at, (month, _) in operator.drawn.items())
        ]
        operator.retirement = {"draw_seeds": change(seeds)}
        return operator.retire()

    return play


# -- the key


def _handed_over(signers: Callable[[Month], tuple[Signer, Signer]], **facts: object) -> Play:
    """Log a change of the key that these two signed for the old key and the new one."""

    def play(operator: Month) -> Path:
        _play(operator.begin(), 1)
        signed = json.loads(leaf.key(old=operator.signer, new=NEW, size=len(operator.leaves)))["predicate"]
        for word, signer in zip(("old", "new"), signers(operator), strict=True):
            pair = json.loads(leaf.key(old=signer, new=signer, size=len(operator.leaves)))["predicate"]
            if signer is not (operator.signer if word == "old" else NEW):
                signed["signatures"][word] = pair["signatures"][word]
        digest = leaf.sha256_hex(NEW.verifier.public)
        data = leaf.statement("key", ORIGIN, digest, signed | facts)
        former = operator.keys
        operator.hand_over(NEW, data, careless=True)
        operator.keys = [*former, *operator.keys]
        return operator.retire()

    return play


def _returning_key(operator: Month) -> Path:
    first = operator.begin().signer
    operator.hand_over(NEW)
    operator.hand_over(first, careless=True)
    operator.keys = [first.verifier.vkey, NEW.verifier.vkey]
    return operator.retire()


def _old_key_signs_on(operator: Month) -> Path:
    first = operator.begin().signer
    operator.log("key", leaf.key(old=first, new=NEW, size=len(operator.leaves)))
    operator.sign_with(first, careless=True)
    operator.publish()
    operator.keys = [first.verifier.vkey, NEW.verifier.vkey]
    return operator.retire()


# -- time, as a witness sees it


def _at(*clock: Iterator[int], late: int | None = None) -> Play:
    """Let a witness cosign each head at the next second of a clock, and the retirement in another one."""

    def play(operator: Month) -> Path:
        operator.clock = iter(next(iter(clock)))
        operator.play()
        if late is not None:
            operator.clock = repeat(late)
        return operator.retire()

    return play


def _clock(start: int, step: int) -> Any:
    return range(start, start + 1000 * step, step)


def _scored_at_once(operator: Month) -> Path:
    """Show the witness a run when its score is known already; its month is right."""
    operator.clock = count(DECEMBER, 60)
    operator.begin()
    publish, operator.publish = operator.publish, lambda: None  # type: ignore[method-assign]
    _play(operator, 1)
    operator.publish = publish  # type: ignore[method-assign]
    return operator.retire()


def _head_alone(operator: Month) -> Path:
    """Show the witness nothing but the end of the month."""
    operator.play()
    operator.clock = repeat(DECEMBER + 86_400 * 30)
    return operator.retire()


# -- forks and bindings


def _other_checkpoint(operator: Month) -> Path:
    """Put the checkpoint of another tree, signed by the same key, in the place of one that a run names."""
    fork = Month(operator.folder, "fork")
    fork.spares.reverse()
    fork.play()
    folder = operator.play().retire()
    for path in (folder / "log" / "checkpoints").iterdir():
        path.write_bytes((fork.folder / "log" / "checkpoints" / path.name).read_bytes())
    return folder


def _early_checkpoint(operator: Month) -> Path:
    """Open a run under a checkpoint that does not cover its set."""
    operator.commit_all()
    head = operator.writer.checkpoint()
    operator.state_set()
    _play(operator, 1, size=head.size, root=head.root)
    return operator.retire()


def _other_manifest(operator: Month) -> Path:
    content = operator.play().content()
    operator.log_retirement(content, content.files(), manifest="00" * 32)
    operator.write(operator.folder / "bundle", content.files())
    return operator.folder / "bundle"


def _twice(operator: Month) -> Path:
    content = operator.play().content()
    operator.log_retirement(content, content.files())
    return operator.retire()


def _swapped_task(operator: Month) -> Path:
    """Open another text of a task than the one that was served; the retirement states its digest."""

    def swap(content: Any) -> Any:
        first, *rest = content.tasks
        return replace(content, tasks=[replace(first, document=first.document | {"goal": "an easier one"}), *rest])

    return operator.play().retire(swap)


def _run_left_out(operator: Month) -> Path:
    return operator.play().retire(lambda content: replace(content, runs=content.runs[:1]))


def _late_log(operator: Month) -> Path:
    return operator.play().retire(lambda content: replace(content, first=1))


def _commit_twice(operator: Month) -> Path:
    operator.commit_all()
    task = operator.cohorts[RETIRED][0]
    harder, operator.tasks[task] = operator.tasks[task], operator.tasks[task] | {"max_steps": 14}
    operator.commit(task)
    operator.tasks[task] = harder
    operator.state_set()
    return operator.retire()


def _two_tasks_one_commitment(operator: Month) -> Path:
    operator.begin()
    digest = operator.promised(operator.spares[0])
    facts = {"spec": "1.0.0", "provenance": bytes(32), "public_grammar": True}
    operator.log("twin", leaf.commit("t-" + "a" * 16, digest, **facts))
    return operator.retire()


def _before_any_set(step: Callable[[Month], object]) -> Play:
    def play(operator: Month) -> Path:
        operator.commit_all()
        step(operator)
        operator.state_set()
        return operator.retire()

    return play


def _never_closed(operator: Month) -> Path:
    _play(operator.begin(), 1)
    operator.open_run(2)
    return operator.retire()


def _closed_twice(operator: Month) -> None:
    operator.score(1)
    operator.runs.pop()


def _closed_unopened(operator: Month) -> None:
    operator.served[7], operator.tracks[7] = operator.served[1], "docker"
    operator.index["open/7"] = operator.index["open/1"]
    operator.score(7)
    operator.runs.pop()


def _judged(**facts: object) -> Play:
    """Open a run with another judge than that of its set."""

    def play(operator: Month) -> Path:
        operator.commit_all()
        operator.state_set(**facts)
        _play(operator, 1, judge="11" * 32 if facts else JUDGE_DIGEST)
        return operator.retire()

    return play


def _fewer(operator: Month) -> Path:
    operator.begin().open_run(1)
    fewer = operator.cohorts | {"cohort-2027-03": operator.cohorts["cohort-2027-03"][:1]}
    operator.score(1, fewer)
    return operator.retire()


def _log_entries(*entries: int | None) -> Play:
    """State as many entries of the access log in one set after the other; with None, nothing of it."""

    def play(operator: Month) -> Path:
        stated = [{} if size is None else {"access_log": (size, bytes(32))} for size in entries]
        operator.commit_all()
        operator.state_set(**stated[0])
        for facts in stated[1:]:
            operator.turn(**facts)
        return operator.retire()

    return play


def _same_seed(operator: Month) -> Path:
    _play(operator.begin(), 1)
    operator.turn(next_draw=commitment("draw-seed", *operator.draw_seed("2026-12")))
    return operator.retire()


def _promised_spot_check(operator: Month) -> Path:
    """Promise a spot check and open none."""
    operator.commit_all()
    operator.state_set(spot_check=commitment("spot-check", SPOT_SEED, operator.salt("spot")))
    return operator.retire()


ZERO, ONES = bytes(32), "11" * 32
TOTALS_OF_OTHERS = [(name, ZERO) for name in ("cohort-2027-03", "cohort-2027-02", "cohort-2027-01", RETIRED)]

LIES: dict[str, Lie] = {
    # -- results and runs
    "a pass with a call too many": Lie(_results(calls=13, passed=True, verdict="true"), "result.passed", "13"),
    "a pass that was none": Lie(_results(passed=True, verdict="unknown"), "result.passed", "unknown"),
    "more unlisted calls than calls": Lie(_results(unlisted=50, calls=1), "result.calls", "50"),
    "results of an easier category": Lie(_results(category="composition"), "result.of", "composition"),
    "results with more steps": Lie(_results(max_steps=14), "result.of", "14"),
    "an attempt that stands twice": Lie(_attempts(1, 1), "opened.attempt", "expected 2"),
    "attempts that were exchanged": Lie(_attempts(2, 1), "opened.attempt", "expected 1"),
    "an attempt that is missing": Lie(_attempts(1, 3), "opened.attempt", "expected 2"),
    "a first attempt that nobody sees": Lie(_attempts(2, 3), "opened.attempt", "expected 1"),
    "a run on one private cohort, which no release opens": Lie(_run(["cohort-2027-03"]), "run.cohorts"),
    "a run that skips a cohort": Lie(_run([RETIRED, "cohort-2027-01", "cohort-2027-02"]), "run.cohorts"),
    "an endpoint that read a sealed cohort": Lie(_run(["cohort-2027-01"], track="endpoint"), "run.cohorts"),
    "an endpoint that read everything": Lie(_run(track="endpoint"), "run.cohorts"),
    "a run of the dev set in the log": Lie(_run(track="dev"), "run.track", "dev"),
    "a track that nobody knows": Lie(_run(track="frobnicate"), "run.track", "frobnicate"),
    "a cohort that no set promised": Lie(_run(["cohort-2027-04"], track="docker"), "run.cohorts", "cohort-2027-04"),
    "a run of another year's month": Lie(_run(month="2031-12"), "run.month", "2031-12"),
    "a run on another set": Lie(_run(set_root=ZERO), "run.root", "00" * 32),
    "a run under a head that nobody published": Lie(_run(root=ZERO), "checkpoint.root", "00" * 32),
    "a run under a checkpoint that ends before its set": Lie(_early_checkpoint, "run.checkpoint", "found 10"),
    "a run that is opened twice": Lie(_after(lambda operator: operator.open_run(1)), "run.once"),
    "a good run that is numbered before the bad one": Lie(_numbered, "run.number", "found 1"),
    "a run that is closed twice": Lie(_after(_closed_twice), "close.run"),
    "a run that is closed without being opened": Lie(_after(_closed_unopened), "close.run"),
    "a run that is closed in another month": Lie(_scored(month="2027-01"), "close.same", "2027-01"),
    "a run that changes its track": Lie(_scored(track="unofficial"), "close.same", "unofficial"),
    "a run that is never closed": Lie(_never_closed, "retire.runs", "found [2]"),
    "a score that counts fewer results": Lie(_fewer, "score.count", "found 7"),
    "a score that counts more results": Lie(_scored(count=9), "score.count", "found 9"),
    "totals of other cohorts": Lie(_scored(totals=TOTALS_OF_OTHERS), "score.totals"),
    "totals of one cohort alone": Lie(_scored(totals=[(RETIRED, ZERO)]), "score.totals"),
    "totals that nobody can open": Lie(
        _scored(totals=[(name, ZERO) for name in (RETIRED, "cohort-2027-01", "cohort-2027-02", "cohort-2027-03")]),
        "result.totals",
    ),
    "results under another root": Lie(_scored(results_root=ZERO), "result.bound", "00" * 32),
    "a judge where the set names none": Lie(_judged(), "run.judge", "expected nothing"),
    "a judge that the set does not name": Lie(_judged(judge=JUDGE), "run.judge", ONES),
    "a run opened to somebody else": Lie(
        _edited(contents.RUNS, lambda rows: rows[0]["opening"].update(submitter="a-friend")), "opened.commitment"
    ),
    "a run that is left out": Lie(_run_left_out, "opened.runs"),
    "an abort that is opened with totals": Lie(
        _edited(contents.RUNS, lambda rows: rows[1].update(totals=rows[0]["totals"], totals_salt=ONES)), "opened.totals"
    ),
    "a bad result that is left out": Lie(_edited(contents.RESULTS, lambda rows: rows.pop(0)), "result.lines"),
    "a result that counts for another run": Lie(
        _edited(contents.RESULTS, lambda rows: rows[0]["result"].update(run=2)), "result.of"
    ),
    "totals that do not follow": Lie(
        _edited(contents.RUNS, lambda rows: rows[0]["totals"].update(passed=2)), "result.totals"
    ),
    # -- sets
    "a second set of a month, with another draw": Lie(
        _after(lambda operator: operator.state_set(next_draw=ZERO)), "set.month", "2026-12"
    ),
    "a set that skips a month": Lie(_after(lambda operator: operator.state_set("2027-02")), "set.month", "2027-02"),
    "a set that denies the public grammar of its tasks": Lie(_first_set(public_grammar=False), "set.public"),
    "a set with a cohort of the past": Lie(_before(_past), "set.plan", "2026-11"),
    "a set that forgets the one before": Lie(_next_set(previous=None), "set.previous"),
    "a first set that names one before": Lie(_first_set(previous=0), "set.previous"),
    "a plan that changes between sets": Lie(_next_set(plan={"cohorts": 4, "lifetime": "P8M"}), "set.plan.same", "P8M"),
    "a lifetime that does not fit the cohorts": Lie(
        _first_set(plan={"cohorts": 4, "lifetime": "P6M"}), "set.plan", "P6M"
    ),
    "a plan of more cohorts than are live": Lie(_first_set(plan={"cohorts": 5, "lifetime": "P5M"}), "set.plan"),
    "unequal cohorts": Lie(
        _before(lambda o: o.cohorts["cohort-2027-03"].extend([_new_task(o), _new_task(o)])), "set.share"
    ),
    "a cohort under the name of another month": Lie(_renamed, "set.cohort"),
    "a cohort that counts more tasks": Lie(_counted(0, count=3), "set.counts", "found 3"),
    "a cohort with another root": Lie(_counted(0, root="00" * 32), "set.root"),
    "counts that do not add up": Lie(_first_set(counts={"unseen": 1, "seen": 8}), "set.counts", "found 9"),
    "a set root over other tasks": Lie(_first_set(root=ZERO), "set.root", "00" * 32),
    "a task that is live in two cohorts": Lie(
        _entering(lambda o: [o.cohorts["cohort-2027-02"][0], _new_task(o)]), "set.counts"
    ),
    "a retired task that is served again": Lie(_entering(lambda o: [o.gone_before[1], _new_task(o)]), "set.tasks"),
    "a withdrawn task that returns in a later cohort": Lie(
        _entering(lambda o: [o.gone_before[0], _new_task(o)]), "set.tasks"
    ),
    "a cohort that returns": Lie(_returning, "set.plan", "2026-12"),
    "a private task that is exchanged between two sets": Lie(_swapped_promise, "set.live"),
    "a reserve with a live task": Lie(
        _reserved(lambda o: {STRATUM: [o.cohorts[RETIRED][0], *o.spares]}), "set.reserve"
    ),
    "a reserve in an order that was chosen": Lie(_reserved(lambda o: {STRATUM: o.spares[::-1]}), "set.reserve"),
    "a reserve with one task twice": Lie(_reserved(lambda o: {STRATUM: [*o.spares, o.spares[0]]}), "set.reserve"),
    "a task in two reserves": Lie(_reserved(lambda o: {STRATUM: o.spares, OTHER_STRATUM: o.spares[:1]}), "set.reserve"),
    "a reserve with a withdrawn task": Lie(_reserved_after_withdrawal, "set.reserve"),
    "a reserve of tasks that were not committed to": Lie(_uncommitted, "set.reserve"),
    "a spare of another kind than its reserve": Lie(_mislabelled, "task.reserve", "filesystem/single-tool/hard"),
    "a set without a server's digest": Lie(_first_set(servers={"git": ONES}), "set.servers", "filesystem"),
    "a set without the digest of a live task's server": Lie(
        _first_set(servers={"filesystem": ONES}), "set.servers", "expected git"
    ),
    "an access log that shrinks": Lie(_log_entries(5, 4), "set.access_log", "found 4"),
    "an access log that shrinks while nobody looks": Lie(_log_entries(5, None, 4), "set.access_log"),
    "a seed that draws twice": Lie(_same_seed, "set.seeds"),
    "a task under a specification that nobody knows": Lie(
        _after(lambda operator: operator.commit(_new_task(operator), spec="9.9.9")), "commit.spec", "9.9.9"
    ),
    "a task in two versions": Lie(_commit_twice, "commit.once"),
    "two tasks under one commitment": Lie(_two_tasks_one_commitment, "commit.digest"),
    "a run before the first set": Lie(_before_any_set(lambda o: o.open_run(9, set_root=ZERO)), "run.set"),
    "a withdrawal before the first set": Lie(_before_any_set(lambda o: o.withdraw(o.spares[0], None)), "run.set"),
    # -- withdrawals
    "five of six tasks that a favourite failed, withdrawn as leaks": Lie(
        partial(_favourite, broken=False), "doubt.share", "expected 0 to 0"
    ),
    "five of six tasks that a favourite failed, withdrawn as broken": Lie(
        partial(_favourite, broken=True), "doubt.withdrawn", '"success_rate": "1.0000"'
    ),
    "so many broken tasks": Lie(partial(_favourite, broken=True), "doubt.share", "broken"),
    "a broken task without evidence": Lie(_broken(list.clear), "task.lines", contents.BROKEN),
    "two broken tasks with evidence of one": Lie(_broken(list.pop, both=True), "task.broken"),
    "broken tasks in another order": Lie(_broken(list.reverse, both=True), "task.broken"),
    "a reference solution that passes": Lie(_broken(len, verdict=True), "task.broken", "found true"),
    "a mutant that fails": Lie(_broken(len, solution="mutant"), "task.broken", "found false"),
    "calls that no solution has": Lie(_played_otherwise(lambda calls: []), "task.broken", "found [[], "),
    "the calls of two solutions": Lie(_played_otherwise(lambda calls: calls), "task.broken", "$.calls"),
    "an answer that no solution gives": Lie(
        _played_otherwise(lambda calls: calls[1:], answer="other"), "task.broken", "$.answer"
    ),
    "a mutant of another solution": Lie(
        _played_otherwise(lambda calls: calls[1:], solution="mutant", verdict=True), "task.broken", "$.calls"
    ),
    "evidence of another task": Lie(_leaked_with_evidence, "task.broken"),
    "evidence twice": Lie(_broken(lambda rows: rows.append(rows[0])), "task.broken"),
    "a withdrawn task that is not opened": Lie(_withdrawn_not_opened, "task.lines"),
    "a task that is withdrawn twice": Lie(
        _after(lambda o: o.withdraw(o.spares[0], None), lambda o: o.withdraw(o.spares[0], None)), "withdraw.task"
    ),
    "a withdrawal of nobody's task": Lie(_after(_withdraw_nobody), "withdraw.task"),
    "a withdrawal in another month": Lie(
        _after(lambda o: o.withdraw(o.spares[0], None, month="2027-01")), "run.month", "2027-01"
    ),
    "a withdrawal that the operator signs alone": Lie(_second(None), "withdraw.signature", "found nothing"),
    "a withdrawal with a second key of nobody": Lie(_second(OTHER_SECOND), "withdraw.signature", "dan+"),
    "a second signature over another reason": Lie(_second(SECOND, reason="it was read"), "withdraw.signature"),
    "a second signature over another cause": Lie(_second(SECOND, cause="broken"), "withdraw.signature"),
    "a second signature over another task": Lie(_second(SECOND, task="t-" + "a" * 16), "withdraw.signature"),
    "a second signature over another month": Lie(_second(SECOND, month="2027-01"), "withdraw.signature"),
    "a second signature for another log": Lie(_second(SECOND, origin="other.example/log"), "withdraw.signature"),
    "a second signature that nobody asked for": Lie(
        _second(SECOND, named=None), "withdraw.signature", "expected nothing"
    ),
    "second keys that are exchanged before a withdrawal": Lie(
        _exchanged_keys(OTHER_SECOND), "withdraw.signature", 'expected ["cyd+'
    ),
    "second keys that are dropped before a withdrawal": Lie(_exchanged_keys(None), "withdraw.signature", "cyd+"),
    "a second key that is named twice": Lie(_first_set(withdrawal_keys=[SECOND.verifier.vkey] * 2), "set.keys"),
    "a refill out of its order": Lie(_withdrawn(lambda o: o.spares[1]), "withdraw.refill"),
    "a refill from nowhere": Lie(_withdrawn(lambda o: o.cohorts["cohort-2027-02"][0]), "withdraw.refill"),
    "a refill from another stratum": Lie(_other_stratum, "task.refill"),
    "a refill from another stratum, where nothing was left": Lie(
        _withdrawn(lambda o: o.spares[0], place=1), "task.refill", "expected nothing"
    ),
    "no refill though one is left": Lie(_withdrawn(lambda o: None), "task.refill", "found nothing"),
    "a refill for a task of the reserve": Lie(
        _after(lambda o: o.withdraw(o.spares[1], o.spares[0])), "withdraw.refill"
    ),
    # -- retirements
    "a cohort that retires before its month": Lie(_retired(cohort="cohort-2027-01"), "retire.cohort"),
    "a retirement of another month": Lie(_retired(month="2027-01"), "retire.cohort", "2027-01"),
    "a cohort that retires twice": Lie(_twice, "retire.cohort"),
    "a retirement of nothing": Lie(_retired(tasks=[]), "retire.tasks"),
    "a retirement of another manifest": Lie(_other_manifest, "retirement.one", "00" * 32),
    "a spot check that is not opened": Lie(_promised_spot_check, "retire.spot_check"),
    "a spot check that was not promised": Lie(
        _after(lambda operator: operator.check()), "retire.spot_check", "expected nothing"
    ),
    "a spot check with another seed": Lie(_checked(seed="00" * 32), "retire.spot_check"),
    "a spot check that chose otherwise": Lie(_checked(chosen=2, judged=2), "spot_check.chosen", "found 2"),
    "a spot check of more than were chosen": Lie(_checked(judged=2), "retire.counts"),
    "more that differed than were judged": Lie(_checked(judged=0, differed=1), "retire.counts"),
    "a spot check that came out otherwise": Lie(_checked(differed=1), "doubt.differed", "found 1"),
    "a draw seed that is never opened": Lie(_seeds(lambda seeds: []), "retire.draw_seeds"),
    "a draw seed that is opened twice": Lie(_seeds(lambda seeds: seeds[:1] * 2), "retire.draw_seeds"),
    "a draw seed that is opened early": Lie(_seeds(lambda seeds: seeds[:2]), "retire.draw_seeds"),
    "another draw seed": Lie(_seeds(lambda seeds: [seeds[0] | {"seed": ONES}]), "retire.draw_seeds", ONES),
    "the draw seed of another month": Lie(
        _seeds(lambda seeds: [seeds[1] | {"set": seeds[0]["set"]}]), "retire.draw_seeds"
    ),
    # -- tasks
    "a task that was exchanged after the scores": Lie(_swapped_task, "task.commitment"),
    "a canary of another release": Lie(
        _edited(contents.OPENINGS, lambda rows: rows[0].update(canary="6f1f7d7e-0f5a-4d0e-9a51-2f6f4d7a9c12")),
        "task.canary",
    ),
    "a provenance that was made up": Lie(
        _edited(contents.OPENINGS, lambda rows: rows[0].update(provenance={"grammar": "kinder"})), "task.provenance"
    ),
    "a release that leaves older leaves out": Lie(_late_log, "log.whole", "found 1"),
    # -- keys and checkpoints
    "a change of the key that the new key alone signed": Lie(_handed_over(lambda o: (NEW, NEW)), "key.signatures"),
    "a change of the key that the old key alone signed": Lie(
        _handed_over(lambda o: (o.signer, o.signer)), "key.signatures"
    ),
    "a change of the key that stands elsewhere": Lie(_handed_over(lambda o: (o.signer, NEW), size=3), "key.names"),
    "a key that returns": Lie(_returning_key, "key.order"),
    "an old key that signs on": Lie(_old_key_signs_on, "head.key"),
    "a checkpoint of another fork": Lie(_other_checkpoint, "checkpoint.root"),
    # -- time
    "a month made up in one second": Lie(_at(repeat(JUNE)), "doubt.time", "2027-06-01", WITNESSED),
    "a month made up afterwards": Lie(_at(_clock(JUNE, 60)), "doubt.time", "2027-06-01", WITNESSED),
    "a cohort that is opened half a year late": Lie(
        _at(_clock(DECEMBER, 60), late=JUNE), "doubt.time", "2027-01-09", WITNESSED
    ),
    "a run that nobody saw before its score": Lie(_scored_at_once, "doubt.before", "leaf 11", WITNESSED),
    "a month of which only the end was seen": Lie(_head_alone, "doubt.before", "leaf 11", WATCHED),
    "cosignatures whose clock runs backwards": Lie(_at(_clock(DECEMBER + 86_400, -60)), "doubt.clock", "", WITNESSED),
}
