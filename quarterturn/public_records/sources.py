"""Sources of public records: a release, a dev set, or a run on a dev set. What may hold a private task is refused.

    release   audited first with the log's key; a release that does not hold is refused
    dev set   drawn anew from the shipped grammars, which are public
    dev run   what `quarterturn run --out FILE.json` wrote; every task in it must be one of a dev set, byte for byte

There is no way from a home's vault to here: a task leaves it by its release alone.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from grammars.language.grammar import Draft
from quarterturn.errors import Malformed, NotFound, Refused
from quarterturn.home.paths import HomePaths
from quarterturn.public_records.records import PublicRecords, PublicResult, PublicRun, PublicTask, Status
from quarterturn.runs.dev_runs import result_of
from sandbox.results.outcome import TaskRun
from sandbox.results.score import Score, score
from vault.canonical import parse_object
from vault.errors import VaultError
from vault.ledger.audit.report import AuditReport
from vault.ledger.release.bundle_reader import Bundle
from vault.ledger.release.contents import AGGREGATE, OPENINGS, RESULTS, RUNS, TASKS, WITHDRAWN
from vault.task.document import Task
from verifiers.errors import VerifierError
from verifiers.language.predicate import CLAIMS, parse
from verifiers.language.verdict import Evidence

DEV = "dev"
"""The source that is the home's dev set, or a shipped one."""
AXES = ("success_rate", "efficiency", "hallucinated_tool_rate", "recovery_rate")
MAX_RUN_FILE = 1 << 30
PUBLIC = "only dev sets, runs on them, and releases are public"


def kind_of(source: str) -> str:
    """Say what a source is: `dev`, `release` or `run`.

    Raises:
        NotFound: there is no such file or folder.
        Refused: it names private tasks, or may hold some.
    """
    path = Path(source)
    if source == DEV:
        return "dev"
    if source in {"private", "live"} or (source.startswith("t-") and not path.exists()):
        raise Refused(f"'{source}' names tasks of a vault, which leave it by their release alone: {PUBLIC}")
    if not path.exists():
        raise NotFound(f"there is no file and no folder {source}; name `dev`, a release folder, or the file of a run")
    if path.is_file():
        return "run"
    if HomePaths(path).settings.exists():
        raise Refused(f"{source} is a home, whose tasks are private: {PUBLIC}; its releases lie in its public folder")
    return "release"


def dev_set(name: str, drafts: Sequence[Draft]) -> PublicRecords:
    """Return the tasks of a dev set."""
    about = (
        f"The {len(drafts)} public tasks of the dev set {name}, drawn from public grammars. They are for trying an "
        "agent out: no score on them is ever ranked."
    )
    tasks = [PublicTask(Task.parse(draft.task), "dev", draft.provenance) for draft in drafts]
    return PublicRecords(f"{name}-dev", f"Dev set {name}", about, "dev", tasks, license="apache-2.0")


def dev_run(file: Path, public: Sequence[Draft]) -> PublicRecords:
    """Read the file of a run on a dev set.

    Args:
        file: what `quarterturn run --set dev --out` wrote.
        public: the tasks of every dev set.

    Raises:
        Malformed: it is no such file.
        Refused: a task in it is of no dev set, so it may be private.
    """
    try:
        data = _sound(json.loads(file.read_bytes()))
        documents = [Task.parse(item["task"]) for item in data["tasks"]]
        outcomes = [[item["run"] for item in data["tasks"]], *data.get("later_trials", ())]
        trials = [[outcome_of(run) for run in trial] for trial in outcomes]
        offered_tools = [str(tool) for tool in data.get("offered_tools", ())]
    except (VaultError, LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        why = "it is not JSON" if isinstance(error, ValueError) else "it lacks a field, or has another type of one"
        raise Malformed(
            f"{file} is not the file of a run: {why}; make one with `quarterturn run --out FILE.json`"
        ) from None
    known = {draft.task["id"]: draft for draft in public}
    strange = [task.id for task in documents if task.id not in known or Task.parse(known[task.id].task) != task]
    for trial in trials:
        if [run.task_id for run in trial] != [task.id for task in documents]:
            raise Malformed(f"{file} is not the file of a run: a trial has other tasks than the run")
    if strange or not documents:
        what = f"task {strange[0]} in {file} is of no dev set" if strange else f"{file} holds no task"
        raise Refused(f"{what}, so it may be private and is not shown or exported: {PUBLIC}")
    return dev_trials([known[task.id] for task in documents], trials, offered_tools)


def outcome_of(value: Mapping[str, Any]) -> TaskRun:
    """Read a task's outcome from a file that anybody may have written.

    Raises:
        LookupError, TypeError, ValueError, AttributeError: it is none.
    """
    outcome = TaskRun.from_json(value)
    for attempt in (outcome, *outcome.earlier):
        answer = attempt.transcript.answer
        texts = [attempt.task_id, attempt.goal, attempt.output, "" if answer is None else answer]
        texts += [text for call in attempt.transcript.calls for text in (call.tool, call.result)]
        objects = [call.arguments for call in attempt.transcript.calls]
        nodes = list(_nodes(attempt.evidence))
        texts += [text for node in nodes for text in (node.op, node.found)]
        objects += [node.looked_at for node in nodes]
        counts = [count for call in attempt.transcript.model_calls for count in (call.read, call.written)]
        texts += [text for call in attempt.transcript.model_calls for piece in call.response for text in piece]
        texts += attempt.transcript.shortlist or ()
        texts += [text for exchange in attempt.claims for text in (exchange.claim, exchange.reply or "")]
        for node in nodes:
            _require_claims(node)
        if not all(isinstance(text, str) for text in texts) or not all(isinstance(item, dict) for item in objects):
            raise TypeError("a text or an object is none")
        if not all(type(count) is int and count >= 0 for count in counts):
            raise TypeError("a count of tokens is none")
    return outcome


def _require_claims(node: Evidence) -> None:
    """Refuse evidence about claims that are none.

    Raises:
        ValueError: they are none.
    """
    try:
        if node.op == CLAIMS:
            parse({node.op: node.looked_at})
    except VerifierError as error:
        raise ValueError(str(error)) from None


def _nodes(evidence: Evidence) -> Iterator[Evidence]:
    yield evidence
    for child in evidence.children:
        yield from _nodes(child)


def dev_trials(
    drafts: Sequence[Draft], trials: Sequence[Sequence[TaskRun]], offered_tools: Sequence[str] = ()
) -> PublicRecords:
    """Return the records of trials of one agent on tasks of a dev set, each trial with a result for each task."""
    count = "One run" if len(trials) == 1 else f"{len(trials)} trials"
    about = f"{count} of an agent on {len(drafts)} public tasks of a dev set: each call, answer and verdict."
    if offered_tools:
        about += f" Each task offered {len(offered_tools)} tools, of all servers of the set."
    tasks = [PublicTask(Task.parse(draft.task), "dev", draft.provenance) for draft in drafts]
    runs = [_trial(number, [task.task for task in tasks], trial) for number, trial in enumerate(trials, 1)]
    title = "Run on a dev set" + (f", {len(offered_tools)} tools offered" if offered_tools else "")
    return PublicRecords("dev-run", title, about, "dev", tasks, runs, license="apache-2.0", offered_tools=offered_tools)


def _trial(number: int, tasks: Sequence[Task], outcomes: Sequence[TaskRun]) -> PublicRun:
    total = score([result_of(task, run) for task, run in zip(tasks, outcomes, strict=True)])
    return PublicRun(number, "agent", number, _axes(total), [played(run) for run in outcomes])


def release(folder: Path, report: AuditReport) -> PublicRecords:
    """Read a release that an audit has found to hold.

    Args:
        folder: the release.
        report: what the audit of this folder said.

    Raises:
        Refused: the audit's answer is no, or it has doubts that nobody accepted.
        Malformed: it holds a task of another form.
    """
    if not report.ok:
        failed = report.failed
        why = f"{failed.name}: {failed.detail}" if failed else "there are doubts; accept each with --accept NUMBER"
        raise Refused(f"{folder} does not verify, so nothing is made of it; `quarterturn audit` says more ({why})")
    try:
        bundle = Bundle.read(folder)
        tasks, runs = list(_tasks(bundle)), list(_runs(bundle))
    except VaultError as error:
        raise Refused(f"{folder} changed while it was read; try again: {error}") from None
    manifest = bundle.manifest
    month = manifest["month"]
    about = (
        f"{len(tasks)} tasks of a private set that retired in {month} and count no more, with the results of "
        f"{len(runs)} runs on them. Each task was committed to in the public log {manifest['origin']} before the first "
        "run that used it, and opens that commitment."
    )
    name = f"historical-{month}"
    title = f"Retired tasks of {month}"
    public = PublicRecords(name, title, about, "test", tasks, runs)
    return replace(public, month=month, origin=manifest["origin"], canary=manifest["canary"])


def _tasks(bundle: Bundle) -> Iterator[PublicTask]:
    openings = bundle.lines(OPENINGS)
    statuses: tuple[tuple[str, Status], ...] = ((TASKS, "retired"), (WITHDRAWN, "withdrawn"))
    for name, status in statuses:
        for _, data, _ in bundle.lines(name) if name in bundle.manifest["files"] else ():
            _, _, opened = next(openings)
            try:
                task = Task.trusted(data)
            except KeyError as error:
                what = f"holds a task of another form, without {error.args[0]}: nothing is made of it"
                raise Malformed(f"{bundle.folder} {what}; ask whoever published it") from None
            salts = (opened["commitment"], opened["salt"], opened.get("variant_key"))
            yield PublicTask(task, status, opened["provenance"], *salts)


def _runs(bundle: Bundle) -> Iterator[PublicRun]:
    results: dict[int, list[PublicResult]] = defaultdict(list)
    for _, _, line in bundle.lines(RESULTS):
        results[line["run"]].append(_bound(line["result"]))
    aggregate = parse_object(b"".join(bundle.pieces(AGGREGATE)), AGGREGATE, max_size=MAX_RUN_FILE)
    figures = {item["run"]: item["figures"] for item in aggregate["runs"]}
    for _, _, line in bundle.lines(RUNS):
        number, opening = line["run"], line["opening"]
        axes = {axis: _number(figures.get(number, {}).get(axis)) for axis in AXES}
        ended = line["totals"] is not None
        yield PublicRun(number, opening["submitter"], opening["attempt"], axes, results[number], ended)


def _bound(result: Mapping[str, Any]) -> PublicResult:
    """Take a result as a release has it."""
    plain = {name: result[name] for name in ("task", "verdict", "passed", "calls", "max_steps", "unlisted")}
    return PublicResult(**plain, saw_error=result["saw_error"], transcript=result.get("transcript"))


def played(run: TaskRun) -> PublicResult:
    """Take a result as a run on a dev set gave it."""
    transcript = run.transcript
    return PublicResult(
        task=run.task_id,
        verdict=run.verdict.value,
        passed=run.passed,
        calls=run.calls,
        max_steps=run.max_steps,
        unlisted=transcript.unlisted,
        saw_error=transcript.injected > 0,
        played=run,
    )


def _axes(total: Score) -> dict[str, float | None]:
    return {axis: getattr(total, axis).value for axis in AXES}


def _number(text: str | None) -> float | None:
    return None if text is None else float(text)


def _sound(value: Any) -> Any:
    """Escape lone surrogates, for which no format that is written here has a form."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, list):
        return [_sound(part) for part in value]
    if isinstance(value, dict):
        return {_sound(key): _sound(part) for key, part in value.items()}
    return value
