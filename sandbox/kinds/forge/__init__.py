"""The GitHub MCP server: manifest, schema, seed, mutations proposed and applied, its emulator, recorded tools."""
