"""The spreadsheet MCP server: manifest, schema, mutators, mutations and recorded tools."""
