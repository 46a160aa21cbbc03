"""State kind: one JSON document (`state.json`)."""
