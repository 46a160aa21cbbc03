"""The spreadsheet MCP server: manifest, schema, mutations proposed and applied, and recorded tools."""
