"""The parts of the official box (`sandbox.docker_box`): what is asked of an engine, and what is made with it."""
