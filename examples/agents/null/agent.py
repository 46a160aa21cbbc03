"""The null agent: it asks for its task, and does nothing about it.

A task that this agent passes asks for nothing. Admission refuses such tasks, and on a leaderboard it is the floor.
"""

import os
import urllib.request

URL = os.environ.get("QUARTERTURN_URL", "http://127.0.0.1:8700")

urllib.request.urlopen(f"{URL}/task").read()  # noqa: S310 - the gateway's loopback
