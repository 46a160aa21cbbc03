"""Sandbox: runs a submission in isolation, judges the result and scores it."""
