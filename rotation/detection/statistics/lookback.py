"""How far back a detector's test reads."""

LOOKBACK = 6
"""Rotations whose results a test reads, its own included.

Tasks live for four rotations, so all results of a task that is tested lie within. What came before tells almost nothing
(`docs/reference/detection.md` has the figures), and a test costs the same in any later month.
"""
