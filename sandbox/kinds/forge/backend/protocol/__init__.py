"""HTTP side of the emulator: requests and responses on a unix socket, GitHub's errors and URLs."""
