"""The email MCP server: manifest, schema, mutations proposed and applied, backend and recorded tools."""
