"""Task generation: grammars (templates as data), sampling of drafts, admission by execution, and review.

Entry points: `load.load`, `sample.sample`, `sample.skeletons`, `admission.admit`, `coverage.check`, `review`, and
`store.Drafts`. Grammars are data (`library/`), never code. A `prover.Prover` executes what admission needs; this
package starts no process and knows no server.
"""
