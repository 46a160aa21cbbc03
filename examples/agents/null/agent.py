"""The null agent: it does nothing at all.

A task that this agent passes asks for nothing. Admission refuses such tasks, and on a leaderboard it is the floor.
"""
