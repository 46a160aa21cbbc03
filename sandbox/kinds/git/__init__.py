"""The git MCP server: manifest, schema, seed, mutations proposed and applied, and recorded tools."""
