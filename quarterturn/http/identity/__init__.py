"""Who asks: bearer tokens, and signing in with a browser."""
