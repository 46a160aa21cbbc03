"""Verbs of maintainers and reviewers for tasks: drawing, import, review, withdrawal, shredding."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from quarterturn.choices import State
from quarterturn.cli.terminal.options import HOME, Box, Home, Json, Who
from quarterturn.cli.terminal.output import Output
from quarterturn.errors import Malformed, NotFound

ERASED = {
    True: "In the files of the database their data keys are overwritten.",
    False: "The database is in use, so its write-ahead file (-wal) still holds their data keys: run the same command "
    "again.",
    None: "PostgreSQL keeps old versions of their rows until it vacuums its tables, and longer in its own log.",
}
TaskId = Annotated[str, typer.Argument(help="A task's id.")]


def register(app: typer.Typer) -> None:
    """Add the verbs."""
    task = typer.Typer(help="Tasks: draw, admit, review, show, withdraw, shred.")
    task.command("list")(task_list)
    task.command("show")(task_show)
    task.command("admit")(task_admit)
    task.command("import")(task_import)
    task.command("review")(task_review)
    task.command("withdraw")(task_withdraw)
    task.command("shred")(task_shred)
    app.add_typer(task, name="task")


def task_list(
    state: Annotated[State | None, typer.Option(help="Only tasks in this state.")] = None,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """List tasks without opening any."""
    from quarterturn.cli.terminal.secrets import open_app

    with open_app(home) as house:
        records = house.vault.records(state)
    data = [
        {
            "id": r.id,
            "state": r.state.value,
            "stratum": f"{r.server}/{r.category}/{r.difficulty}",
            "author": r.author,
            "traceable": r.traceable,
        }
        for r in records
    ]
    lines = [
        f"{row['id']}  {row['state']:<10} {row['stratum']:<36} {row['author']}"
        f"{'' if row['traceable'] else '  not traceable'}"
        for row in data
    ]
    Output(as_json=as_json).result(data, *(lines or ["no tasks"]))


def task_show(task_id: TaskId, who: Who, home: Home = HOME, as_json: Json = False) -> None:
    """Open one task and show all of it; this is noted in the access log."""
    from quarterturn.cli.terminal.secrets import open_app
    from quarterturn.tasks import review

    with open_app(home) as house:
        review.require_export(house, task_id, who)
        opened = house.vault.open(task_id, who=who, why="task show")
    data = {"task": opened.task.document, "provenance": dict(opened.provenance)}
    Output(as_json=as_json).result(data, *review.task(opened))


def task_admit(who: Who, box: Box = None, home: Home = HOME, as_json: Json = False) -> None:
    """Draw the tasks that the next turn needs from the grammars, and prove each draft by execution."""
    from quarterturn.cli.terminal.secrets import open_app
    from quarterturn.tasks import replenish

    out = Output(as_json=as_json)
    with open_app(home) as house:
        wanted = replenish.wanted(house)
        with out.progress("proving drafts", sum(wanted.values())) as advance:
            tally = replenish.fill(house, wanted, box=house.box(box), author=who, on_done=lambda: advance(1))
    out.result(
        tally.as_json(),
        *tally.lines(),
        "Next: somebody else reviews them with `quarterturn task review`.",
    )


def task_import(
    file: Annotated[Path, typer.Argument(help='JSON lines: {"task": {...}, "provenance": {...}} each.')],
    who: Who,
    box: Box = None,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Import hand-written tasks: each is checked and proven by execution; all are kept or none."""
    from quarterturn.cli.terminal.secrets import open_app
    from quarterturn.tasks import import_tasks

    if not file.is_file():
        raise NotFound(f"there is no file {file}")
    drafts = import_tasks.read_drafts(file.read_bytes(), str(file))
    with open_app(home) as house:
        import_tasks.refuse_known(house, drafts)
        records = import_tasks.take_in(house, drafts, box=house.box(box), author=who)
    data = [{"id": record.id, "state": record.state.value} for record in records]
    Output(as_json=as_json).result(data, *(f"{row['id']}  {row['state']}" for row in data))


def task_review(
    who: Who,
    task_id: Annotated[str | None, typer.Argument(help="A task's id (default: list the waiting tasks).")] = None,
    approve: Annotated[
        bool, typer.Option("--approve", help="Approve: answers every question of the checklist with yes.")
    ] = False,
    reject: Annotated[str | None, typer.Option("--reject", help="Reject, for this reason.")] = None,
    batch: Annotated[bool, typer.Option("--batch", help="All waiting tasks; one decision for all, or none.")] = False,
    one_by_one: Annotated[
        bool, typer.Option("--one-by-one", help="Review the tasks of other authors, question by question.")
    ] = False,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Show tasks with their evidence, or record a second person's review decision."""
    from quarterturn.cli.terminal.secrets import open_app
    from quarterturn.tasks import review
    from vault.task.lifecycle import TaskState

    decided = approve or reject is not None
    if approve and reject is not None:
        raise Malformed("--approve and --reject exclude each other")
    if task_id and batch:
        raise Malformed("name one task, or give --batch for all that wait")
    if decided and not (task_id or batch):
        raise Malformed("which task? Name one, or give --batch for all that wait")
    if one_by_one and (decided or batch or task_id or as_json):
        raise Malformed("--one-by-one asks a person about each task: it takes no task, no decision, and no --json")
    with open_app(home) as house:
        waiting = [record.id for record in house.vault.records(TaskState.ADMITTED)]
        chosen = [task_id] if task_id else waiting
        if decided:
            report = review.decided(review.decide_all(house, chosen, who, reject))
        elif one_by_one:
            others = [record.id for record in house.vault.records(TaskState.ADMITTED) if record.author != who]
            report = review.decided(review.one_by_one(house, others, who, _Terminal()))
        elif task_id or batch:
            report = review.open_for_review(house, chosen, who)
        else:
            report = review.waiting(waiting)
    Output(as_json=as_json).result(report.data, *report.lines)


def task_withdraw(
    task_ids: Annotated[list[str], typer.Argument(help="Ids of live tasks, or of tasks of the reserve.")],
    reason: Annotated[str, typer.Option(help="The reason. It is public in the log at once: do not quote a task.")],
    who: Who,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Withdraw leaked or broken tasks, in the public log; the next of the reserve takes each place."""
    from quarterturn.cli.terminal.secrets import open_app
    from quarterturn.month import withdraw_task

    with open_app(home) as house:
        report = withdraw_task.withdraw(house, task_ids, reason, who=who)
    Output(as_json=as_json).result(report.data, *report.lines)


def task_shred(
    who: Who,
    task_ids: Annotated[list[str] | None, typer.Argument(help="Ids of drafts or rejected tasks.")] = None,
    state: Annotated[State | None, typer.Option(help="All tasks in this state, instead of ids.")] = None,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Destroy the data keys of drafts and rejected tasks that were never promised; this cannot be undone."""
    from quarterturn.cli.terminal.secrets import open_app
    from vault.store.shredding import erase

    if bool(task_ids) == bool(state):
        raise Malformed("which tasks? Name their ids, or all of a state with --state rejected")
    out = Output(as_json=as_json)
    with open_app(home) as app:
        chosen = list(dict.fromkeys(task_ids or [record.id for record in app.vault.records(state)]))
        with out.progress("shredding", len(chosen)) as advance:
            keys = sorted(app.drafts.shred(chosen, who=who, done=lambda: advance(1)))
        erased = erase(app.engine)
    lines = [f"{len(chosen)} tasks are shredded: their data keys and their evidence are gone, and their rows stay."]
    if keys:
        lines.append(f"Nothing proves it to others: older copies and backups still open them, with {', '.join(keys)}.")
    out.result({"shredded": chosen, "keys": keys, "erased": erased}, *lines, ERASED[erased])


class _Terminal:
    """Asks the person at the terminal (`quarterturn.tasks.review.ReviewPrompt`)."""

    def show(self, lines: Sequence[str]) -> None:
        from quarterturn.cli.terminal.output import printable

        typer.echo("\n".join(["", *map(printable, lines[:-1])]))

    def ask(self, question: str) -> str:
        words = {"y": "yes", "n": "no", "s": "skip", "q": "quit"}
        while True:
            reply = str(typer.prompt(f"{question} [y/n, s skips, q ends]")).strip().lower()[:1]
            if reply in words:
                return words[reply]

    def reason(self) -> str:
        return str(typer.prompt("Reason for the rejection"))
