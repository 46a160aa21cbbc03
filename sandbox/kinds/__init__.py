"""State kinds on the side of the sandbox: how a task seeds a state, and how its final state is mutated."""
