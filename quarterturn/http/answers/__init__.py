"""Answers: problems, shapes, limits, caching, and the public view as it is read."""
