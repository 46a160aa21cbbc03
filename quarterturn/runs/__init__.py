"""Runs on public tasks and on the private set, worker jobs, and the executors that take them."""
