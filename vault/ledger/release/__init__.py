"""A retired month as files: the bundle, what it opens, and the signatures of a turn."""
