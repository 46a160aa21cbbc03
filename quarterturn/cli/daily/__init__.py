"""Verbs of daily work: runs, tasks, the turn, the leaderboard, findings."""
