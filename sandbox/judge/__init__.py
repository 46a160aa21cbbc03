"""Readers and judges: the processes between what an agent leaves and the process that holds the keys."""

from __future__ import annotations

from sandbox.judge.judge_requests import Question
from sandbox.judge.process import JudgeFailed
from sandbox.judge.state_judge import JUDGING, MAX_DOCUMENT, WORKER, Judgement, MutatedCase, StateJudge

__all__ = ["JUDGING", "MAX_DOCUMENT", "WORKER", "JudgeFailed", "Judgement", "MutatedCase", "Question", "StateJudge"]
