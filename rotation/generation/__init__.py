"""Generation and import of tasks: what is drawn, what it may not resemble, and what comes through the gates."""
