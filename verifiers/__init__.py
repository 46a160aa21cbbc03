"""Success predicates over the frozen final state of a run, with evidence."""
