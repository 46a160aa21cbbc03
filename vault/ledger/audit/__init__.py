"""Audit of release bundles and monitor of a log; imports only the standard library and `cryptography`."""
