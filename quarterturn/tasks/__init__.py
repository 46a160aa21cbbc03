"""Review of tasks, the report on a grammar, and states given as files."""
