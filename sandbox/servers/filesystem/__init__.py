"""The filesystem MCP server: manifest, mutations and recorded tools."""
