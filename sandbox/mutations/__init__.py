"""Mutations of a right final state, made automatically: the typical errors of agents, per server and for the answer.

Two kinds, for every server and for the answer:

- *broken*: each conjunct of a predicate is made false in turn, by one change that certainly does it.
- *mistake*: what an agent typically does instead of the right thing, from the difference between the state before and
  the state after: an effect left out, the right content in the wrong place, wrong case, off by one, a row too many.

A change is written in its server's change format (`Server.mutations`). Nothing here evaluates a predicate:
`sandbox.runs.prover` does.
"""
