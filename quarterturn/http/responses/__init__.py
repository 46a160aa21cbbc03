"""Responses: problems, models, limits, caching, and the public files that are served."""
