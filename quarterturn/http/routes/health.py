"""Routes for liveness, readiness and metrics (Prometheus' text format, version 0.0.4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from fastapi import APIRouter, Request, Response

from quarterturn.http.dependencies.services import Calendar, Health, Outbox, Queue
from quarterturn.http.responses import json_responses, models
from quarterturn.http.responses.problems import Problem
from quarterturn.submissions.store.queue import QueueMetrics
from vault.errors import VaultError

router = APIRouter(tags=["health"])

MEDIA = "text/plain; version=0.0.4; charset=utf-8"


@router.get("/healthz", response_model=models.State, name="healthz")
def healthz() -> Response:
    """Say that the process answers."""
    return json_responses.plain({"ok": True})


@router.get("/readyz", response_model=models.Readiness, name="readyz")
def readyz(health: Health) -> Response:
    """Check that the database and the log can be used, and say whether the public view is behind what they hold."""
    try:
        health.require()
        behind = health.is_view_behind()
    except (VaultError, OSError):
        raise Problem("unavailable") from None
    return json_responses.plain({"ok": True, "behind": behind})


@router.get("/metrics", response_class=Response, responses=models.content("text/plain"), name="metrics")
def metrics(request: Request, queue: Queue, health: Health, calendar: Calendar, outbox: Outbox) -> Response:
    """Return the metrics; none of them tells of a task or names an account."""
    counts: Counter[tuple[str, str, int]] = request.app.state.counts
    requests = (
        ({"route": route, "method": method, "status": str(status)}, count)
        for (route, method, status), count in sorted(counts.items())
    )
    lines = [
        *_metric("quarterturn_requests_total", "counter", "Requests answered.", requests),
        *_metric("quarterturn_log_leaves", "gauge", "Leaves under the signed head.", [({}, health.leaves)]),
    ]
    lines += [*_of_the_queue(queue.metrics()), *_of_the_clock(calendar, outbox), *_of_the_machines(health)]
    return Response(
        "\n".join([*lines, ""]).encode(), media_type=MEDIA, headers={"cache-control": json_responses.PRIVATE}
    )


def _of_the_queue(queue: QueueMetrics) -> Iterator[str]:
    states = [({"state": "queued"}, queue.waiting), ({"state": "running"}, queue.running)]
    yield from _metric("quarterturn_submissions", "gauge", "Submissions that are waiting or running.", states)
    age_text = "How long the oldest waiting one has waited."
    yield from _metric("quarterturn_queue_age_seconds", "gauge", age_text, [({}, round(queue.age_seconds))])
    outcomes = [({"outcome": outcome}, count) for outcome, count in sorted(queue.outcomes.items())]
    help_text = "How the newest 1,000 submissions ended: done, or a failure code."
    yield from _metric("quarterturn_recent_runs", "gauge", help_text, outcomes)
    seconds = queue.run_seconds
    shares = [({"quantile": str(share)}, round(seconds[int(share * len(seconds))])) for share in (0.5, 0.95) if seconds]
    yield from _metric("quarterturn_recent_run_seconds", "gauge", "How long they took.", shares)


def _of_the_machines(health: Health) -> Iterator[str]:
    free = [({"folder": "home"}, health.free_bytes())]
    yield from _metric("quarterturn_disk_free_bytes", "gauge", "Free bytes of the home's disk.", free)
    if (alive := health.runners_alive()) is not None:
        yield from _metric("quarterturn_runners_alive", "gauge", "Runners heard of lately.", [({}, alive)])


def _of_the_clock(calendar: Calendar, outbox: Outbox) -> Iterator[str]:
    _, due = calendar.next()
    overdue, posted = int(calendar.is_due()), outbox.posted()
    channels = sorted({notice.channel for notice in posted})
    waiting = Counter(notice.channel for notice in posted if not notice.sent and not notice.given_up)
    lost = Counter(notice.channel for notice in posted if notice.given_up)
    yield from _metric(
        "quarterturn_next_turn_seconds", "gauge", "When the next turn is due, Unix time.", [({}, int(due.timestamp()))]
    )
    yield from _metric("quarterturn_turn_overdue", "gauge", "Whether the next turn is overdue.", [({}, overdue)])
    for name, counted, help_text in (
        ("quarterturn_notices_unsent", waiting, "Notices that will be retried."),
        ("quarterturn_notices_given_up", lost, "Notices that were given up."),
    ):
        yield from _metric(name, "gauge", help_text, [({"channel": channel}, counted[channel]) for channel in channels])


def _metric(name: str, kind: str, what: str, values: Iterable[tuple[Mapping[str, str], int]]) -> Iterator[str]:
    yield f"# HELP {name} {what}"
    yield f"# TYPE {name} {kind}"
    for labels, value in values:
        label_text = ",".join(f'{key}="{text}"' for key, text in labels.items())
        yield f"{name}{{{label_text}}} {value}" if label_text else f"{name} {value}"
