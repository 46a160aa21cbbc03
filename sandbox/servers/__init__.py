"""The MCP servers that a world can hold: manifests, recorded tools, and their registry."""
