"""Measures of a run beyond its score: what the calls were worth, and why a task failed. Pure.

`table` names every measure of a run; `played_task` computes what it needs of one task. The formulas are a module each.
All arithmetic is in exact fractions, and a measure of nothing is None.
"""
