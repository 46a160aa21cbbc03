"""Images of the world, the relay and the shipped agent, and how they are built."""
