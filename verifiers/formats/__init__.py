"""Parsers that readers of several state kinds share: plain JSON, tar, snapshots."""
