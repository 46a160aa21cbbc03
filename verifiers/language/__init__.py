"""The language of predicates: parsing, three values, evidence, and the catalogue."""
