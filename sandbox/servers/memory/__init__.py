"""The memory MCP server: manifest, mutators, mutations and recorded tools."""
