"""MCP servers that a home adds to the shipped ones: their files, their installation and their records."""
