"""Release of a retired month: the bundle, its openings, and the signatures of a turn."""
