"""Forgeries: months played falsely, each with the rule or the step of the audit that names the lie.

Nearly every lie is signed, bound and published as the truth would be, by an operator who holds all keys; some are edits
that anybody could make who passes a release on (`_passed_on`). A rule that begins with `doubt.` is a doubt that the
report must state; every other is that of the step which refuses the release. All three auditors read this one table.
"""

import json
import shutil
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from itertools import count, repeat
from pathlib import Path
from typing import Any

from vault.commitment import commitment
from vault.ledger.release import contents
from vault.ledger.signatures.note import Signer
from vault.ledger.statements import leaf
from vault.ledger.statements.jcs import canonical
from vault.ledger.tree.tiles import pack_entries, unpack_entries

from ..builders import turned
from .conftest import (
    COHORTS,
    JUDGE,
    JUDGE_DIGEST,
    ORIGIN,
    OTHER_SECOND,
    RETIRED,
    SECOND,
    STRATA,
    WITNESS,
    WRONG_VERDICT,
    Month,
    deferred,
    drawn_signer,
    second_signature,
    solved,
    with_other,
)
from .freeze import GOOD

Files = dict[str, bytes]
Step = Callable[[Month], object]
Play = Callable[[Month], Path | None]
WITNESSED = f"witness W {WITNESS.witness.vkey}\nquorum W\n"
DECEMBER, JUNE = 1_796_083_200, 1_811_808_000  # 2026-12-01, 2027-06-01
STRATUM, OTHER_STRATUM = ("/".join(words) for words in STRATA)
FIRST, NEW, THIRD = map(drawn_signer, ("key", "new key", "third"))
ZERO, ONES = bytes(32), "11" * 32


@dataclass(frozen=True)
class Lie:
    """Months played falsely, the rule or step that refuses them, words of what is shown, and the text of a policy."""

    months: Play
    rule: str
    words: str = ""
    policy: str | None = None

    def play(self, operator: Month) -> Path:
        """Play the months, and return the last release; months that return none are retired here."""
        return self.months(operator) or operator.retire()


# -- how months are played


@deferred
def _steps(operator: Month, *steps: Step) -> None:
    """Take these steps in turn."""
    for step in steps:
        step(operator)


def _first_run(operator: Month) -> None:
    operator.begin().play_run(1)


def _after(*steps: Step) -> Play:
    """Take these steps after the first run of the month."""
    return _steps(_first_run, *steps)


def _before(*steps: Step) -> Play:
    """Take these steps before anything is committed to."""
    return _steps(*steps, _first_run)


def _first_set(**facts: object) -> Play:
    """State the first set so."""
    return _steps(lambda operator: operator.begin(**facts).play_run(1))


def _next_set(**facts: object) -> Play:
    """State the set of the second month so."""
    return _steps(lambda operator: operator.begin().turn(**facts))


def _run(**opening: object) -> Play:
    """Open the second run so, and abort it."""
    return _after(lambda operator: operator.play_aborted(2, **opening))


def _scored(**facts: object) -> Play:
    """Close the second run so."""
    return _after(lambda operator: operator.open_run(2), lambda operator: operator.score(2, **facts))


def _retired(**facts: object) -> Play:
    """State the retirement so."""
    return _after(lambda operator: operator.retirement.update(facts))


def _checked(**facts: object) -> Play:
    """Open the promised spot check so."""
    return _steps(lambda operator: operator.play_checked().check(**facts))


@deferred
def _attempts(operator: Month, *attempts: int) -> None:
    """Play as many runs of one submitter, with these numbers."""
    operator.begin()
    operator.submitters = {number: ("favourite", attempt) for number, attempt in enumerate(attempts, 1)}
    for number in operator.submitters:
        operator.play_run(number)


def _numbered(operator: Month) -> None:
    """Number the second run of a submitter as its first one, which counts."""
    operator.submitters = {1: ("favourite", 1), 2: ("favourite", 2)}
    operator.begin().play_run(2).play_run(1)
    operator.runs.reverse()


@deferred
def _results(operator: Month, **fields: object) -> None:
    """Bind results with these fields."""
    honest = operator.result
    operator.result = lambda *of: honest(*of) | fields  # type: ignore[method-assign]
    _first_run(operator)


@deferred
def edited(files: Files, name: str, change: Callable[[list[Any]], object]) -> None:
    """Edit the lines of a file, before the operator binds it as if it were true."""
    rows = [json.loads(line) for line in files[name].splitlines()]
    other = change(rows)
    files[name] = b"".join(canonical(row) + b"\n" for row in (other if isinstance(other, list) else rows))


def _bound(edit: Callable[[Files], object], of: str = "good") -> Play:
    """Play the month of a good release, with files that are edited before they are bound."""
    return lambda operator: GOOD[of](operator).retire(edit=edit)


def _edited(name: str, change: Callable[[list[Any]], object], of: str = "good") -> Play:
    return _bound(edited(name, change), of)


def _changed(name: str, part: str | None = None, /, **fields: object) -> Play:
    """Change fields of the first line of a file, or of a document in it, before the file is bound."""
    return _edited(name, lambda rows: (rows[0][part] if part else rows[0]).update(fields))


def _replaced(name: str, old: bytes, new: bytes) -> Play:
    """Replace bytes of a file before it is bound."""

    def edit(files: Files) -> None:
        assert old in files[name]
        files[name] = files[name].replace(old, new, 1)

    return _bound(edit)


def _opened(of: str = "good", **fields: Callable[[Any], object]) -> Play:
    """Play the month of a good release, and open something else."""
    return lambda operator: GOOD[of](operator).retire(with_other(**fields))


@deferred
def _passed_on(operator: Month, edit: Callable[[Path], object]) -> Path:
    """Edit an honest release after it was published, as anybody can who passes it on."""
    folder = operator.play().retire()
    edit(folder)
    return folder


def _file(name: str, change: Callable[[bytes], bytes]) -> Play:
    return _passed_on(lambda folder: (folder / name).write_bytes(change((folder / name).read_bytes())))


def _leaves(change: Callable[[list[bytes]], list[bytes]]) -> Play:
    def edit(folder: Path) -> None:
        (path,) = (folder / "log" / "tile" / "entries").rglob("*.p/*")
        path.write_bytes(pack_entries(change(unpack_entries(path.read_bytes(), int(path.name), "the leaves"))))

    return _passed_on(edit)


@deferred
def _logged(operator: Month, leaf_of: Callable[[Month], bytes]) -> Path:
    """Log these bytes as a leaf."""
    operator.play().log("strange", leaf_of(operator))
    return operator.retire(by_hand=True)


def _texts_swapped(content: Any) -> list[Any]:
    first, second = content.tasks
    texts = [{**other.document, "id": task.document["id"]} for task, other in ((first, second), (second, first))]
    return [replace(task, document=text) for task, text in zip(content.tasks, texts, strict=True)]


def _salts_swapped(rows: list[Any]) -> None:
    rows[0]["salt"], rows[1]["salt"] = rows[1]["salt"], rows[0]["salt"]


def _decomposed(files: Files) -> None:
    files[contents.TASKS] = unicodedata.normalize("NFD", files[contents.TASKS].decode()).encode()


# -- withdrawals


def _withdrawn(refill: Callable[[Month], str | None], place: int = 0) -> Play:
    """Withdraw a task of the cohort, with this replacement."""
    return _after(lambda operator: operator.withdraw(operator.cohorts[RETIRED][place], refill(operator)))


def _favourite(operator: Month, *, broken: bool) -> Path:
    """Withdraw five of six tasks that the favourite failed, after its score."""
    for number, tasks in enumerate(operator.cohorts.values()):
        tasks[:] = [operator.invent(f"six {number}{place}", int(place > 0)) for place in range(6)]
    operator.begin_without_reserve().play_run(1)
    for task in operator.cohorts[RETIRED][1:]:
        (operator.withdraw_broken if broken else operator.withdraw)(task, None)
    folder = operator.retire()
    (row,) = json.loads((folder / contents.AGGREGATE).read_bytes())["runs"]
    assert row["figures"]["success_rate"] == ("1.0000" if broken else "0.1667")
    return folder


@deferred
def _broken(operator: Month, change: Callable[[list[dict]], object], *, both: bool = False, **evidence: object) -> None:
    """Withdraw a task as broken, or both of the cohort, with these changes of the evidence."""
    operator.begin_without_reserve().play_run(1)
    for task in list(operator.cohorts[RETIRED])[: 1 + both]:
        operator.withdraw_broken(task, None, **evidence)
    change(operator.evidence)


@deferred
def _played_otherwise(
    operator: Month, calls: Callable[[list[dict]], list[dict]], answer: str = 'the "first"', **evidence: object
) -> None:
    """Withdraw a task as broken, with these calls in the place of those of its solutions."""
    gone = operator.cohorts[RETIRED][1]
    committed = solved(operator, gone)
    operator.begin_without_reserve().play_run(1)
    operator.withdraw_broken(gone, None, calls=calls(committed), answer=answer, **evidence)


def _leaked_with_evidence(operator: Month, *, other: bool = True) -> None:
    operator.begin_without_reserve().play_run(1)
    if other:
        operator.withdraw_broken(operator.cohorts[RETIRED][0], None)
    gone = operator.cohorts[RETIRED][0]
    operator.evidence[:] = [{"task": gone} | WRONG_VERDICT]
    operator.withdraw(gone, None)


def _broken_and_counted(operator: Month) -> Path:
    operator.begin().open_run(1)
    operator.withdraw_broken(operator.cohorts[RETIRED][0], operator.spares[0])
    operator.score(1)

    def counted(files: Files) -> None:
        files[contents.AGGREGATE] = replace(operator.content(), broken=[]).files()[contents.AGGREGATE]

    return operator.retire(edit=counted)


def _withdraw_stranger(operator: Month) -> None:
    """Use a reserve up by withdrawing a task that no set promised."""
    stranger = operator.invent("stranger", 0)
    operator.commit(stranger)
    operator.withdraw(stranger, operator.spares[0])
    operator.withdraw(operator.cohorts[RETIRED][0], operator.spares[1])


def _place_left_empty(operator: Month) -> None:
    operator.spares = operator.spares[:1]
    operator.begin().withdraw(operator.cohorts[RETIRED][0], None)


def _withdraw_nobody(operator: Month) -> None:
    facts = {"month": operator.month, "cause": "leak", "reason": "it leaked", "replacement": None}
    operator.log("nobody", leaf.withdraw("t-" + "a" * 16, ZERO, **facts))


@deferred
def _second(
    operator: Month, signer: Signer | None, *, named: Signer | None = SECOND, origin: str = ORIGIN, **signed: object
) -> None:
    """Withdraw a task with the signature of `signer`, over these facts, where the set names the key of `named`."""
    operator.second = named
    operator.begin_without_reserve().play_run(1)
    gone = operator.cohorts[RETIRED][0]
    facts = {"month": operator.month, "cause": "leak", "reason": "it leaked", "replacement": None} | signed
    task = str(facts.pop("task", gone))
    unsigned = leaf.withdraw(task, operator.promised(gone), **facts)
    operator.withdraw(gone, None, signature=signer and second_signature(signer, unsigned, origin))


@deferred
def _exchanged_keys(operator: Month, second: Signer | None) -> None:
    """Let the next set name other keys, or none, before a task of an older cohort is withdrawn."""
    operator.second = SECOND
    operator.begin_without_reserve().play_run(1)
    operator.second = second
    operator.turn()
    operator.withdraw(operator.cohorts["cohort-2027-01"][0], None)


# -- cohorts and reserves


@deferred
def _entering(operator: Month, tasks: Callable[[Month, str, list[str]], list[str]]) -> None:
    """Let a cohort enter with the second month, of tasks that follow from one withdrawn and those retired before."""
    operator.begin_without_reserve().play_run(1)
    gone, retired = operator.cohorts["cohort-2027-01"][0], operator.cohorts[RETIRED]
    operator.withdraw(gone, None)
    operator.end()
    operator.enter(*tasks(operator, gone, retired))
    operator.state_set()


def _new_task(operator: Month, place: int = 1) -> str:
    return operator.invent(f"entering {len(operator.tasks)}", place)


def _returning(operator: Month) -> None:
    """List the retired cohort in the place of a new one."""
    _first_run(operator)
    tasks = operator.cohorts[RETIRED]
    operator.end()
    operator.cohorts[RETIRED] = tasks
    operator.state_set()


def _past(operator: Month) -> None:
    operator.cohorts["cohort-2026-11"] = operator.cohorts.pop("cohort-2027-03")


@deferred
def _cohorts(operator: Month, change: Callable[[list[dict]], object]) -> None:
    """State the cohorts of the first set with this change."""
    rows = [operator.as_cohort(name) for name in operator.cohorts]
    change(rows)
    operator.begin(cohorts=rows)


def _names_swapped(rows: list[dict]) -> None:
    """Let two cohorts keep their months under the names of one another."""
    rows[2]["id"], rows[3]["id"] = rows[3]["id"], rows[2]["id"]


def _reordered(operator: Month) -> None:
    """State the next set with another order of a cohort that stays."""
    operator.begin().end()
    operator.enter()
    operator.cohorts[COHORTS[1]].reverse()
    operator.state_set()


def _forgotten(operator: Month) -> None:
    operator.begin().cohorts.pop("cohort-2027-02")
    operator.state_set()


def _swapped_promise(operator: Month) -> None:
    """Exchange a private task for a new one between two sets."""
    _first_run(operator)
    operator.end()
    operator.enter()
    operator.cohorts["cohort-2027-03"][0] = _new_task(operator, 0)
    operator.commit(operator.cohorts["cohort-2027-03"][0])
    operator.state_set()


def _hex_promises(operator: Month, tasks: list[str]) -> list[str]:
    return [operator.promised(task).hex() for task in tasks]


@deferred
def _reserved(operator: Month, reserve: Callable[[Month], dict[str, list[str]]]) -> None:
    """State a reserve of these tasks, by stratum, in the first set."""
    operator.begin(reserve={name: _hex_promises(operator, tasks) for name, tasks in reserve(operator).items()})


def _reserved_after_withdrawal(operator: Month) -> None:
    """Keep a withdrawn task in the reserve of the next set."""
    operator.begin().withdraw(operator.spares[0], None)
    operator.turn(reserve={STRATUM: _hex_promises(operator, operator.spares)})


def _uncommitted(operator: Month) -> None:
    """List a task in the set before it was committed to."""
    operator.commit(*(task for tasks in operator.cohorts.values() for task in tasks))
    operator.state_set()
    operator.commit(*operator.spares)


def _other_stratum(operator: Month) -> None:
    """Replace a task by the next of another stratum's reserve."""
    operator.spares.append(operator.invent("other stratum", 1))
    _first_run(operator)
    operator.withdraw(operator.cohorts[RETIRED][0], operator.spares[-1])


def _mislabelled(operator: Month) -> None:
    """Replace a task by a harder one that stood in its reserve."""
    operator.tasks[operator.spares[0]]["difficulty"] = "hard"
    operator.spares[1:] = []
    _first_run(operator)
    operator.withdraw(operator.cohorts[RETIRED][0], operator.spares[0])


@deferred
def _seeds(operator: Month, change: Callable[[list[dict]], list[dict]]) -> None:
    """Play three months of two live cohorts; the last retirement opens these seeds, not the one that is due."""
    operator.plan_two_cohorts().begin().turn()
    operator.turn()
    seeds = [
        {"set": at, "seed": seed.hex(), "salt": salt.hex()}
        for at, (seed, salt) in ((at, operator.draw_seed(month)) for at, (month, _) in operator.drawn.items())
    ]
    operator.retirement = {"draw_seeds": change(seeds)}


# -- the key


@deferred
def _handed_over(operator: Month, signers: Callable[[Month], tuple[Signer, Signer]], **facts: object) -> None:
    """Log a change of the key that these two signed for the old key and the new one."""
    _first_run(operator)
    signed = json.loads(leaf.key(old=operator.signer, new=NEW, size=len(operator.leaves)))["predicate"]
    for word, signer in zip(("old", "new"), signers(operator), strict=True):
        pair = json.loads(leaf.key(old=signer, new=signer, size=len(operator.leaves)))["predicate"]
        if signer is not (operator.signer if word == "old" else NEW):
            signed["signatures"][word] = pair["signatures"][word]
    digest = leaf.sha256_hex(NEW.verifier.public)
    operator.hand_over(NEW, leaf.statement("key", ORIGIN, digest, signed | facts), careless=True)


def _returning_key(operator: Month) -> None:
    first = operator.begin().signer
    operator.hand_over(NEW)
    operator.hand_over(first, careless=True)


def _old_key_signs_on(operator: Month) -> None:
    first = operator.begin().signer
    operator.log("key", leaf.key(old=first, new=NEW, size=len(operator.leaves)))
    operator.sign_with(first, careless=True)
    operator.publish()
    operator.keys.append(NEW.verifier.vkey)


def _new_key_too_early(operator: Month) -> None:
    old = operator.play_half().signer
    operator.sign_with(NEW, careless=True)
    operator.open_run(2)
    operator.open_run(3)  # under a head that the new key signed
    operator.hand_over(NEW, leaf.key(old=old, new=NEW, size=len(operator.leaves)), careless=True)
    operator.abort(2)
    operator.abort(3)


def _signed_by_both(operator: Month) -> Path:
    old = operator.signer
    folder = operator.play_across(NEW).retire()
    head = folder / "log" / "checkpoint"
    head.write_text(head.read_text() + old.sign(head.read_text().split("\n\n")[0] + "\n").split("\n\n")[1])
    return folder


@deferred
def _handed_over_by(
    operator: Month, old: Signer | None = None, new: Signer = NEW, name: str = ORIGIN, *, again: bool = False
) -> None:
    """Let these keys sign a change of the log's key, under the name of this log or of another one."""
    operator.play_across(NEW) if again else operator.play_half()
    pair = [Signer(name, key.key) for key in (old or operator.signer, new)]
    operator.hand_over(new, leaf.key(old=pair[0], new=pair[1], size=len(operator.leaves)), careless=True)
    operator.keys = list(dict.fromkeys([*operator.keys, THIRD.verifier.vkey]))


# -- time, as a witness sees it; its limits are in `test_time_doubts.py`


@deferred
def _at(operator: Month, clock: Iterable[int]) -> None:
    """Let a witness cosign each head at the next second of a clock."""
    operator.clock = iter(clock)
    operator.play()


def _scored_at_once(operator: Month) -> None:
    """Show the witness a run when its score is known already; its month is right."""
    operator.clock = count(DECEMBER, 60)
    operator.begin()
    publish, operator.publish = operator.publish, lambda: None  # type: ignore[method-assign]
    operator.play_run(1)
    operator.publish = publish  # type: ignore[method-assign]


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


@deferred
def _run_under_older_head(operator: Month, *late: int) -> None:
    """Play a run under the head before the set, and before these tasks of its cohort were committed to."""
    after = [operator.cohorts[RETIRED][place] for place in late]
    early = [task for tasks in operator.cohorts.values() for task in tasks if task not in after]
    operator.commit(*early, *operator.spares)
    operator.publish()
    head = operator.writer.checkpoint()
    operator.commit(*after)
    operator.state_set()
    operator.play_run(1, size=head.size, root=head.root)


def _other_manifest(operator: Month) -> Path:
    content = operator.play().content()
    operator.log_retirement(content, content.files(), manifest="00" * 32)
    operator.write(operator.folder / "bundle", content.files())
    return operator.folder / "bundle"


def _twice(operator: Month) -> None:
    content = operator.play().content()
    operator.log_retirement(content, content.files())


def _another_text(content: Any) -> list[Any]:
    """Open another text of a task than the one that was served; the retirement states its digest."""
    first, *rest = content.tasks
    return [replace(first, document=first.document | {"max_steps": 14}), *rest]


def _commit_twice(operator: Month) -> None:
    operator.commit_all()
    task = operator.cohorts[RETIRED][0]
    harder, operator.tasks[task] = operator.tasks[task], operator.tasks[task] | {"max_steps": 14}
    operator.commit(task)
    operator.tasks[task] = harder
    operator.state_set()


def _two_tasks_one_commitment(operator: Month) -> None:
    digest = operator.begin().promised(operator.spares[0])
    facts = {"spec": "1.0.0", "provenance": bytes(32), "public_grammar": True}
    operator.log("twin", leaf.commit("t-" + "a" * 16, digest, **facts))


def _before_any_set(step: Step) -> Play:
    return _steps(Month.commit_all, step, Month.state_set)


def _closed_twice(operator: Month) -> None:
    operator.score(1)
    operator.runs.pop()


def _closed_unopened(operator: Month) -> None:
    operator.served[7], operator.tracks[7] = operator.served[1], "docker"
    operator.index["open/7"] = operator.index["open/1"]
    operator.score(7)
    operator.runs.pop()


def _fewer(operator: Month) -> None:
    operator.begin().open_run(1)
    fewer = operator.cohorts | {"cohort-2027-03": operator.cohorts["cohort-2027-03"][:1]}
    operator.score(1, fewer)


@deferred
def _log_entries(operator: Month, *entries: int | None) -> None:
    """State as many entries of the access log in one set after the other; with None, nothing of it."""
    first, *later = [{} if size is None else {"access_log": (size, bytes(32))} for size in entries]
    operator.begin(**first)
    for facts in later:
        operator.turn(**facts)


TOTALS_OF_OTHERS = [(name, ZERO) for name in ("cohort-2027-03", "cohort-2027-02", "cohort-2027-01", RETIRED)]

LIES: dict[str, Lie] = {
    # -- results and runs
    "a pass with a call too many": Lie(_results(calls=13, passed=True, verdict="true"), "result.passed", "13"),
    "a pass that was none": Lie(_results(passed=True, verdict="unknown"), "result.passed", "unknown"),
    "a pass that failed": Lie(_results(passed=True, verdict="false"), "result.passed", "false"),
    "more unlisted calls than calls": Lie(_results(unlisted=8), "result.calls", "8"),
    "results of an easier category": Lie(_results(category="composition"), "result.of", "composition"),
    "results with more steps": Lie(_results(max_steps=14), "result.of", "14"),
    "an attempt that stands twice": Lie(_attempts(1, 1), "opened.attempt", "expected 2"),
    "attempts that were exchanged": Lie(_attempts(2, 1), "opened.attempt", "expected 1"),
    "an attempt that is missing": Lie(_attempts(1, 3), "opened.attempt", "expected 2"),
    "a first attempt that nobody sees": Lie(_attempts(2, 3), "opened.attempt", "expected 1"),
    "a run on one private cohort, which no release opens": Lie(_run(cohorts=["cohort-2027-03"]), "run.cohorts"),
    "a run that skips a cohort": Lie(_run(cohorts=[RETIRED, "cohort-2027-01", "cohort-2027-02"]), "run.cohorts"),
    "an endpoint that read a sealed cohort": Lie(_run(cohorts=["cohort-2027-01"], track="endpoint"), "run.cohorts"),
    "an endpoint that read everything": Lie(_run(track="endpoint"), "run.cohorts"),
    "a run of the dev set in the log": Lie(_run(track="dev"), "run.track", "dev"),
    "a track that nobody knows": Lie(_run(track="frobnicate"), "run.track", "frobnicate"),
    "a cohort that no set promised": Lie(_run(cohorts=["cohort-2027-04"]), "run.cohorts", "cohort-2027-04"),
    "a run of another year's month": Lie(_run(month="2031-12"), "run.month", "2031-12"),
    "a run on another set": Lie(_run(set_root=ZERO), "run.root", "00" * 32),
    "a run under a head that nobody published": Lie(_run(root=ZERO), "checkpoint.root", "00" * 32),
    "a run under a checkpoint that ends before its set": Lie(_run_under_older_head(), "run.checkpoint", "found 10"),
    "a run that is opened twice": Lie(_after(lambda o: o.open_run(1)), "run.once"),
    "a good run that is numbered before the bad one": Lie(_numbered, "run.number", "found 1"),
    "a run that is closed twice": Lie(_after(_closed_twice), "close.run"),
    "a run that is closed without being opened": Lie(_after(_closed_unopened), "close.run"),
    "a run that is closed in another month": Lie(_scored(month="2027-01"), "close.same", "2027-01"),
    "a run that changes its track": Lie(_scored(track="unofficial"), "close.same", "unofficial"),
    "a run that is never closed": Lie(_after(lambda o: o.open_run(2)), "retire.runs", "found [2]"),
    "a score that counts fewer results": Lie(_fewer, "score.count", "found 7"),
    "a score that counts more results": Lie(_scored(count=9), "score.count", "found 9"),
    "totals of other cohorts": Lie(_scored(totals=TOTALS_OF_OTHERS), "score.totals"),
    "totals of one cohort alone": Lie(_scored(totals=[(RETIRED, ZERO)]), "score.totals"),
    "totals that nobody can open": Lie(
        _scored(totals=[(name, ZERO) for name in (RETIRED, "cohort-2027-01", "cohort-2027-02", "cohort-2027-03")]),
        "result.totals",
    ),
    "results under another root": Lie(_scored(results_root=ZERO), "result.bound", "00" * 32),
    "a judge where the set names none": Lie(_run(judge=JUDGE_DIGEST), "run.judge", "expected nothing"),
    "a judge that the set does not name": Lie(
        _steps(lambda o: o.begin(judge=JUDGE).play_run(1, judge=ONES)), "run.judge", ONES
    ),
    "a run opened to somebody else": Lie(_changed(contents.RUNS, "opening", submitter="a-friend"), "opened.commitment"),
    "a run that is left out": Lie(_opened(runs=lambda of: of.runs[1:]), "opened.runs"),
    "an aborted run that is left out": Lie(_opened(runs=lambda of: of.runs[:1]), "opened.runs"),
    "an abort that is opened with totals": Lie(
        _edited(contents.RUNS, lambda rows: rows[1].update(totals=rows[0]["totals"], totals_salt=ONES)), "opened.totals"
    ),
    "a bad result that is left out": Lie(_edited(contents.RESULTS, lambda rows: rows.pop(0)), "result.lines"),
    "a result that counts for another run": Lie(_changed(contents.RESULTS, "result", run=2), "result.of"),
    "totals that do not follow": Lie(_changed(contents.RUNS, "totals", passed=2), "result.totals"),
    "a result with fewer calls": Lie(_changed(contents.RESULTS, "result", calls=1), "result.bound"),
    "a result of another cohort": Lie(_changed(contents.RESULTS, "result", cohort="cohort-2027-01"), "result.of"),
    "a result of another task": Lie(_changed(contents.RESULTS, "result", task="t-" + "a" * 16), "result.lines"),
    "all results left out": Lie(_edited(contents.RESULTS, lambda rows: rows.clear()), "result.lines"),
    "a result of a run without a score": Lie(
        _edited(contents.RESULTS, lambda rows: rows.append(rows[0] | {"run": 2})), "result.lines"
    ),
    "results in another order": Lie(_edited(contents.RESULTS, lambda rows: rows[::-1]), "result.lines"),
    "a position twice": Lie(_edited(contents.RESULTS, lambda rows: rows[1].update(position=0)), "result.lines"),
    "another position": Lie(_edited(contents.RESULTS, lambda rows: rows[1].update(position=6)), "result.bound"),
    "a proof that is cut": Lie(_edited(contents.RESULTS, lambda rows: rows[0]["proof"].pop(0)), "result.bound"),
    "totals that were not bound": Lie(_changed(contents.RUNS, totals_salt="22" * 32), "result.totals"),
    "totals opened by half": Lie(_changed(contents.RUNS, totals_salt=None), "opened.totals"),
    "a run of other leaves": Lie(_changed(contents.RUNS, close=14), "opened.leaves"),
    "a run opened twice": Lie(_edited(contents.RUNS, lambda rows: [rows[0], *rows]), "opened.runs"),
    "a task committed to after the run that used it": Lie(_run_under_older_head(1), "run.checkpoint", "11 to 11"),
    "a broken task that counts in the figures": Lie(_broken_and_counted, "figures.files"),
    **{
        f"figures that nobody measured, in {name}": Lie(_replaced(name, old, new), "figures.files", name)
        for name, old, new in (
            (contents.AGGREGATE, b"0.5000", b"0.9000"),
            (contents.ATTESTATION, b"sha256", b"sha512"),
            (contents.README, b"6f1f", b"6f1e"),
        )
    },
    # -- sets
    "a cohort in another order": Lie(_reordered, "set.live"),
    "a cohort that is quietly forgotten": Lie(_forgotten, "statements", "leaf 11"),
    "a second set of a month, with another draw": Lie(
        _after(lambda o: o.state_set(next_draw=ZERO)), "set.month", "2026-12"
    ),
    "a set that skips a month": Lie(_after(lambda o: o.state_set("2027-02")), "set.month", "2027-02"),
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
    "a cohort under the name of another month": Lie(_cohorts(_names_swapped), "set.cohort"),
    "a cohort that counts more tasks": Lie(_cohorts(lambda rows: rows[0].update(count=3)), "set.counts", "found 3"),
    "a cohort with another root": Lie(_cohorts(lambda rows: rows[0].update(root="00" * 32)), "set.root"),
    "counts that do not add up": Lie(_first_set(counts={"unseen": 1, "seen": 8}), "set.counts", "found 9"),
    "a set root over other tasks": Lie(_first_set(root=ZERO), "set.root", "00" * 32),
    "a task that is live in two cohorts": Lie(
        _entering(lambda o, *_: [o.cohorts["cohort-2027-02"][0], _new_task(o)]), "set.counts"
    ),
    "a retired task that is served again": Lie(
        _entering(lambda o, _, retired: [retired[0], _new_task(o)]), "set.tasks"
    ),
    "a withdrawn task that returns in a later cohort": Lie(
        _entering(lambda o, gone, _: [gone, _new_task(o)]), "set.tasks"
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
    "a seed that draws twice": Lie(
        _after(lambda o: o.turn(next_draw=commitment("draw-seed", *o.draw_seed("2026-12")))), "set.seeds"
    ),
    "a task under a specification that nobody knows": Lie(
        _after(lambda o: o.commit(_new_task(o), spec="9.9.9")), "commit.spec", "9.9.9"
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
    "evidence of a task that leaked": Lie(partial(_leaked_with_evidence, other=False), "task.lines", contents.BROKEN),
    "evidence twice": Lie(_broken(lambda rows: rows.append(rows[0])), "task.broken"),
    "a withdrawn task that is not opened": Lie(_opened("withdrawn", withdrawn=lambda of: []), "task.lines"),
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
    "no refill though a single one is left": Lie(_place_left_empty, "task.refill", "found nothing"),
    "a reserve that is used up by a withdrawal of nobody": Lie(_after(_withdraw_stranger), "withdraw.refill"),
    "a refill for a task of the reserve": Lie(
        _after(lambda o: o.withdraw(o.spares[1], o.spares[0])), "withdraw.refill"
    ),
    # -- retirements
    "a cohort that retires before its month": Lie(_retired(cohort="cohort-2027-01"), "retire.cohort"),
    "a retirement of another month": Lie(_retired(month="2027-01"), "retire.cohort", "2027-01"),
    "a cohort that retires twice": Lie(_twice, "retire.cohort"),
    "a retirement of nothing": Lie(_retired(tasks=[]), "retire.tasks"),
    "a retirement of another manifest": Lie(_other_manifest, "retirement.one", "00" * 32),
    "a spot check that is not opened": Lie(_first_set(spot_check=ZERO), "retire.spot_check"),
    "a spot check that was not promised": Lie(_after(lambda o: o.check()), "retire.spot_check", "expected nothing"),
    "a spot check with another seed": Lie(_checked(seed="00" * 32), "retire.spot_check"),
    "a spot check that chose otherwise": Lie(_checked(chosen=2, judged=2), "spot_check.chosen", "found 2"),
    "a spot check that chose nothing": Lie(_checked(chosen=0, judged=0), "spot_check.chosen", "found 0"),
    "a spot check with another salt": Lie(_checked(salt="00" * 32), "retire.spot_check"),
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
    "a task that was exchanged after the scores": Lie(
        _opened(tasks=_another_text), "task.commitment", "line 1 of openings.jsonl: $.commitment"
    ),
    "tasks with the texts of one another": Lie(_opened(tasks=_texts_swapped), "task.commitment"),
    "tasks with the salts of one another": Lie(_edited(contents.OPENINGS, _salts_swapped), "task.commitment"),
    "a task with another salt": Lie(_changed(contents.OPENINGS, salt=ONES), "task.commitment"),
    "a task with another commitment": Lie(_changed(contents.OPENINGS, commitment=ONES), "task.commitment"),
    "a task of another leaf": Lie(_changed(contents.OPENINGS, commit=1), "task.lines"),
    "a task in letters that look alike": Lie(_bound(_decomposed), "task.commitment"),
    "a withdrawn task with another salt": Lie(
        _opened("withdrawn", withdrawn=lambda of: [replace(of.withdrawn[0], salt=ZERO), *of.withdrawn[1:]]),
        "task.commitment",
    ),
    "tasks in another order": Lie(_opened(tasks=lambda of: of.tasks[::-1]), "retire.tasks"),
    "a task that is left out": Lie(_opened(tasks=lambda of: of.tasks[:1]), "retire.tasks"),
    "a task that counts, opened as withdrawn": Lie(
        _opened(tasks=lambda of: of.tasks[:1], withdrawn=lambda of: of.tasks[1:]), "retire.tasks"
    ),
    "an opening too many": Lie(_edited(contents.OPENINGS, lambda rows: [*rows, rows[0]]), "task.lines"),
    "an opening too few": Lie(_edited(contents.OPENINGS, lambda rows: rows[:1]), "task.lines"),
    "a variant key of no task": Lie(_changed(contents.OPENINGS, variant_key=ONES), "task.variant"),
    "another variant key": Lie(
        _edited(contents.OPENINGS, lambda rows: rows[0].update(variant_key=ONES), "variants"), "task.variant"
    ),
    "a provenance opened by half": Lie(_changed(contents.OPENINGS, provenance_salt=None), "task.provenance"),
    **{
        f"a task in other bytes: {new.decode()}": Lie(_replaced(contents.TASKS, old, new), "tasks")
        for old, new in (
            (b'"max_steps":12', b'"max_steps":12.0'),
            (b'"max_steps":12', b'"max_steps":-0'),
            (b'"goal"', b'"go\\u0061l"'),
            (b'{"category"', b'{ "category"'),
            (b'"max_steps":12', b'"max_steps":12,"max_steps":12'),
            (b'"max_steps":12', b'"max_steps":NaN'),
            (b"out.txt", b"\\ud800"),
        )
    },
    "a canary of another release": Lie(
        _changed(contents.OPENINGS, canary="6f1f7d7e-0f5a-4d0e-9a51-2f6f4d7a9c12"), "task.canary"
    ),
    "a provenance that was made up": Lie(
        _changed(contents.OPENINGS, provenance={"grammar": "kinder"}), "task.provenance"
    ),
    "a release that leaves older leaves out": Lie(_opened(first=lambda _: 1), "log.whole", "found 1"),
    # -- keys and checkpoints
    "a change of the key that the new key alone signed": Lie(_handed_over(lambda o: (NEW, NEW)), "key.signatures"),
    "a change of the key that the old key alone signed": Lie(
        _handed_over(lambda o: (o.signer, o.signer)), "key.signatures"
    ),
    "a change of the key that stands elsewhere": Lie(_handed_over(lambda o: (o.signer, NEW), size=3), "key.names"),
    "a change of the key of another log": Lie(_handed_over_by(name="other.example/log"), "key.names"),
    "a change of a key that was not the log's": Lie(_handed_over_by(THIRD), "head.key"),
    "a second change that begins at the first key": Lie(_handed_over_by(FIRST, THIRD, again=True), "key.order"),
    "a key that signs without a change": Lie(
        _steps(lambda o: o.play_half().sign_with(NEW, careless=True)), "head.key", "log/checkpoints/11"
    ),
    "a new key that signs too early": Lie(_new_key_too_early, "head.key"),
    "a head that two keys signed": Lie(_signed_by_both, "head.key", "log/checkpoint: the signatures"),
    "a key that returns": Lie(_returning_key, "key.order"),
    "an old key that signs on": Lie(_old_key_signs_on, "head.key"),
    "a checkpoint of another fork": Lie(_other_checkpoint, "checkpoint.root"),
    # -- leaves and files
    "a leaf in other bytes of the same JSON": Lie(
        _logged(lambda o: json.dumps(json.loads(o.leaves[0])).encode()), "statements", "leaf 15"
    ),
    **{
        f"a leaf that is no statement: {data[:9]!r}": Lie(_logged(lambda _, data=data: data), "statements", "leaf 15")
        for data in (b"", b"{}", b"\xff", b"[" * 4000, b'{"a":NaN}', b'{"a":1,"a":1}', b'"\\ud800"')
    },
    "leaves in another order": Lie(_leaves(lambda leaves: [*leaves[1::-1], *leaves[2:]]), "log.tiles"),
    "a leaf that is left out": Lie(_leaves(lambda leaves: leaves[:-1]), "root"),
    "a file that is not listed": Lie(
        _passed_on(lambda folder: shutil.copy(folder / "manifest.json", folder / "log.vkey")), "file.listed", "log.vkey"
    ),
    "a flipped bit": Lie(_file(contents.TASKS, lambda data: turned(data, 800)), "file.digest"),
    "a file that is cut short": Lie(_file(contents.RESULTS, lambda data: data[:-100]), "file.digest"),
    # -- time
    "a month made up in one second": Lie(_at(repeat(JUNE)), "doubt.time", "2027-06-01", WITNESSED),
    "a run that nobody saw before its score": Lie(_scored_at_once, "doubt.before", "leaf 11", WITNESSED),
    "cosignatures whose clock runs backwards": Lie(_at(count(DECEMBER + 86_400, -60)), "doubt.clock", "", WITNESSED),
}
