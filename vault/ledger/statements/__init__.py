"""Leaves of the log: in-toto Statements as canonical JSON, and the replay of what they state."""
