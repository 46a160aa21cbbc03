"""What a month is made of: sets, cohorts, draws, and their rows."""
