"""Storage of the emulator: `state.json`, bare git repositories, and what is computed from them."""
