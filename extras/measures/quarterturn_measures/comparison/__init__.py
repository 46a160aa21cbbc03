"""Comparison of MCP servers: the same agent on the same tasks, with each server alone and with a baseline."""
