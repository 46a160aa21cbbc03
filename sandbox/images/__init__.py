"""The images of a world, of the relay and of the shipped agent, and how they are built."""
