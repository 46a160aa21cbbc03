"""Verbs of maintainers and reviewers for tasks: drawing, import, review, withdrawal, shredding."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quarterturn.choices import State, WithdrawalCause
from quarterturn.cli.daily import review, trial
from quarterturn.cli.terminal.colour import StatusLine
from quarterturn.cli.terminal.exits import EXITS
from quarterturn.cli.terminal.extra_verbs import CONVERT
from quarterturn.cli.terminal.options import HOME, Box, Home, Json, Who
from quarterturn.cli.terminal.output import Output
from quarterturn.cli.terminal.secrets import open_app
from quarterturn.errors import Malformed, home_option, require_file

TaskId = Annotated[str, typer.Argument(help="A task's id.")]


ERASED = {
    True: "In the files of the database their data keys are overwritten.",
    False: "The database is in use, so its write-ahead file (-wal) still holds their data keys: run the same command "
    "again.",
    None: "PostgreSQL keeps old versions of their rows until it vacuums its tables, and longer in its own log.",
}


verbs = typer.Typer(name="task", help="Tasks: draw, import, try, review, withdraw, shred.")


@verbs.command("list")
def task_list(
    state: Annotated[State | None, typer.Option(help="Only tasks in this state.")] = None,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """List tasks without opening any."""
    with open_app(home) as app:
        records = app.home.vault.records(state)
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
    lines: list[str] = [
        StatusLine(
            f"{row['id']}  {row['state']:<10} {row['stratum']:<36} {row['author']}"
            f"{'' if row['traceable'] else '  not traceable'}",
            str(row["state"]),
        )
        for row in data
    ]
    Output(as_json=as_json).result(data, *(lines or ["no tasks"]))


@verbs.command("show")
def task_show(task_id: TaskId, who: Who, home: Home = HOME, as_json: Json = False) -> None:
    """Open one task and show all of it; this is noted in the access log."""
    from quarterturn.cli.daily import task_text

    with open_app(home) as app:
        app.tasks.reviews.require_export(task_id, who)
        opened = app.home.vault.open(task_id, who=who, why="task show")
    data = {"task": opened.task.document, "provenance": dict(opened.provenance)}
    Output(as_json=as_json).result(data, *task_text.task(opened))


@verbs.command("admit")
def task_admit(who: Who, box: Box = None, home: Home = HOME, as_json: Json = False) -> None:
    """Draw the tasks that the next turn needs from the grammars, and prove each draft by execution."""
    from quarterturn.cli.daily import task_text
    from vault.file_lock import locked

    out = Output(as_json=as_json)
    with open_app(home) as app, locked(app.home.places.head.with_name("draw.lock"), 0, "drawing tasks"):
        out.say("reading the grammars, and drawing what the next turn needs")
        wanted = app.tasks.replenishment.wanted()
        with out.progress("proving drafts", sum(wanted.values())) as advance:
            tally = app.tasks.replenishment.fill(wanted, box=app.tasks.box(box), author=who, on_done=lambda: advance(1))
    out.result(
        tally.as_json(),
        *(task_text.yield_lines(tally) if wanted else ["The next turn has all the tasks that it needs."]),
        f"Next: somebody else reviews the waiting tasks with `quarterturn task review --as NAME {home_option(home)}`.",
    )


@verbs.command("import")
def task_import(
    file: Annotated[Path, typer.Argument(help='JSON lines: {"task": {...}, "provenance": {...}} each.')],
    who: Who,
    box: Box = None,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Import hand-written tasks: each is checked and proven by execution; all are kept or none."""
    from quarterturn.cli.daily import task_text
    from rotation.generation import import_tasks

    require_file(file)
    out, drafts = Output(as_json=as_json), import_tasks.read_drafts(file.read_bytes(), str(file))
    with open_app(home) as app:
        app.tasks.imports.refuse_known(drafts)
        try:
            records = app.tasks.imports.take_in(drafts, box=app.tasks.box(box), author=who)
        except import_tasks.KeptOut as refused:
            out.say(f"quarterturn: {refused}")
            data = {"error": str(refused), "exit": EXITS[refused.kind], "kept_out": refused.failures}
            out.result(data, *task_text.kept_out(refused.failures, file), ok=False, otherwise=EXITS[refused.kind])
        spec = app.benchmark.spec
    rows = task_text.imported_rows(records, spec)
    out.result(rows, *task_text.imported_lines(rows, spec))


verbs.registered_commands += CONVERT.verbs.registered_commands
verbs.command("try")(trial.task_try)
verbs.command("review")(review.task_review)


@verbs.command("withdraw")
def task_withdraw(
    task_ids: Annotated[list[str], typer.Argument(help="Ids of live tasks, or of tasks of the reserve.")],
    cause: Annotated[
        WithdrawalCause,
        typer.Option(help="A leak: earlier results count. Broken: proven again by execution, and counts in no run."),
    ],
    reason: Annotated[str, typer.Option(help="The reason. It is public in the log at once: do not quote a task.")],
    who: Who,
    to_sign: Annotated[
        Path | None,
        typer.Option(help="A folder for the texts that a second person signs, with their signatures (.sig)."),
    ] = None,
    second_key: Annotated[
        Path | None, typer.Option(help="The second person's OpenSSH key (Ed25519, without a passphrase).")
    ] = None,
    box: Box = None,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Withdraw leaked or broken tasks, in the public log; the next of the reserve takes each place."""
    from quarterturn.cli.daily.task_text import withdrawal_line, withdrawal_row
    from quarterturn.month.second_signature import SecondPerson

    if to_sign and second_key:
        raise Malformed("give --to-sign, or the --second-key that signs, and not both")
    with open_app(home) as app:
        second = SecondPerson(to_sign, second_key)
        withdrawn = app.month.withdrawals.withdraw(task_ids, reason, cause=cause, who=who, box=box, second=second)
    rows = [withdrawal_row(*entry) for entry in withdrawn.items()]
    Output(as_json=as_json).result(rows, *(withdrawal_line(*entry) for entry in withdrawn.items()))


@verbs.command("shred")
def task_shred(
    who: Who,
    task_ids: Annotated[list[str] | None, typer.Argument(help="Ids of drafts or rejected tasks.")] = None,
    state: Annotated[State | None, typer.Option(help="All tasks in this state, instead of ids.")] = None,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Destroy the data keys of drafts and rejected tasks that were never promised; this cannot be undone."""
    from vault.store.shredding import erase

    if bool(task_ids) == bool(state):
        which = "Give ids or --state, not both" if state else "Name their ids, or all of a state with --state rejected"
        raise Malformed(f"which tasks? {which}")
    out = Output(as_json=as_json)
    with open_app(home) as app:
        chosen = list(dict.fromkeys(task_ids or [record.id for record in app.home.vault.records(state)]))
        with out.progress("shredding", len(chosen)) as advance:
            keys = sorted(app.tasks.drafts.shred(chosen, who=who, done=lambda: advance(1)))
        erased = erase(app.home.engine)
    lines = [f"{len(chosen)} tasks are shredded: their data keys and their evidence are gone, and their rows stay."]
    if keys:
        lines.append(f"Nothing proves it to others: older copies and backups still open them, with {', '.join(keys)}.")
    out.result({"shredded": chosen, "keys": keys, "erased": erased}, *lines, ERASED[erased])
