"""Submissions: what submitters can ask for, what they are told, and the traces of their runs."""
