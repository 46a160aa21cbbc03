"""Terminal layer of the verbs: options, output, exit codes and secrets."""
