"""Playing tasks: one attempt, one task, a whole set; and the store of runs."""
