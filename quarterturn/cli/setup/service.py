"""Verbs `serve` and `worker`: the HTTP service of a home, and workers for its submissions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from quarterturn.choices import WorkerClass
from quarterturn.cli.terminal.options import HOME, Home
from quarterturn.cli.terminal.secrets import open_app

if TYPE_CHECKING:
    from quarterturn.app import Application

Only = Annotated[
    WorkerClass | None,
    typer.Option(help="Run only private runs without a language model (sealed), or only all others (open)."),
]
Workers = Annotated[int, typer.Option(min=0, max=16, help="How many submissions to run at a time.")]


verbs = typer.Typer()


@verbs.command("serve")
def serve(
    host: Annotated[str, typer.Option(help="Address to listen on; put an https proxy in front of it.")] = ("127.0.0.1"),
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes any.")] = 8702,
    workers: Workers = 1,
    only: Only = None,
    clock: Annotated[bool, typer.Option("--clock/--no-clock", help="Make the monthly turn when it is due.")] = True,
    home: Home = HOME,
) -> None:
    """Serve a home over HTTP, run its submissions, make its turns. Ends when it is interrupted."""
    from quarterturn import logs
    from quarterturn.cli.terminal.server_address import serving_at
    from quarterturn.http.serve import Together
    from quarterturn.http.serve import serve as run

    with open_app(home) as app, serving_at(host, port, "--host and --port"):
        app.auth.approvals.in_force()
        app.log.start_signer()
        logs.configure()
        logs.log.info("starting to serve %s", app.home.folder)
        _say_which(workers, only)
        with _local_runner(app, workers):
            works = app.execution.executor(workers, only)
            works = Together(works, app.month.clock) if clock else works
            run(app.http(works), host, port, ready=lambda url: logs.log.info("serving %s at %s", app.home.folder, url))


def serve_here(app: Application, ready: Callable[[str], None]) -> None:
    """Serve an open home on the loopback, at any port, without its clock; ends when it is interrupted."""
    from quarterturn import logs
    from quarterturn.http.serve import serve as run

    logs.configure()
    with _local_runner(app, 1):
        run(app.http(app.execution.executor(1)), "127.0.0.1", 0, ready=ready)


@verbs.command("worker")
def worker(workers: Workers = 1, only: Only = None, home: Home = HOME) -> None:
    """Run the submissions of a home, beside `serve`. Ends when it is interrupted."""
    from quarterturn import logs
    from quarterturn.cli.setup import end_signals

    with open_app(home) as app, end_signals.caught() as wait:
        app.auth.approvals.in_force()
        app.log.start_signer()
        logs.configure()
        _say_which(workers, only)
        with _local_runner(app, workers):
            works = app.execution.executor(workers, only)
            works.start()
            logs.log.info("working on %s", app.home.folder)
            wait()
            logs.log.info("stopping; what is being run is given back")
            works.stop()


@contextmanager
def _local_runner(app: Application, workers: int) -> Iterator[None]:
    """Have a local runner for the block, where submissions are run at all; it is started with the first of them."""
    from quarterturn.http.serve import serve_runners
    from quarterturn.runners.local_runner import LocalRunner

    if not workers:
        yield
        return
    places, at_a_time = app.home.places, workers * max(2, app.home.settings.run.workers)
    servers = places.servers if places.servers.is_dir() else None
    app.runners.local = local = LocalRunner(app.runners.store, places.local_runners, min(at_a_time, 64), servers)
    try:
        with serve_runners(app.http(app.execution.executor(0))) as local.url:
            yield
    finally:
        local.close()


def _say_which(workers: int, only: WorkerClass | None) -> None:
    """Say which runs are played here."""
    from quarterturn import logs

    if workers and only is None:
        logs.log.info(
            "this machine plays runs of both classes, in turn and from separate copies; to share nothing, use a "
            "machine for each: worker --only sealed, worker --only open"
        )
    elif workers:
        logs.log.info("this machine plays only %s runs", only)
