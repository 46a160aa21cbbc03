"""Rules about git repositories."""

from __future__ import annotations

from rulebook import Stuck, Tools, rule


@rule(r"repository <repo:REPO>, make a branch (?P<branch>\S+) that starts at (?P<base>\S*\w)")
async def new_branch(tools: Tools, repo: str, branch: str, base: str) -> None:
    """Make a branch."""
    await tools("git__git_create_branch", repo_path=repo, branch_name=branch, base_branch=base)


@rule(r"repository <repo:REPO>, how many files are staged")
async def staged(tools: Tools, repo: str) -> str:
    """Count what the status lists as staged."""
    status = await tools("git__git_status", repo_path=repo)
    _, _, staged = status.partition("Changes to be committed:\n")
    lines = staged.partition("\n\n")[0].splitlines()
    return str(sum(line.startswith("\t") for line in lines))


@rule(r"repository <repo:REPO>, how many files does the folder <folder:WORD> hold at the tag (?P<tag>\S*\w)")
async def files_at_tag(tools: Tools, repo: str, folder: str, tag: str) -> str:
    """Count the files in a folder as it was."""
    return str(len((await show(tools, repo, f"{tag}:{folder}")).split()))


@rule(r"prepare (?P<new>release/\S*\w) in <repo:REPO>: find the feature branch (?P<test>.*?);(?P<more>.*)")
@rule(r"<repo:REPO>.* find the feature branch (?P<test>\S.*?)[,.] .*branch (?P<new>release/\S*\w)(?P<more>.*)")
async def release(tools: Tools, repo: str, new: str, test: str, more: str) -> str | None:
    """Find a branch by what is in it, and branch off there."""
    for branch in await branches(tools, repo):
        if branch.startswith("feature/") and await passes(tools, repo, branch, test):
            await new_branch(tools, repo, new, branch)
            if "Check the new branch out" in more:
                await tools("git__git_checkout", repo_path=repo, branch_name=new)
            return branch if "answer with the name" in more else None
    raise Stuck(f"there is no branch {test}")


async def passes(tools: Tools, repo: str, branch: str, test: str) -> bool:
    """Say whether a branch is the one that a sentence describes."""
    *_, what, verb, value = test.split()
    if verb == "says":
        return (await show(tools, repo, f"{branch}:{what}")).strip() == value
    if verb == "file":
        folder, _, name = value.rpartition("/")
        return name in (await show(tools, repo, f"{branch}:{folder}")).split()
    raise Stuck(f"what does a branch look like {test}?")


@rule(r'<repo:REPO>.*branch feature/NAME whose file STATUS (has the line "(?P<line>.+?)"|names <owner:WORD> as owner)')
async def back_up(tools: Tools, repo: str, line: str | None, owner: str | None) -> None:
    """Put a second branch beside those whose STATUS says so."""
    for branch in await branches(tools, repo):
        kind, _, name = branch.partition("/")
        if kind == "feature" and (line or f"owner: {owner}") in (await show(tools, repo, f"{branch}:STATUS")).split(
            "\n"
        ):
            await new_branch(tools, repo, f"keep/{name}", branch)


async def branches(tools: Tools, repo: str) -> list[str]:
    """List the local branches."""
    listed = await tools("git__git_branch", repo_path=repo, branch_type="local")
    return [line[2:] for line in listed.splitlines()]


async def show(tools: Tools, repo: str, revision: str) -> str:
    """Show a file as it is on a branch."""
    return await tools("git__git_show", repo_path=repo, revision=revision)
