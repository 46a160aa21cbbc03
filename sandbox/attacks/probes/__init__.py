"""Escape attempts: programs that run inside an agent's place, with the standard library and nothing else."""
