"""Tests of the monthly clock inside the service: one process serves and turns, and reports metrics."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from quarterturn.app import Application

from ...patience import PATIENCE

QUARTERTURN = Path(sys.prefix) / "bin" / "quarterturn"


def test_the_metrics_say_when_the_next_turn_is_due_and_which_notices_are_unsent(site):
    site.house.monthly_clock.look()
    said = site.get("/metrics", "runner").text
    assert "quarterturn_next_turn_seconds 1798761600" in said  # 2027-01-01
    assert "quarterturn_turn_overdue 0" in said
    assert "# TYPE quarterturn_notices_given_up gauge" in said
    assert re.search(r'quarterturn_notices_unsent\{channel="log"\} \d', said) or not site.house.outbox.posted()


def started_over(home: Path, month: str) -> Path:
    """Move the start of a stocked home to another month."""
    settings = home / "quarterturn.toml"
    settings.write_text(re.sub(r'first_month = "[\d-]+"', f'first_month = "{month}"', settings.read_text()))
    return home


@pytest.mark.slow
def test_a_service_turns_what_is_due_and_says_so_in_its_log(stocked):
    started_over(stocked, "2026-09")  # the first two turns have their tasks, the third lacks some
    command = [QUARTERTURN, "serve", "--home", stocked, "--port", "0", "--workers", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    alarm = threading.Timer(PATIENCE, process.kill)
    alarm.start()
    lines = []
    try:
        for line in process.stderr:
            lines.append(json.loads(line))
            if "is overdue since" in lines[-1]["event"]:
                process.send_signal(signal.SIGTERM)
                break
        rest = process.stderr.read()
    finally:
        process.kill()
        process.wait()
        alarm.cancel()
        process.stderr.close()
    lines += [json.loads(line) for line in rest.splitlines()]
    events = [line["event"] for line in lines]
    assert any(event.startswith(f"serving {stocked} at http://127.0.0.1:") for event in events)
    assert "the turn of 2026-08 begins" in events
    assert next(event for event in events if event.startswith("The turn of")).startswith(
        "The turn of 2026-10 is overdue"
    )
    assert "The turn of 2026-09 is done: 2026-10 is live." in events
    overdue = next(line for line in lines if "is overdue since" in line["event"])
    assert (overdue["level"], overdue["logger"]) == ("warning", "quarterturn.notices")
    house = Application(stocked, None)
    assert [str(turn.month) for turn in house.months.turns()] == ["2026-08", "2026-09"]
    house.close()
