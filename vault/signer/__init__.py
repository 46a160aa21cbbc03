"""Signer: the process that holds the log's signing key, and its client."""
