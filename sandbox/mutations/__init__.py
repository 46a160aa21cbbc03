"""What agents get wrong, as changes to a right final state: the mutants that nobody has to write.

Two kinds, for every server and for the answer:

- *broken*: each conjunct of a predicate is made false in turn, by one change that does it for sure.
- *mistakes*: what an agent typically does instead of the right thing, from the difference between the state before and
  the state after: an effect left out, the right content in the wrong place, wrong case, off by one, a row too many.

A change is in its server's own language (`Server.mutations`). Nothing here runs a predicate: `sandbox.runs.prover`
does.
"""
