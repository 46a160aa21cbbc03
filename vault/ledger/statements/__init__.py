"""The log's leaves: in-toto Statements as canonical JSON, and what they say when they are replayed."""
