"""State kinds of MCP servers: a folder for each, with its schema, seed, mutations and backend, and their registry."""
