"""The monthly turn: promise, publish, attest."""
