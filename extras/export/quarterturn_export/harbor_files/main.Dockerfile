# The agent's container: nothing of the task but its instruction. It shares the network of the service `world`.
FROM python:3.12-slim-bookworm
WORKDIR /app
