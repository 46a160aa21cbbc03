"""Where tasks come from: templates, draws, admission and review.

The doors: `load.load`, `sample.sample`, `sample.skeletons`, `admission.admit`, `coverage.check`, `review`, and
`store.Drafts`. Grammars are data (`library/`), never code. What admission needs executed is asked of a
`prover.Prover`; this room starts no process and knows no server.
"""
