"""How verbs speak: options, output, exit codes, and secrets from the environment or a prompt."""
