"""The git MCP server: manifest, schema, mutations and recorded tools."""
