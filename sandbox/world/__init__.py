"""The runner's half of a world: frames on one channel, and the frozen state that comes out of it."""
