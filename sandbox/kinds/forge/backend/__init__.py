"""Emulator of the part of GitHub's REST API that the pinned MCP server calls, over real bare git repositories.

It runs inside a world where nothing else is installed, so it uses only the standard library and the program git. Git's
objects lie in `repositories/<owner>/<name>.git`, all else in `state.json`. It promises what GitHub's own description of
its API says of each answer (the tests check every answer against it), dates that only depend on what was done before,
and that the state on the disk is whole after every request. What it leaves out is in docs/adr/archive.md.
"""
