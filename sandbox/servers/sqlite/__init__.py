"""The SQLite MCP server: manifest, mutations and recorded tools."""
