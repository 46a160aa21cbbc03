"""Verbs of maintainers and reviewers: tasks before they go live."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quarterturn.cli.options import HOME, Home, Json, Who
from quarterturn.cli.output import Output
from quarterturn.errors import Malformed, NotFound

TaskId = Annotated[str, typer.Argument(help="A task's id.")]
BoxName = Annotated[str | None, typer.Option("--box", help="docker or bwrap (default: the home's setting).")]


def register(app: typer.Typer) -> None:
    """Add the verbs."""
    task = typer.Typer(no_args_is_help=True, help="Tasks: draw, admit, review, look.")
    task.command("list")(task_list)
    task.command("show")(task_show)
    task.command("admit")(task_admit)
    task.command("import")(task_import)
    task.command("review")(task_review)
    app.add_typer(task, name="task")


def task_list(
    state: Annotated[str | None, typer.Option(help="draft, admitted, reviewed, live, retired, ...")] = None,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """List tasks without opening any."""
    from quarterturn.cli.secrets import open_house
    from vault.lifecycle import State

    if state is not None and state not in set(State):
        raise Malformed(f"'{state}' is no state of a task; there are {', '.join(State)}")
    records = open_house(home).vault.records(state)
    data = [
        {"id": r.id, "state": r.state.value, "stratum": f"{r.server}/{r.category}/{r.difficulty}", "author": r.author}
        for r in records
    ]
    lines = [f"{row['id']}  {row['state']:<10} {row['stratum']:<36} {row['author']}" for row in data]
    Output(as_json=as_json).result(data, *(lines or ["no tasks"]))


def task_show(task_id: TaskId, who: Who, home: Home = HOME, as_json: Json = False) -> None:
    """Open one task and show all of it; the access log says that you did."""
    from quarterturn import reading
    from quarterturn.cli.secrets import open_house

    house = open_house(home)
    opened = house.vault.open(task_id, who=who, why="task show")
    Output(as_json=as_json).result(
        {"task": dict(opened.task.document), "provenance": dict(opened.provenance)}, *reading.task(opened)
    )


def task_admit(who: Who, box: BoxName = None, home: Home = HOME, as_json: Json = False) -> None:
    """Draw what the next turn needs from the shipped grammars, and prove each draft by execution."""
    from quarterturn import stock
    from quarterturn.cli.secrets import open_house

    house = open_house(home)
    out = Output(as_json=as_json)
    wanted = stock.wanted(house)
    with out.progress("proving drafts", sum(wanted.values())) as advance:
        tally = stock.fill(house, wanted, box=house.box(box), author=who, on_done=lambda: advance(1))
    data = {"drawn": tally.drawn, "admitted": len(tally.admitted), "shut_gates": dict(tally.shut)}
    out.result(
        data,
        f"{tally.drawn} drawn, {len(tally.admitted)} admitted"
        + "".join(f"; gate {gate} stayed shut {count} times" for gate, count in tally.shut.items()),
        "Next: somebody else reviews them with `quarterturn task review`.",
    )


def task_import(
    file: Annotated[Path, typer.Argument(help='JSON lines: {"task": {...}, "provenance": {...}} each.')],
    who: Who,
    box: BoxName = None,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Take hand-written tasks in: each is checked and proven by execution, all or none."""
    from quarterturn import stock
    from quarterturn.cli.secrets import open_house

    if not file.is_file():
        raise NotFound(f"there is no file {file}")
    drafts = stock.read_drafts(file.read_bytes(), str(file))
    house = open_house(home)
    kept = stock.take_in(house, drafts, box=house.box(box), author=who)
    data = [{"id": record.id, "state": record.state.value} for record in kept]
    Output(as_json=as_json).result(data, *(f"{row['id']}  {row['state']}" for row in data))


def task_review(
    who: Who,
    task_id: Annotated[str | None, typer.Argument(help="A task's id (default: every task that waits).")] = None,
    approve: Annotated[
        bool, typer.Option("--approve", help="Every question of the checklist is answered yes.")
    ] = False,
    reject: Annotated[str | None, typer.Option("--reject", help="Why it must not go live.")] = None,
    batch: Annotated[bool, typer.Option("--batch", help="All that wait, with the same decision.")] = False,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Show a task with its evidence and record what a second person decides."""
    from quarterturn import reading
    from quarterturn.cli.secrets import open_house
    from vault.lifecycle import State

    if approve and reject is not None:
        raise Malformed("--approve and --reject exclude each other")
    house = open_house(home)
    out = Output(as_json=as_json)
    if task_id is None and not batch:
        ids = [record.id for record in house.vault.records(State.ADMITTED)]
        return out.result(ids, *(ids or ["nothing waits for a review"]))
    ids = [r.id for r in house.vault.records(State.ADMITTED)] if batch else [str(task_id)]
    if not approve and reject is None:
        for name in ids:
            opened = house.vault.open(name, who=who, why="review")
            evidence = house.drafts.evidence(name, who=who, why="review")
            out.result({"id": name, "goal": opened.task.goal}, *reading.task(opened), *reading.evidence(evidence))
        return None
    data = [{"id": name, "state": reading.decide(house, name, who, reject).state.value} for name in ids]
    out.result(data, *(f"{row['id']}  {row['state']}" for row in data))
    return None
