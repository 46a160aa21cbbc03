"""Verb `server compare`: plays the same agent on the same tasks with several servers, and writes one report."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quarterturn.cli.auditing.public_source import DevOf
from quarterturn.cli.daily.run import TRIALS, dev_set
from quarterturn.cli.terminal.options import HOME, Box, Home, Json, Who
from quarterturn.cli.terminal.output import Output
from quarterturn.cli.terminal.secrets import open_app
from quarterturn.errors import Malformed, NotFound, Refused, require_file

if TYPE_CHECKING:
    from grammars.language.grammar import Draft

NO_BREAK = "\N{NARROW NO-BREAK SPACE}"
"""What pages write before a per cent sign; a terminal is given a space."""


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("compare")(server_compare)


def server_compare(
    names: Annotated[list[str], typer.Argument(metavar="SERVER...", help="The servers, of one state kind.")],
    who: Who,
    baseline: Annotated[str | None, typer.Option(metavar="SERVER", help="What the others are compared with.")] = None,
    task_file: Annotated[
        Path | None,
        typer.Option("--tasks", metavar="FILE", help="Public tasks, as `task import` takes them (default: dev tasks)."),
    ] = None,
    dev_of: DevOf = None,
    image: Annotated[str | None, typer.Option(help="A container image.")] = None,
    agent: Annotated[str | None, typer.Option(help="A command; it can read only its own folder.")] = None,
    packages: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Packages for --agent, read-only beside its files.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="A language model of the home's settings that the agent may use.")
    ] = None,
    trials: Annotated[int, typer.Option(min=1, max=TRIALS, help="Play each task so many times with each server.")] = 3,
    out_file: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write the report with every call as JSON.")
    ] = None,
    page: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write the report as a page.")] = None,
    box: Box = None,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Compare servers: the same agent on the same tasks with each of them alone.

    Each task is rewritten for each server: same goal, initial state and predicate. Fairness (is the task done, and with
    how many calls) stands apart from adoption (how fluently the server was used); differences are paired by task.
    """
    from quarterturn.pages import comparison as comparison_page
    from quarterturn.runs import dev_runs
    from quarterturn.runs.request import RunRequest
    from quarterturn_measures.comparison.comparison import compare_servers, report
    from quarterturn_measures.comparison.explanations import EXPLANATIONS
    from sandbox.servers.registry import SERVERS

    every = [*names, *([baseline] if baseline else ())]
    if twice := next((name for name in every if every.count(name) > 1), None):
        raise Malformed(f"the server {twice} is named twice; name two different ones")
    if len(every) < 2:  # noqa: PLR2004 - a comparison has two sides
        raise Malformed("one server cannot be compared with itself: name another, or a --baseline")
    out, chosen = Output(as_json=as_json), RunRequest(image, agent, who, box, model=model, packages=packages)
    with open_app(home) as app, app.keys.models.gateway(model, "dev") as gateway:
        servers = [SERVERS.named(name) for name in every]
        private = {record.id for record in app.home.vault.records()}
        drafts = _comparable_drafts(task_file, dev_of, home, servers[0].kind, private)
        prepared, terms = dev_runs.prepare(chosen), app.execution.private_runs.terms(gateway)
        compared = compare_servers(
            drafts,
            servers[: len(names)],
            servers[-1] if baseline else None,
            lambda tasks, server: dev_runs.dev(
                chosen, tasks, out, terms=terms, trials=trials, prepared=prepared, where=f"with {server.name}"
            ),
        )
    data = report(drafts, compared, agent=prepared[0].name, model=model, trials=trials)
    if out_file is not None:
        _write(out_file, json.dumps(data, indent=1))
    if page is not None:
        _write(page, comparison_page.page(data, EXPLANATIONS))
    out.result(data, *_lines(data))


def _comparable_drafts(
    file: Path | None, dev_of: str | None, home: Path, kind: str, private: Collection[str]
) -> Sequence[Draft]:
    """Return the tasks of a file, or those of the dev set that can be played with any server of a state kind.

    Args:
        file: the file, or None.
        dev_of: names the dev set; None: that of the home.
        home: the home.
        kind: the state kind.
        private: the ids of the home's tasks.

    Raises:
        Malformed: a task of the file can be played with its own server alone.
        NotFound: there is no file, or the dev set has no such task.
        Refused: a task of the file is one of the home's.
    """
    from quarterturn_measures.comparison.rewritten_task import why_not_comparable
    from rotation.generation import shipped_dev_sets
    from rotation.generation.import_tasks import read_drafts

    if file is None:
        spec = dev_set(home, dev_of)
        drafts = [draft for draft in shipped_dev_sets.drafts(spec) if why_not_comparable(draft, kind) is None]
        if not drafts:
            raise NotFound(f"no dev task of {spec.name} needs one server of the state kind {kind} alone; give --tasks")
        return drafts
    require_file(file)
    drafts = read_drafts(file.read_bytes(), str(file))
    for draft in drafts:
        if draft.id in private:
            raise Refused(f"{file}: the task {draft.id} is one of this home's, and is played in private runs alone")
        if why := why_not_comparable(draft, kind):
            raise Malformed(f"{file}: the task {draft.id} can be played with its own server alone: {why}")
    return drafts


def _write(file: Path, text: str) -> None:
    from vault.files import make_folder, write_atomically

    make_folder(file.parent)
    write_atomically(file, f"{text}\n".encode(), file.with_name(f".{file.name}.part"))


def _lines(data: Mapping[str, Any]) -> Iterator[str]:
    """Write the figures of each server, and the paired differences."""
    from quarterturn.pages.comparison import ROWS, difference_text, figure_text, no_value_text

    yield f"{len(data['tasks'])} tasks, {data['trials']} trial{'s' * (data['trials'] > 1)} each, agent {data['agent']}"
    titles = [server["server"] + (" (baseline)" if server["baseline"] else "") for server in data["servers"]]
    yield f"  {'':<26}" + "".join(f"{title:<30}" for title in titles)
    for name, title in ROWS.items():
        cells = [figure_text(name, server["figures"][name]).replace(NO_BREAK, " ") for server in data["servers"]]
        yield f"  {title:<26}" + "".join(f"{cell:<30}" for cell in cells)
    if nothing := no_value_text(data["servers"]):
        yield nothing
    for difference in data["differences"]:
        yield f"{difference['first']} minus {difference['second']}, paired by task"
        for name, figure in difference["figures"].items():
            if figure["n"]:
                yield f"  {ROWS[name]:<26}{difference_text(name, figure)}"
