"""Every field that the log and a release state: the rules that check it, or why it is the operator's word.

`python -m freezing.ledger_rules` writes the tables of `docs/reference/ledger-rules.md`. A field without an entry, and
an entry without a field, fail a test; so does a field that a forger can change unseen and that is not listed as the
operator's word.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping

from vault.ledger.release.contents import FORMS, MANIFEST, PAGE_HINT, README_ROWS, README_TEXT, TASKS, WITHDRAWN
from vault.ledger.statements.forms import BASIC, PATTERNS, Form
from vault.ledger.statements.rules import RULES
from vault.ledger.statements.statement import STATEMENTS

WORD = "operator's word: "

CHECKED: Mapping[str, str] = {
    "commit subject": "commit.once",
    "commit digest": "commit.digest task.commitment",
    "commit spec": "commit.spec",
    "commit provenance": f"task.provenance; {WORD}of a task whose grammar is not opened",
    "commit public_grammar": f"set.public; {WORD}which grammars are public",
    "set subject": "statement.subject",
    "set digest": "set.root run.root",
    "set month": "set.month run.month doubt.time",
    "set previous": "set.previous",
    "set plan.cohorts": "set.plan set.plan.same",
    "set plan.lifetime": "set.plan set.plan.same",
    "set count": "set.counts",
    "set cohorts[].id": "set.cohort set.live",
    "set cohorts[].retires": "set.cohort set.plan",
    "set cohorts[].count": "set.counts set.share",
    "set cohorts[].root": "set.root",
    "set cohorts[].tasks": "set.tasks set.live retire.tasks",
    "set reserve": f"set.reserve task.reserve task.refill; {WORD}which tasks are kept from one set to the next",
    "set counts.unseen": f"set.counts; {WORD}which skeletons were seen is known once all are opened",
    "set counts.seen": f"set.counts; {WORD}as `unseen`",
    "set servers": f"set.servers; {WORD}that the servers ran in these versions",
    "set public_grammar": "set.public",
    "set next_draw": "set.seeds retire.draw_seeds",
    "set judge.anchors": f"run.judge; {WORD}that runs were judged so",
    "set judge.parameters": f"run.judge; {WORD}that runs were judged so",
    "set judge.rubric": f"run.judge; {WORD}that runs were judged so",
    "set month_key": f"{WORD}checked by whoever verifies a month's signatures",
    "set access_log.entries": f"set.access_log; {WORD}checked on request of an auditor",
    "set access_log.commitment": f"{WORD}opened on request of an auditor",
    "set spot_check": "set.seeds retire.spot_check",
    "set withdrawal_keys": f"set.keys withdraw.signature; {WORD}whose keys they are",
    "run-open subject": "statement.subject",
    "run-open digest": "opened.commitment",
    "run-open run": "run.once run.number opened.runs",
    "run-open month": "run.month doubt.time",
    "run-open track": f"run.track run.cohorts; {WORD}which of the tracks that are served all cohorts it was",
    "run-open set": "run.root",
    "run-open cohorts": "run.cohorts",
    "run-open checkpoint.size": f"run.checkpoint; {WORD}which of the heads since the set it was",
    "run-open checkpoint.root": "checkpoint.root",
    "run-open judge": f"run.judge; {WORD}whether a model judged the run",
    "score subject": "statement.subject",
    "score digest": "statement.subject",
    "score run": "close.run",
    "score month": "close.same",
    "score track": "close.same",
    "score count": "score.count",
    "score results_root": "result.bound",
    "score totals[].cohort": "score.totals",
    "score totals[].commitment": "result.totals",
    "abort subject": "statement.subject",
    "abort digest": "statement.subject",
    "abort run": "close.run",
    "abort month": "close.same",
    "abort reason": f"{WORD}why a run ended without a score; the run is opened all the same",
    "retire subject": "statement.subject",
    "retire digest": "retirement.one",
    "retire month": "retire.cohort doubt.time",
    "retire cohort": "retire.cohort",
    "retire tasks[].id": "retire.tasks",
    "retire tasks[].commitment": "retire.tasks",
    "retire tasks[].sha256": "task.bytes",
    "retire draw_seeds[].set": "retire.draw_seeds",
    "retire draw_seeds[].seed": "retire.draw_seeds",
    "retire draw_seeds[].salt": "retire.draw_seeds",
    "retire spot_check.seed": "retire.spot_check spot_check.chosen",
    "retire spot_check.salt": "retire.spot_check",
    "retire spot_check.chosen": "spot_check.chosen",
    "retire spot_check.judged": f"retire.counts; {WORD}how many were judged again",
    "retire spot_check.differed": f"retire.counts doubt.differed; {WORD}how many came out otherwise",
    "withdraw subject": "withdraw.task",
    "withdraw digest": "withdraw.task",
    "withdraw month": "run.month doubt.time",
    "withdraw cause": "task.broken doubt.withdrawn",
    "withdraw reason": f"{WORD}the reason in words",
    "withdraw replacement": "withdraw.refill task.refill",
    "withdraw signature.key": "withdraw.signature",
    "withdraw signature.signature": "withdraw.signature",
    "key subject": "key.names",
    "key digest": "key.names",
    "key old": "key.order key.signatures",
    "key new": f"key.order key.signatures head.key; {WORD}compare it with the key from elsewhere",
    "key size": "key.names",
    "key signatures.old": "key.signatures",
    "key signatures.new": "key.signatures",
}
"""By kind of statement and path in its predicate (`subject` and `digest` are those of the subject)."""


STEPS: Mapping[str, str] = {
    **dict.fromkeys(("statement", "commit", "set", "run", "close", "score"), "statements"),
    **dict.fromkeys(("withdraw", "retire", "key"), "statements"),
    "set.servers": "statements, tasks",
    "file": "files",
    "file.listed": "files, root",
    "head.origin": "checkpoint, checkpoints",
    "head.key": "statements, checkpoints, consistency",
    "log": "root",
    "checkpoint.named": "checkpoints",
    "checkpoint.root": "checkpoints, consistency",
    "retirement": "retirement",
    "task": "tasks",
    "opened": "runs",
    "result": "results",
    "figures": "figures",
    "spot_check": "spot check",
    "previous": "consistency",
    "evidence": "evidence",
    "doubt": "retirement",
    "doubt.newer": "consistency",
    "doubt.share": "tasks",
    "doubt.withdrawn": "results",
    "doubt.differed": "spot check",
}
"""The steps of the audit, by rule or by the first part of a rule's name."""


SHORT = {"hash": "a hash", "task": "a task's id"}
"""Patterns that many fields have, and what the page calls them after its head."""


def fields(form: Form, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield each part of a form that has a value of its own: its path, and what it must be."""
    if isinstance(form, list) and isinstance(form[0], dict):
        yield from fields(form[0], path if form[1:] else f"{path}[]")
    elif isinstance(form, dict) and not any(name.startswith("*") for name in form):
        for name, inner in form.items():
            yield from fields(inner, f"{path}.{name.rstrip('?')}" if path else name.rstrip("?"))
    else:
        yield path, words(form)


def words(form: Form) -> str:
    """Say in words what a value must be."""
    if isinstance(form, list):
        return f"{words(form[0])}, or null" if form[1:] else f"a list, each {words(form[0])}"
    if isinstance(form, dict):
        return "; ".join(f"{words(key.lstrip('*'))}: {words(inner)}" for key, inner in form.items())
    name, _, null = form.partition("|")
    text = (
        f"`{name[1:].replace(',', '`, `')}`" if name[0] == "=" else SHORT.get(name) or ({**BASIC, **PATTERNS})[name][1]
    )
    return f"{text}, or null" if null else text


def statement_fields() -> Iterator[tuple[str, str]]:
    """Yield every field of every statement: `<kind> <path>`, and what it must be."""
    for kind, (name, algorithm, predicate) in STATEMENTS.items():
        yield f"{kind} subject", words(name)
        yield f"{kind} digest", f"{algorithm}: {words('hash')}"
        yield from ((f"{kind} {path}", text) for path, text in fields(predicate))


def page() -> str:
    """Return the reference page."""
    parts = [_HEAD, *(f"- {short}: {PATTERNS[name][1]}\n" for name, short in SHORT.items())]
    for kind in STATEMENTS:
        rows = [(field.split(" ", 1)[1], text) for field, text in statement_fields() if field.split(" ")[0] == kind]
        parts.append(f"\n## `{kind}`\n\n")
        parts += [f"- `{path}` ({text}): {_checks(CHECKED[f'{kind} {path}'])}\n" for path, text in rows]
    for name, form in FORMS.items():
        if name not in {TASKS, WITHDRAWN}:
            parts.append(f"\n## `{name}`\n\n{'The document' if name == MANIFEST else 'Each line'}:\n\n")
            parts += [f"- {text}: {', '.join(paths)}\n" for text, paths in _by_form(form).items()]
    parts.append("\n## Rules\n\nIn parentheses the audit's step.\n\n")
    parts += [f"- `{name}` ({_steps(name)}): {sentence}\n" for name, sentence in RULES.items()]
    parts.append(_README_HEAD + README_TEXT)
    parts.append("```\n\n| file | what it holds |\n|---|---|\n")
    parts += [f"| `{name}` | {what} |\n" for name, what in README_ROWS]
    parts.append(f"\n```\n{PAGE_HINT}```\n")
    return "".join(parts)


def _by_form(form: Form) -> dict[str, list[str]]:
    """Group the fields of a file by what they must be."""
    paths: dict[str, list[str]] = {}
    for path, text in fields(form):
        paths.setdefault(text, []).append(f"`{path}`")
    return paths


def _steps(rule: str) -> str:
    """Name the steps of the audit that ask for a rule."""
    return STEPS.get(rule) or STEPS[rule.split(".", maxsplit=1)[0]]


def _checks(entry: str) -> str:
    rules, _, word = entry.partition(WORD)
    named = ", ".join(f"`{rule}`" for rule in rules.rstrip("; ").split())
    return "; ".join(part for part in (named, f"{WORD}{word}" if word else "") if part)


_README_HEAD = """
## `README.md`

This text, where `{month}`, `{cohort}`, `{origin}` and `{canary}` stand for the manifest's, `{{` for one brace, `{rows}`
for those of the rows below whose file the manifest lists, with those of itself and of the log, in this order, and
`{hint}` for the last block if the manifest lists `verify.html`, otherwise for nothing:

```
"""
_HEAD = """\
# The log's rules

Made by `python -m freezing.ledger_rules`. Every field of every statement is checked by the rules that stand beside it,
or is listed as the operator's word: nothing follows from it, and nobody can recompute it. The writer of the log refuses
to record what breaks a rule between leaves; the audit, `docs/audit.py` and `verify.html` refuse to accept it, and name
the rule. What the fields mean is described in [ledger formats](ledger-formats.md).

A path is that of the predicate; `[]` stands for each item of a list. In parentheses stands what a field must be, after
it what checks it. Here and below:

"""


if __name__ == "__main__":
    sys.stdout.write(page())
