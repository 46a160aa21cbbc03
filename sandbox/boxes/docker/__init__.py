"""Parts of the Docker box (`sandbox.boxes.docker.box`): the engine client, and what is made with it."""
