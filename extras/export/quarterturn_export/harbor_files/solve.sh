#!/bin/sh
# Plays the reference solution through the MCP server, as an agent would.
exec python3 "${SOLUTION:-/solution}/solve.py"
