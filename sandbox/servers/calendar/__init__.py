"""The calendar MCP server: manifest, schema, mutators, mutations, backend and recorded tools."""
