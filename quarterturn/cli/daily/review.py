"""Verb `task review`: on a terminal task by task, elsewhere by flags."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quarterturn.cli.terminal.colour import StatusLine
from quarterturn.cli.terminal.options import HOME, Home, Json, Who
from quarterturn.cli.terminal.output import Output, printable
from quarterturn.cli.terminal.secrets import open_app
from quarterturn.errors import Malformed, home_option

if TYPE_CHECKING:
    from quarterturn.tasks.review import TaskReviews
    from vault.store.tasks import TaskRecord

ANSWERS = {"a": "approve", "r": "reject", "l": "later", "q": "quit"}
PROMPT = "Approve (yes to every question), reject, later, quit [a/r/l/q]"


def task_review(
    who: Who,
    task_id: Annotated[
        str | None, typer.Argument(help="A task's id (default: on a terminal one after the other, else their ids).")
    ] = None,
    approve: Annotated[
        bool, typer.Option("--approve", help="Approve: answers every question of the checklist with yes.")
    ] = False,
    reject: Annotated[str | None, typer.Option("--reject", help="Reject, for this reason.")] = None,
    batch: Annotated[
        bool,
        typer.Option(
            "--batch", help="All waiting tasks; one decision for all, or none. For demos: it decides on unread tasks."
        ),
    ] = False,
    one_by_one: Annotated[
        bool, typer.Option("--one-by-one", help="Review the tasks of other authors, question by question.")
    ] = False,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Review tasks as their second person: on a terminal, shows each with its evidence and asks for a decision."""
    from quarterturn.cli.daily import review_text

    decided = approve or reject is not None
    if approve and reject is not None:
        raise Malformed("--approve and --reject exclude each other")
    if task_id and batch:
        raise Malformed("name one task, or give --batch for all that wait")
    if decided and not (task_id or batch):
        raise Malformed("which task? Name one, or give --batch for all that wait")
    if one_by_one and (decided or batch or task_id or as_json):
        raise Malformed("--one-by-one asks a person about each task: it takes no task, no decision, and no --json")
    out = Output(as_json=as_json)
    data: Any
    with open_app(home) as app:
        chosen = [task_id] if task_id else app.tasks.reviews.waiting()
        if decided:
            data = states(app.tasks.reviews.decide_all(chosen, who, reject))
            lines = state_lines(data)
        elif one_by_one:
            data = states(_one_by_one(app.tasks.reviews, who))
            lines = state_lines(data)
        elif task_id or batch:
            tasks = [app.tasks.reviews.open(name, who) for name in chosen]
            data = [
                {
                    "task": task.opened.task.document,
                    "provenance": dict(task.opened.provenance),
                    "gates": task.admission["gates"],
                }
                for task in tasks
            ]
            hint = "Decide with --approve, or with --reject and a reason. --json shows the whole state."
            lines = [line for task in tasks for line in (*review_text.for_review(task), hint, "")]
        elif chosen and not as_json and sys.stdin.isatty() and sys.stdout.isatty():
            data, lines = None, list(_in_turn(app.tasks.reviews, who, out))
        else:
            data = lines = chosen
            if chosen and not as_json:
                option = home_option(home)
                out.say(f"Next: on a terminal, the same command shows each; here, quarterturn task review ID {option}")
    out.result(data, *(lines or ["nothing waits for a review"]))


def states(records: Sequence[TaskRecord]) -> list[dict[str, str]]:
    """Return the ids and states of tasks."""
    return [{"id": record.id, "state": record.state.value} for record in records]


def state_lines(rows: Sequence[Mapping[str, str]]) -> list[str]:
    """Return the ids and states of tasks as lines."""
    return [StatusLine(f"{row['id']}  {row['state']}", row["state"]) for row in rows]


def _in_turn(reviews: TaskReviews, who: str, out: Output) -> Iterator[str]:
    """Ask a person for a decision on each task of other authors, and say what came of it; each is kept at once."""
    from quarterturn.cli.daily import review_text

    waiting, done = reviews.waiting(not_by=who), Counter[str]()
    for number, task_id in enumerate(waiting, 1):
        out.again(None, f"Task {number} of {len(waiting)}", *review_text.for_review(reviews.open(task_id, who)))
        choice = _choice()
        if choice == "quit":
            break
        done[choice] += 1
        if choice == "approve":
            reviews.decide(task_id, who, None)
        elif choice == "reject":
            reviews.decide(task_id, who, str(typer.prompt("Reason for the rejection")))
    own = len(reviews.waiting()) - len(reviews.waiting(not_by=who))
    left = len(reviews.waiting(not_by=who))
    yield f"{done['approve']} approved, {done['reject']} rejected, {left} left to review"
    if own:
        yield f"{own} waiting tasks are {who}'s own: somebody else reviews them"
    if left:
        yield "Next: quarterturn task review, which goes on with the tasks that are left"
    elif not own:
        yield "Next: quarterturn turn plan, which says whether the turn has all that it needs"


def _choice() -> str:
    while True:
        reply = str(typer.prompt(PROMPT)).strip().lower()[:1]
        if reply in ANSWERS:
            return ANSWERS[reply]


def _one_by_one(reviews: TaskReviews, who: str) -> list[TaskRecord]:
    """Review the tasks of other authors with a person; skipped tasks go on waiting, decisions made are kept."""
    from grammars.admission.review import CHECKLIST
    from quarterturn.cli.daily import review_text

    done: list[TaskRecord] = []
    for task_id in reviews.waiting(not_by=who):
        typer.echo("\n".join(["", *map(printable, review_text.for_review(reviews.open(task_id, who)))]))
        answers: dict[str, bool] = {}
        for key, question in CHECKLIST.items():
            reply = _reply(question)
            if reply == "q":
                return done
            if reply == "s":
                break
            answers[key] = reply == "y"
        else:
            refusal = None if all(answers.values()) else str(typer.prompt("Reason for the rejection"))
            done.append(reviews.decide(task_id, who, refusal, answers=answers))
    return done


def _reply(question: str) -> str:
    while True:
        reply = str(typer.prompt(f"{question} [y/n, s skips, q ends]")).strip().lower()[:1]
        if reply and reply in "ynsq":
            return reply
