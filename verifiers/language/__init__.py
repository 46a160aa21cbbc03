"""The predicate language: parser, three-valued evaluation, evidence, and the catalogue."""
