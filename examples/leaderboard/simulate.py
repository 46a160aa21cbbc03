"""Writes results.csv, a simulated leaderboard: 20 agents, 120 tasks, 60 of them published up to 2024-06-30.

Two agents stand on one base, `base-a`, and know three of five old tasks, which they pass. The other 18 know none. All
differ in ability, tasks in difficulty; the newer agents are no better on old tasks than on new ones.
"""

import csv
import math
import random
from datetime import date, timedelta
from pathlib import Path

AGENTS, TASKS, OLD = 20, 120, 60
SHARE = 0.6  # of the old tasks, which is known
KNOWING = ("agent-07", "agent-16")

dice = random.Random(11)  # noqa: S311 - a simulation
first = date(2024, 1, 1)
days = [first + timedelta(days=3 * number + (2 if number >= OLD else 0)) for number in range(TASKS)]
difficulty = [dice.gauss(0, 1.3) for _ in range(TASKS)]
with (Path(__file__).parent / "results.csv").open("w", newline="", encoding="utf-8") as file:
    table = csv.writer(file, lineterminator="\n")
    table.writerow(["agent", "task", "day", "passed", "group"])
    for number in range(1, AGENTS + 1):
        agent, ability = f"agent-{number:02}", dice.gauss(-0.5, 0.8)
        group = "base-a" if agent in KNOWING else ("base-b", "base-c", "")[number % 3]
        for task in range(TASKS):
            known = agent in KNOWING and task < OLD and dice.random() < SHARE
            passed = known or dice.random() < 1 / (1 + math.exp(difficulty[task] - ability))
            table.writerow([agent, f"task-{task + 1:03}", days[task], str(passed).lower(), group])
