"""The GitHub MCP server: manifest, schema, seed, mutators, mutations, emulator of its API and recorded tools."""
