"""What a predicate is made of: its registry entry, the context of one evaluation, and equality of values."""
