"""What an attempt came to: failure classes, outcomes, scores and their intervals."""
