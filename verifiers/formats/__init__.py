"""Parsers that several state kinds share: plain JSON, tar, snapshots."""
