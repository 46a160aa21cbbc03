"""Hosted endpoints: a submission that its owner runs, is sent each task, and calls the tools back from there."""
