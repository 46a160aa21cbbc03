"""Conversion of one task: what came of it, what did not and why, and its draft in the form of `task import`.

A task is *whole* where every condition of its verifier has a predicate, *partly* converted where some have, and *not*
where none has. No peer has reference solutions: one is derived where the predicate itself says what must be written,
and is kept only if the predicate holds on the state that it leaves; otherwise the maintainer writes it.
"""

from __future__ import annotations

import base64
import hashlib
import posixpath
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from quarterturn_import.importers.formula import Formula
from vault.canonical import canonical
from vault.task.document import SPEC_VERSION
from verifiers.errors import VerifierError
from verifiers.language.in_process import judge
from verifiers.language.predicate import namespaces, parse, probes
from verifiers.language.verdict import Verdict
from verifiers.tree import JudgeInput, tree_of

Outcome: TypeAlias = Literal["whole", "partly", "not"]
FEWEST_TOOLS, MOST_TOOLS = 12, 18
FOLDER = "/data/files"
DIFFICULTIES = {"l1": "easy", "l2": "medium", "l3": "hard", "easy": "easy", "medium": "medium", "hard": "hard"}


@dataclass(frozen=True, slots=True)
class SourceTask:
    """A task of a peer as far as it was read.

    Attributes:
        name: how the report calls it.
        goal: what the agent is told; empty where it was not found.
        formula: the conditions.
        state: the initial state, one part a server; None where the file does not have it.
        reasons: conditions that were not understood, or what is wrong with the file; each names its place.
        difficulty: the peer's word for it, if it has one.
        server: the server that it is counted under; empty where its predicate says which.
        solution: the calls of a reference solution, if the file has one.
    """

    name: str
    goal: str
    formula: Formula
    state: Mapping[str, Any] | None = None
    reasons: Sequence[str] = ()
    difficulty: str = ""
    server: str = ""
    solution: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Conversion:
    """What came of one task.

    Attributes:
        name: the task's.
        outcome: whole, partly or not.
        reasons: what did not come, and why.
        missing: what the maintainer has still to write: the initial state, a solution.
        line: its draft; None where nothing came.
    """

    name: str
    outcome: Outcome
    reasons: tuple[str, ...]
    missing: tuple[str, ...] = ()
    line: Mapping[str, Any] | None = field(default=None, repr=False)


def convert(source: SourceTask, tools: Mapping[str, Sequence[str]]) -> Conversion:
    """Make a draft of a task.

    Args:
        source: the task as it was read.
        tools: the tools of each server, without its name.
    """
    reasons = [*source.reasons]
    if not source.goal.strip():
        reasons.append(f"{source.name}: no goal was found")
    if isinstance(source.formula, bool):
        always = "whatever the state is" if source.formula else "on no state"
        nothing = () if reasons else (f"{source.name}: no condition came of it: it would hold {always}",)
        return Conversion(source.name, "not", (*reasons, *nothing))
    try:
        predicate = parse(source.formula)
    except VerifierError as error:
        return Conversion(source.name, "not", (*reasons, f"{source.name}: {error}"))
    servers = sorted(namespaces(predicate) - {"answer"})
    server = source.server or (servers[0] if servers else "filesystem")
    missing = [] if source.state is not None else ["the initial state"]
    state = dict(source.state or {})
    solution = source.solution or derived_solution(source.formula, state)
    if solution is None:
        missing.append("a reference solution")
    document = _document(source, server, servers, state, tools)
    calls = [] if solution is None else [{"name": "reference", "answer": None, **solution}]
    provenance: dict[str, Any] = {"template": source.name[:200], "skeleton": source.name[:200], "solutions": calls}
    provenance["mutants"] = []
    if reasons:
        provenance["partial"] = reasons
    return Conversion(
        source.name,
        "partly" if reasons else "whole",
        tuple(reasons),
        tuple(missing),
        {"task": document, "provenance": provenance},
    )


def _document(
    source: SourceTask,
    server: str,
    servers: Sequence[str],
    state: Mapping[str, Any],
    tools: Mapping[str, Sequence[str]],
) -> dict[str, Any]:
    document = {
        "schema": "quarterturn/task/v1",
        "spec": SPEC_VERSION,
        "server": server,
        "category": "composition" if len(servers) > 1 else "single-tool",
        "difficulty": DIFFICULTIES.get(source.difficulty.lower(), "medium"),
        "max_steps": 50,
        "goal": source.goal.strip()[:20_000] or "(no goal was found)",
        "initial_state": state,
        "available_tools": _listed([server, *servers, *state], tools),
        "success_predicate": source.formula,
    }
    digest = hashlib.sha256(canonical({"name": source.name, "task": document})).digest()
    return {"id": "t-" + base64.b32encode(digest).decode().lower()[:16], **document}


def _listed(servers: Sequence[str], tools: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the tools of a task: those of its servers in turn, and others where they are too few."""
    needed = list(dict.fromkeys(name for name in servers if name in tools))
    share = MOST_TOOLS // max(1, len(needed))
    names = [f"{server}.{tool}" for server in needed for tool in tools[server][:share]]
    if len(names) < FEWEST_TOOLS:
        names += [f"{server}.{tool}" for server in sorted(tools) if server not in needed for tool in tools[server]]
        names = names[:FEWEST_TOOLS]
    return names


def derived_solution(formula: Formula, state: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the calls that a predicate over files implies, if it certainly holds after them.

    Only a conjunction of files with whole texts or lines and of folders implies its solution. The calls are played on
    the initial files here, and the predicate is judged on what they leave.
    """
    parts = formula["all"] if isinstance(formula, Mapping) and "all" in formula else [formula]
    texts, folders = _implied(part for part in parts if isinstance(part, Mapping))
    if (not texts and not folders) or set(state) - {"filesystem"}:
        return None
    before = state.get("filesystem", {})
    files = {path: content for path, content in before.get("files", {}).items() if isinstance(content, str)}
    kept = {f"{folder}/.kept": "" for folder in before.get("directories", [])}
    needed = {*folders, *filter(None, map(posixpath.dirname, texts))}
    predicate = parse(formula)
    after = tree_of({**files, **kept, **texts, **{f"{folder}/.kept": "" for folder in folders}})
    tree = type(after)({path: node for path, node in after.items() if not path.endswith("/.kept")})
    if {probe.name.split(".")[0] for probe in probes(predicate)} != {"filesystem"}:
        return None
    if judge(predicate, JudgeInput({"filesystem": tree})).verdict is not Verdict.TRUE:
        return None
    calls = [_call("create_directory", path=f"{FOLDER}/{folder}") for folder in sorted(needed)]
    calls += [_call("write_file", path=f"{FOLDER}/{path}", content=text) for path, text in texts.items()]
    return {"calls": calls}


def _implied(parts: Iterable[Mapping[str, Any]]) -> tuple[dict[str, str], list[str]]:
    texts: dict[str, str] = {}
    folders: list[str] = []
    for part in parts:
        ((name, arguments),) = part.items()
        match name:
            case "filesystem.fileTextEquals":
                texts[arguments["path"]] = arguments["text"]
            case "filesystem.fileLines":
                texts[arguments["path"]] = "".join(f"{line}\n" for line in arguments["lines"])
            case "filesystem.directoryExists":
                folders.append(arguments["path"])
    return texts, folders


def _call(tool: str, **arguments: str) -> dict[str, Any]:
    return {"tool": f"filesystem.{tool}", "arguments": arguments}
