"""The parts of the official box (`sandbox.boxes.docker.box`): what is asked of an engine, and what is made with it."""
