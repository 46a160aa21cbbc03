"""Measures the service over real sockets, with 10,000 submissions in its database, beside its floor.

answers    the leaderboard, and a task, beside a bare FastAPI route that returns the same bytes; each server is a
           process of its own, the client is this one. 50 connections stay open.
memory     of the serving process, before and after as many requests as one address may make in an hour
"""

from __future__ import annotations

import importlib
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
from asking import Asked, ask
from measure import Comparison
from report import Failed, Found, Line, Table, rounded
from sqlalchemy import insert

from quarterturn import settings
from quarterturn.accounts.tables import AccountRow
from quarterturn.app import Application
from quarterturn.submissions.store.tables import SubmissionRow
from rotation.calendar import Month
from rotation.exposure.tables import ExposureRow
from rotation.leaderboard import figures
from rotation.leaderboard.tables import ScoreRow
from sandbox.results.interval import Figure
from sandbox.results.score import Score
from sandbox.runs.tables import RunRow
from vault.database import transaction

ROOT = Path(__file__).parents[1]
ROUNDS, CLIENTS, REQUESTS = 3, 50, 1500
SUBMISSIONS, ACCOUNTS = 10_000, 200
PATHS = ("/leaderboard", "/tasks", "/", "/rotations")
HOUR = 36_000  # what one address may ask for in an hour, with the settings as they come
NOW = datetime(2026, 12, 5, 10, tzinfo=UTC)
GOALS = "Beside the bare route: at least 0.7 of its requests a second, which is a ratio of at most 1.43."


def bench(rounds: int) -> Found:
    """Measure answers and memory."""
    with tempfile.TemporaryDirectory(prefix="quarterturn-bench-") as folder:
        home = filled(Path(folder) / "home")
        refresh = _refresh(home)
        with serving(home) as (url, process):
            token = _token(home)
            lines, tails = answers(url, token, Path(folder), rounds or ROUNDS)
            memory = grown(url, process, rounds)
    return Found(
        about="`quarterturn serve` in a process of its own, with 10,000 submissions of 200 accounts; the client's 50 "
        "connections stay open. " + GOALS,
        lines=lines,
        tables=[tails, memory],
        remarks=[f"A leaderboard of {ACCOUNTS} lines is written again in {refresh:.2g} s; no run is opened for it."],
    )


# -- answers ----------------------------------------------------------------------------------------------------------


def answers(url: str, token: str, folder: Path, rounds: int) -> tuple[list[Line], Table]:
    """Request each page in turns with its floor."""
    lines, tails = [], []
    for what, path in (
        ("the leaderboard as JSON", "/leaderboard"),
        ("the leaderboard's page", "/"),
        ("a page of tasks", "/tasks"),
    ):
        said = httpx2.get(url + path)
        (folder / "body").write_bytes(said.content)
        with floor(folder / "body", said.headers["content-type"]) as bare:
            comparison, ours, theirs = turns(url + path, bare, rounds)
        lines.append(Line(f"{what} ({len(said.content) // 1024} KiB)", "a bare route", comparison, "requests"))
        tails.append((what, *_tail(ours), *_tail(theirs)))
    mine = ask(f"{url}/quota", clients=CLIENTS, requests=REQUESTS // 4, headers={"authorization": f"Bearer {token}"})
    tails.append(("one's quota, with a token", *_tail([mine]), "", ""))
    columns = (f"of {CLIENTS} at a time", "p50 ms", "p99 ms", "bare p50 ms", "bare p99 ms")
    return lines, Table("How long an answer takes.", columns, [dict(zip(columns, row, strict=True)) for row in tails])


def turns(ours: str, bare: str, rounds: int) -> tuple[Comparison, list[Asked], list[Asked]]:
    """Measure the two in turns, after one round that does not count."""
    seen = [[ask(one, clients=CLIENTS, requests=REQUESTS) for one in (ours, bare)] for _ in range(rounds + 1)][1:]
    mine, theirs = ([pair[place] for pair in seen] for place in (0, 1))
    return Comparison(tuple(one.each for one in mine), tuple(one.each for one in theirs)), mine, theirs


def _tail(asked: list[Asked]) -> tuple[str, str]:
    """Return the medians of the rounds' p50 and p99, in milliseconds."""
    typical, slow = (statistics.median(one.quantile(share) for one in asked) for share in (0.5, 0.99))
    return f"{1000 * typical:.3g}", f"{1000 * slow:.3g}"


@contextmanager
def serving(home: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Serve a home without workers."""
    command = [Path(sys.prefix) / "bin" / "quarterturn", "serve", "--home", home, "--port", "0", "--workers", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            said = ""
            while not (found := re.search(r"serving .* at (http://[\w.:]+)", said)):
                if not (line := process.stderr.readline() if process.stderr else ""):
                    raise Failed(f"the service did not start: {said[-300:]}")
                said += line
            yield found[1], process
        finally:
            process.kill()


@contextmanager
def floor(body: Path, media: str) -> Iterator[str]:
    """Serve bytes with nothing around them."""
    command = [sys.executable, ROOT / "bench" / "bare.py", body, media]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            port = process.stdout.readline().strip() if process.stdout else ""
            yield f"http://127.0.0.1:{port}/"
        finally:
            process.kill()


# -- memory -----------------------------------------------------------------------------------------------------------


def grown(url: str, process: subprocess.Popen[str], rounds: int) -> Table:
    """Return the process's memory before and after an hour's requests."""
    requests, rows = rounds * 1000 or HOUR, []
    for part in range(5):
        for path in PATHS if part else ():
            for page in range(10):  # most of them nobody has asked for before
                ask(f"{url}{path}?part={part}.{page}", clients=CLIENTS, requests=requests // 4 // len(PATHS) // 10)
        rows.append((f"{part * requests // 4:,} requests", f"{_resident(process.pid):.1f}"))
    columns = ("after", "MiB")
    return Table("Memory of the serving process.", columns, [dict(zip(columns, row, strict=True)) for row in rows])


def _resident(pid: int) -> float:
    found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) / 1024 if found else 0.0


# -- a home -----------------------------------------------------------------------------------------------------------

FIGURE = Figure(0.5, 20, 0.4, 0.6)
SCORE = Score(FIGURE, FIGURE, FIGURE, FIGURE, attempted=24, passed=12, unknown=0, ranked=True)


def opened(folder: Path) -> Application:
    """Make a home with a live set, as the tests do."""
    sys.path.append(str(ROOT))
    homes = importlib.import_module("tests.quarterturn.conftest")
    return Application(homes.make(folder, tasks=4, live=True), None, lambda: NOW)


def filled(folder: Path) -> Path:
    """Make a home with so many submissions, of which each account's first was private and is scored."""
    house = opened(folder)
    limits = house.home.settings.service.model_copy(update={"requests_per_minute": 10**9})
    (folder / settings.FILE).write_text(settings.dump(house.home.settings.model_copy(update={"service": limits})))
    names = [f"account-{number:03}" for number in range(ACCOUNTS)]
    with transaction(house.home.engine) as session:
        write = session.connection().execute
        write(insert(AccountRow), [_account(name) for name in names])
        write(insert(RunRow), [_run(number + 1, name) for number, name in enumerate(names)])
        write(insert(ExposureRow), [_exposure(number + 1, name) for number, name in enumerate(names)])
        write(insert(ScoreRow), [_score(number + 1) for number in range(ACCOUNTS)])
        write(insert(SubmissionRow), [_submission(number, names[number % ACCOUNTS]) for number in range(SUBMISSIONS)])
    house.close()
    return folder


def _account(name: str) -> dict[str, Any]:
    return {"name": name, "party": name, "created_at": NOW}


def _run(number: int, name: str) -> dict[str, Any]:
    row = RunRow(
        number=number, month="2026-12", track="docker", box="docker", official=True, submitter=name, name=name,
        kind="image", submission="sha256:" + "0" * 64, tasks=24, state="done", attempt=1, opened_at=NOW,
        started_at=NOW, ended_at=NOW,
    )  # fmt: skip
    return row.model_dump()


def _exposure(number: int, name: str) -> dict[str, Any]:
    return {
        "task_id": "t-" + "a" * 16, "skeleton_tag": "0" * 64, "run": number, "month": "2026-12", "submitter": name,
        "channel": "docker", "times": 1, "first_at": NOW, "last_at": NOW,
    }  # fmt: skip


def _score(number: int) -> dict[str, Any]:
    rate = (number * 37 % 181) / 200
    mine = replace(SCORE, success_rate=Figure(rate, 24, max(0, rate - 0.1), min(1, rate + 0.1)))
    return {"run": number, "month": "2026-12", "figures": dict.fromkeys(figures.KEPT, figures.rounded(mine))}


def _submission(number: int, name: str) -> dict[str, Any]:
    private = number < ACCOUNTS
    row = SubmissionRow(
        number=number + 1, id=f"s-{number:016}", account=name, tasks="private" if private else "dev", kind="image",
        reference="sha256:" + "0" * 64, month="2026-12", state="done", attempt=1, run=number + 1 if private else None,
        request_digest="0" * 64, created_at=NOW, started_at=NOW, ended_at=NOW,
    )  # fmt: skip
    return row.model_dump()


def _token(home: Path) -> str:
    house = Application(home, None)
    made = house.auth.accounts.create("account-000", "submitter")[0]
    house.close()
    return made


def _refresh(home: Path) -> float:
    house = Application(home, None, lambda: NOW)
    house.submissions.refresh_view()
    if len(house.runs.leaderboard.of_month(Month.of(NOW))) < ACCOUNTS:
        raise Failed("the leaderboard does not show every account that was scored")
    seconds = _measure_seconds(house.submissions.view.update)
    house.close()
    return rounded(seconds)


def _measure_seconds(what: Callable[[], Any]) -> float:
    start = time.perf_counter()
    what()
    return time.perf_counter() - start
