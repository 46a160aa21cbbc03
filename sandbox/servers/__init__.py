"""The MCP servers that a world can hold."""
