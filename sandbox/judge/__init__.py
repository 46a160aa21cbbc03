"""Readers and judges: the processes between what an agent leaves and the process that holds the keys."""

from __future__ import annotations

from sandbox.judge.asking import Question
from sandbox.judge.judging import JUDGING, WORKER, Judgement, Judging
from sandbox.judge.process import Broke

__all__ = ["JUDGING", "WORKER", "Broke", "Judgement", "Judging", "Question"]
