"""The filesystem MCP server: manifest, mutations proposed and applied, and recorded tools."""
