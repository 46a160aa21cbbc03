"""Verb `task try`: plays a draft, a task of the home or a dev task, and shows all that happened."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from quarterturn.cli.terminal.options import HOME, Box, Home, Json, WhoIfPrivate
from quarterturn.cli.terminal.output import Output
from quarterturn.cli.terminal.secrets import open_app
from quarterturn.errors import Malformed, NotFound, require_file

if TYPE_CHECKING:
    from quarterturn.choices import BoxName
    from sandbox.boxes import box as boxes
    from sandbox.claim_judge.claim_judge import ClaimJudge
    from sandbox.isolation.run_classes import RunClass
    from vault.task.document import Task


class _Source(NamedTuple):
    """A task with its provenance, whether it is public, what gives a box for it, and who judges its claims."""

    task: Task
    provenance: Mapping[str, Any]
    public: bool
    make_box: Callable[[RunClass], boxes.Box]
    claims: ClaimJudge | None = None


def task_try(
    source: Annotated[
        str,
        typer.Argument(
            metavar="FILE|ID", help="A file for `task import`, or the id of a task of the home or a dev set."
        ),
    ],
    line: Annotated[int | None, typer.Option(min=1, help="Which line of the file (default: the first).")] = None,
    agent: Annotated[
        str | None, typer.Option(help="Play an agent: a command; it can read only its own folder.")
    ] = None,
    solution: Annotated[str | None, typer.Option(help="Which reference solution (default: the first).")] = None,
    mutant: Annotated[str | None, typer.Option(help="Change the solution's end state as this mutant says.")] = None,
    who: WhoIfPrivate = None,
    box: Box = None,
    home: Home = HOME,
    as_json: Json = False,
) -> None:
    """Play a task and show calls, changes and evidence. The exit code is 1 unless the verdict is true."""
    from quarterturn.cli.daily import trial_text
    from quarterturn.runs.task_trial import TrialRequest, play

    request = TrialRequest(agent, solution, mutant)
    with _opened(source, line, who, home, box, agent=agent is not None) as found:
        trial = play(*found[:2], request, found.make_box, public=found.public, claims=found.claims)
    Output(as_json=as_json).result(trial.as_json(), *trial_text.lines(trial), ok=trial.passed)


@contextmanager
def _opened(
    source: str, line: int | None, who: str | None, home: Path, box: BoxName | None, *, agent: bool
) -> Iterator[_Source]:
    """Yield the task that is meant; one of the home stays open while it is played."""
    from quarterturn.boxes import choose_box
    from quarterturn.home.paths import HomePaths
    from quarterturn.servers import home_servers

    def alone(run_class: RunClass) -> boxes.Box:
        return choose_box(box or "auto", run_class=run_class)

    file = Path(source)
    if HomePaths(home).settings.is_file():
        home_servers.of_home(home).register()  # a draft may use servers that the home has added
    if file.is_file():
        task, provenance = _draft(file, line)
        with _judge_of(task, home) as claims:
            yield _Source(task, provenance, public=False, make_box=alone, claims=claims)
    elif line is not None or file.exists():
        require_file(file)
    elif who is None:
        lacks = "; a task of the home needs --as NAME, for opening it is an entry of the access log"
        yield _Source(*_dev_task(source, lacks), public=True, make_box=alone)
    elif HomePaths(home).settings.is_file():
        from sandbox.runs.claims import has_claims

        with open_app(home) as app:
            if app.home.vault.has(source):
                opened = app.tasks.reviews.open_to_try(source, who, agent=agent)
                claims = app.keys.admission_judge if has_claims(opened.task) else None
                yield _Source(opened.task, opened.provenance, False, partial(app.tasks.box, box), claims)
            else:
                yield _Source(*_dev_task(source, f", and none in the home {home}"), public=True, make_box=alone)
    else:
        yield _Source(*_dev_task(source, f", and there is no home {home}"), public=True, make_box=alone)


@contextmanager
def _judge_of(task: Task, home: Path) -> Iterator[ClaimJudge | None]:
    """Yield the claim judge of a home for a draft that has claims; None where there is no home, or it names none."""
    from quarterturn.home.paths import HomePaths
    from sandbox.runs.claims import has_claims

    if not has_claims(task) or not HomePaths(home).settings.is_file():
        yield None
        return
    with open_app(home) as app:
        yield app.keys.admission_judge


def _draft(file: Path, line: int | None) -> tuple[Task, Mapping[str, Any]]:
    """Read a draft from a file."""
    from rotation.generation.import_tasks import read_draft
    from vault.task.document import Task

    draft = read_draft(file.read_bytes(), str(file), line or 1)
    return Task.parse(draft.task), draft.provenance


def _dev_task(task_id: str, lacks: str) -> tuple[Task, Mapping[str, Any]]:
    """Return the task of a dev set that has this id, or begins with it."""
    from rotation.generation import shipped_dev_sets
    from vault.task.document import Task

    drafts = [draft for draft in shipped_dev_sets.public() if draft.id.startswith(task_id)] if task_id else []
    if len(drafts) > 1:
        raise Malformed(f"{len(drafts)} tasks of the dev sets begin with {task_id!r}; give more of the id")
    if not drafts:
        raise NotFound(f"there is no file {task_id!r} and no task of that id in a dev set{lacks}")
    return Task.parse(drafts[0].task), drafts[0].provenance
