"""Building blocks of predicates: the registry, the context of an evaluation, and equality of values."""
