"""Replay of a transcript: its calls are played in a fresh world without an agent, and what they leave is compared.

A runner that was taken over can hand in a state that its agent's calls do not lead to. Only calls that reached a server
are played, as a script, by a player of servings whose process holds no key. Nothing of a state is read here: readers
and judges compare normal forms.

Servers write what is new each time: times, random ids, the name of a commit. So where the states differ, the calls are
played once more. What was handed in differs where it and a replay have other differences than two replays have, by kind
of change and changed fields; where they have the same, nothing can be said. An invented transcript whose calls do lead
to the state is not noticed.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from enum import StrEnum
from typing import TypeAlias

from sandbox.boxes.box import ResourceLimits
from sandbox.errors import SandboxError
from sandbox.judge import JudgeFailed, Question, StateJudge
from sandbox.results.unjudged import UnjudgedResult
from sandbox.runs.job import new_alias
from sandbox.runs.task_world import initial_state_of, question_of, servers_of, specify
from sandbox.servings.player import ServingPlayer
from sandbox.servings.serving import Serving
from sandbox.transcript import ToolCall, Transcript
from sandbox.world.frozen import FrozenState
from vault.task.document import Task

REPLAY_SECONDS = 300.0
"""For all calls of a transcript; agents may have had longer, and spent it on other things."""
CLOCK_SECONDS = 1.0
"""Between two replays, so that a server's clock, which shows seconds, has moved."""
TRIES = 2
"""How often calls are played where a world or a server of ours breaks."""

Change: TypeAlias = tuple[str, str, frozenset[str], frozenset[str]]
"""A namespace, a kind of change, and the fields that an item had before and has after it."""


class ReplayResult(StrEnum):
    """What a replay came to."""

    SAME = "same"
    DIFFERS = "differs"
    NOT_COMPARABLE = "not-comparable"
    NOT_PLAYED = "not-played"


def replay(player: ServingPlayer, judging: StateJudge, task: Task, left: UnjudgedResult) -> ReplayResult:
    """Play the calls of a transcript again, and compare what they leave with what was handed in."""
    question = question_of(task)
    if (first := _play(player, task, left.transcript)) is None:
        return ReplayResult.NOT_PLAYED
    between = _changes(judging, question, left.state, first)
    if between is not None and not between:
        return ReplayResult.SAME
    if left.facts.servers_missed or left.transcript.ended == "time-exceeded":
        return ReplayResult.NOT_COMPARABLE  # a call was cut off, and nobody knows how far its server came
    time.sleep(CLOCK_SECONDS)
    if (second := _play(player, task, left.transcript)) is None:
        return ReplayResult.NOT_PLAYED
    between_replays = _changes(judging, question, first, second)
    is_like_replays = between_replays is None or between == between_replays
    return ReplayResult.NOT_COMPARABLE if is_like_replays else ReplayResult.DIFFERS


def _scripted(task: Task, transcript: Transcript) -> Serving:
    """Return the serving that a task was, with the calls that reached its servers in the place of an agent.

    Scheduled faults are left out, for the calls that met one reached no server.
    """
    script = [ToolCall(call.tool, call.arguments) for call in transcript.calls if call.passed_on]
    servers = servers_of(task.document)
    session = specify(task, alias=new_alias(), wall=REPLAY_SECONDS, servers=servers, script=script)
    return Serving(
        handle=f"s-{secrets.token_hex(16)}",
        session=replace(session, faults=()),
        initial_state=initial_state_of(task.document),
        program=None,
        agent=ResourceLimits(wall=REPLAY_SECONDS),
    )


def _play(player: ServingPlayer, task: Task, transcript: Transcript) -> FrozenState | None:
    """Return what the calls leave; None where they cannot all be played."""
    for _ in range(TRIES):
        with suppress(SandboxError, OSError):
            serving = _scripted(task, transcript)
            prepared = player.prepare(serving)
            try:
                hand_in = prepared.play(lambda: None, threading.Event())
            finally:
                prepared.close()
            played = len(hand_in.transcript.calls) if hand_in.transcript else 0
            if hand_in.state is not None and played == len(serving.session.script or ()):
                return hand_in.state
    return None


def _changes(judging: StateJudge, question: Question, one: FrozenState, other: FrozenState) -> Counter[Change] | None:
    """Count how two states differ, of all servers of a task; None where one of them cannot be read."""
    try:
        differences = judging.differences(question, one, other)
    except (SandboxError, JudgeFailed):
        return None
    if any(difference.unknown for difference in differences.values()):
        return None
    changes: Counter[Change] = Counter()
    for namespace, difference in differences.items():
        for change in difference.changes:
            changes[namespace, change.kind, frozenset(change.before), frozenset(change.after)] += 1
        if difference.left_out:
            changes[namespace, "left out", frozenset(), frozenset()] = difference.left_out
    return changes
