"""Authentication: bearer tokens, and sign-in with a browser."""
