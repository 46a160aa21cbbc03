"""Results of attempts: failure classes, outcomes, scores and their intervals."""
