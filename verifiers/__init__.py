"""What success means: predicates over a frozen state, with evidence."""
