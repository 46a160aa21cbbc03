"""Programs that try to get out of an agent's place; they run inside it, with the standard library and nothing else."""
