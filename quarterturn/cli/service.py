"""Verbs that serve a home, and work on what was submitted to it."""

from __future__ import annotations

from typing import Annotated

import typer

from quarterturn.cli.options import HOME, Home

Workers = Annotated[int, typer.Option(min=0, max=16, help="How many submissions to run at a time.")]


def register(app: typer.Typer) -> None:
    """Add the verbs."""
    app.command("serve")(serve)
    app.command("worker")(worker)


def serve(
    host: Annotated[str, typer.Option(help="Where to listen; put something that speaks https in front of it.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes any.")] = 8702,
    workers: Workers = 1,
    clock: Annotated[bool, typer.Option("--clock/--no-clock", help="Turn the month when it is due.")] = True,
    home: Home = HOME,
) -> None:
    """Serve a home over HTTP, run what is submitted to it and turn its months, until interrupted."""
    from quarterturn import approvals, logs
    from quarterturn.bells import executor
    from quarterturn.cli.secrets import open_house
    from quarterturn.monthly import Clock
    from quarterturn.service.serve import Together
    from quarterturn.service.serve import serve as run

    with open_house(home) as house:
        approvals.in_force(house)
        logs.configure()
        works = executor(house, workers)
        works = Together(works, Clock(house)) if clock else works
        run(house, works, host, port, ready=lambda url: logs.log.info("serving %s at %s", house.home, url))


def worker(workers: Workers = 1, home: Home = HOME) -> None:
    """Run what is submitted to a home, beside a service of its own, until interrupted."""
    import signal
    import threading

    from quarterturn import approvals, logs
    from quarterturn.bells import executor
    from quarterturn.cli.secrets import open_house

    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    with open_house(home) as house:
        approvals.in_force(house)
        logs.configure()
        works = executor(house, workers)
        works.start()
        logs.log.info("working on %s", house.home)
        ended.wait()
        logs.log.info("stopping; what is being run is given back")
        works.stop()
