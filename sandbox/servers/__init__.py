"""The MCP servers that a world can hold: a folder for each, and their registry."""
