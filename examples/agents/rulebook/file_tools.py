"""Operations on files with the tools of several MCP servers: what a rule needs, and which calls that is with each.

A server is recognised by the tools that the task lists, whatever it is called there. With a shell, which is the
baseline of a comparison of servers, each operation is one command.
"""

from __future__ import annotations

from rulebook import Stuck, Tools

SHELL, SHELL_LISTS_FOLDERS = "shell_execute", "/"


async def read(tools: Tools, path: str) -> str:
    """Read a text file."""
    if shell := listed(tools, SHELL):
        return await tools(shell, command=["cat", path])
    return await tools(first_listed(tools, "read_text_file", "read_file"), path=path)


async def write(tools: Tools, path: str, lines: list[str]) -> None:
    """Write lines into a file."""
    text = "".join(f"{line}\n" for line in lines)
    if shell := listed(tools, SHELL):
        await tools(shell, command=["tee", path], stdin=text)
    else:
        await tools(first_listed(tools, "write_file"), path=path, content=text)


async def move(tools: Tools, source: str, destination: str) -> None:
    """Give a file another path."""
    if shell := listed(tools, SHELL):
        await tools(shell, command=["mv", source, destination])
    else:
        await tools(first_listed(tools, "move_file"), source=source, destination=destination)


async def make_folder(tools: Tools, path: str) -> None:
    """Make a folder."""
    if shell := listed(tools, SHELL):
        await tools(shell, command=["mkdir", "-p", path])
    else:
        await tools(first_listed(tools, "create_directory"), path=path)


async def names(tools: Tools, folder: str, ending: str = "") -> list[str]:
    """List the files in a folder."""
    if shell := listed(tools, SHELL):
        lines = (await tools(shell, command=["ls", "-p", folder])).splitlines()
        files = [line for line in lines if line and not line.endswith(SHELL_LISTS_FOLDERS)]
    else:
        lines = (await tools(first_listed(tools, "list_directory"), path=folder)).splitlines()
        files = [line.removeprefix("[FILE] ") for line in lines if line.startswith("[FILE] ")]
    return [name for name in files if name.endswith(ending)]


async def find_line(tools: Tools, folder: str, line: str) -> str:
    """Find the file of a folder that has a line, and cite it as PATH:NUMBER."""
    if shell := listed(tools, SHELL):
        path, number, *_ = (await tools(shell, command=["grep", "-rnFx", line, folder])).split(":")
        return f"{path}:{number}"
    for name in await names(tools, folder):
        lines = (await read(tools, f"{folder}/{name}")).splitlines()
        if line in lines:
            return f"{folder}/{name}:{lines.index(line) + 1}"
    raise Stuck(f"no file of {folder} has the line")


def listed(tools: Tools, name: str) -> str | None:
    """Return the listed tool of a name, with its server's name before it; None where there is none."""
    return next((tool for tool in sorted(tools.names) if tool.partition("__")[2] == name), None)


def first_listed(tools: Tools, *names: str) -> str:
    """Return the first of several tools that is listed.

    Raises:
        Stuck: none of them is.
    """
    for name in names:
        if tool := listed(tools, name):
            return tool
    raise Stuck(f"there is no tool {' or '.join(names)} for this")
