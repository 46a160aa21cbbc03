"""Rules of the log and of a release: each in one sentence, under the name by which a report gives it.

The writer of the log, the audit and its page share them. A rule that is broken is shown with what
disagrees: the place, the value that follows from everything else, and the value that stands there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vault.errors import Broken

RULES: Mapping[str, str] = {
    # -- statements, each with those before it
    "statement.subject": "the subject of a statement says what its predicate says",
    "commit.once": "a task is committed to once",
    "commit.digest": "two tasks have two commitments",
    "commit.spec": "a task is of a version of the specification that this program knows",
    "set.previous": "a set names the index of the set before it, and the first one names none",
    "set.month": "sets are of consecutive months, one for each",
    "set.plan": "as many cohorts are live as planned, and retire at equal distances, from now on",
    "set.plan.same": "the plan of a set is that of the set before it",
    "set.counts": "a set counts its tasks: of each cohort, in all, and as unseen and seen",
    "set.cohort": "a cohort is named after the month in which it retires",
    "set.live": "a set repeats each live cohort with its tasks in their order",
    "set.tasks": "a cohort that is new in a set has new tasks, committed to before it, each once",
    "set.share": "all cohorts of a set have the same number of tasks, within one",
    "set.root": "the root of a cohort, and of a set, is over the commitments of its tasks",
    "set.reserve": "a reserve names tasks committed to and never served, each once, in order",
    "set.servers": "a set names the digest of each server of its live tasks and of its reserve",
    "set.public": "a set says whether a live task is of a public grammar, as their commits say",
    "set.seeds": "a set commits to seeds of its own",
    "set.access_log": "the access log of a set has no fewer entries than that of the set before",
    "set.keys": "a set names each Ed25519 key that signs withdrawals once",
    "run.set": "nothing is opened, withdrawn or retired before the first set",
    "run.once": "a run is opened once",
    "run.number": "runs are numbered in the order in which they are opened",
    "run.month": "a run and a withdrawal are of the last set's month, before its retirement",
    "run.root": "a run names the root of the last set",
    "run.track": "a run in the log is of a track of the log",
    "run.cohorts": "a run is served all live cohorts; of the endpoint track, the next to retire",
    "run.checkpoint": "a run names a checkpoint after its set and before itself",
    "run.judge": "a run names the judge of its set, if it is judged",
    "close.run": "a run that is closed was opened before, and is closed once",
    "close.same": "a run is closed in the month and on the track on which it was opened",
    "score.count": "a score counts one result for each task that its run was served",
    "score.totals": "a score has one commitment to totals for each cohort of its run, in order",
    "withdraw.task": "a task that is withdrawn was committed to, and has not left before",
    "withdraw.refill": "a withdrawn live task is replaced by the next of a reserve, or by none",
    "withdraw.signature": "a second key signs a withdrawal, if a set of its cohort named any",
    "retire.cohort": "the cohort that retires is live, and named after the month of the last set",
    "retire.tasks": "a cohort retires with the tasks that it has, in their order",
    "retire.runs": "every run is closed before a cohort retires",
    "retire.spot_check": "the spot check that the set promised is opened with the month, no other",
    "retire.counts": "of a spot check, differed <= judged <= chosen",
    "retire.draw_seeds": "a draw seed is opened once, when the last task drawn from it leaves",
    "key.names": "a change of the key is of this log, and names where it stands",
    "key.order": "the log is handed over from its present key to a new one",
    "key.signatures": "both keys sign the change of the key",
    # -- the release
    "file.listed": "a release has the files of its manifest and of its log, and no others",
    "file.digest": "each file has the size and the digest that the manifest lists",
    "head.origin": "the manifest and the checkpoints are of one log",
    "head.key": "a checkpoint is signed by the key that the log had at its size",
    "log.whole": "a release carries the log from its first leaf on",
    "log.tiles": "the hashes of the tiles are those of the leaves",
    "log.root": "the leaves give the root that was signed",
    "checkpoint.named": "a release carries each checkpoint that a run names",
    "checkpoint.root": "a checkpoint has the root of the leaves at its size",
    "retirement.one": "the log retires this cohort, in this month, with this manifest",
    "task.lines": "the files open each task that the log names, in its order, and no other",
    "task.bytes": "a task has the digest that its retirement states",
    "task.commitment": "a task and its salt open the commitment that was logged",
    "task.provenance": "a provenance and its salt open the commitment that was logged, if opened",
    "task.variant": "a variant key is the one whose digest stands in the task",
    "task.canary": "an opening bears the canary of its release",
    "task.reserve": "a task stood in the reserve of its stratum only",
    "task.refill": "a withdrawn task is replaced from its stratum, unless nothing was left there",
    "task.broken": "what is withdrawn as broken is shown: a reference fails, or a mutant passes",
    "opened.runs": "the runs that were served the cohort are opened, and no others",
    "opened.leaves": "an opened run names its own leaves",
    "opened.commitment": "what is opened of a run opens the commitment that was logged",
    "opened.totals": "a run opens totals if and only if it has a score",
    "opened.attempt": "the runs of a submitter in a month are numbered in their order",
    "result.lines": "a run opens one result for each task of the cohort, by their commitments",
    "result.of": "a result is of its run, this cohort, and its task's category and steps",
    "result.passed": "a result that is passed has the verdict true, and at most max_steps calls",
    "result.calls": "unlisted calls are calls",
    "result.bound": "a result and its salt are bound under the root of the score",
    "result.totals": "the results add up to the totals that the score committed to",
    "figures.files": "the computed files are what follows from the others",
    "spot_check.chosen": "as many results are judged again as the promised seed chooses",
    "previous.origin": "the checkpoint that was kept is of this log",
    "previous.proof": "a consistency proof leads from the release to the newer checkpoint",
    "evidence.holds": "evidence follows from the release and from what its result committed to",
    # -- doubts
    "doubt.newer": "a checkpoint newer than the release is joined to it by a consistency proof",
    "doubt.time": "a leaf is cosigned in its month, within a day",
    "doubt.before": "a run is cosigned as opened before it has a score",
    "doubt.clock": "cosignatures of larger trees are no older; between witnesses, by five minutes",
    "doubt.withdrawn": "no task is withdrawn as broken that an opened run was served",
    "doubt.share": "at most one task in twenty of a cohort is withdrawn",
    "doubt.differed": "no result that was judged again came out otherwise",
}


def agree(rule: str, where: str, expected: Any, found: Any) -> None:
    """Refuse a value that is not the expected one.

    Args:
        rule: the name of the rule that says so.
        where: the file, leaf or field, from the outside in.
        expected: what follows from everything else; a JSON value that may hold byte strings.
        found: what stands there.

    Raises:
        Broken: they differ.
    """
    if expected != found:
        raise disagreement(rule, where, expected, found)


def require(rule: str, holds: bool, where: str, expected: Any = None, found: Any = None) -> None:  # noqa: FBT001
    """Refuse what does not hold.

    Raises:
        Broken: with the rule's sentence.
    """
    if not holds:
        raise disagreement(rule, where, expected, found)


def disagreement(rule: str, where: str, expected: Any = None, found: Any = None) -> Broken:
    """Return the error of a broken rule."""
    return Broken(RULES[rule], where=where, expected=expected, found=found, rule=rule)
