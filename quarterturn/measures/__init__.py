"""Measures of public runs: figures, failure profile and root causes, from public records alone."""
