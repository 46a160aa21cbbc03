"""Importers: tasks of other benchmarks, read from their own files into drafts; nothing of theirs is ever run."""
