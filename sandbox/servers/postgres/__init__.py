"""The PostgreSQL MCP server: manifest, schema, mutators, mutations, backend and recorded tools."""
