"""The audit of a release and of a followed log: standard library and `cryptography` only."""
