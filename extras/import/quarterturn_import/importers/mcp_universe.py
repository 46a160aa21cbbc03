"""Importer of MCP-Universe's repository management: JSON task files whose evaluators ask the GitHub server.

Each file is one task: `question`, and `evaluators` with `func`, `op`, `op_args` and `value`. `EVALUATORS` is the table
of what is understood. `{{GITHUB_PERSONAL_ACCOUNT_NAME}}` becomes the account of the synthetic forge.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from quarterturn_import.importers.conversion import SourceTask
from quarterturn_import.importers.formula import Formula, all_of, any_of, negated, understood, unknown, unknowns

Arguments = Mapping[str, Any]
_VARIABLE = re.compile(r"\{\{\s*([A-Z_]+)\s*\}\}")
ACCOUNT = "GITHUB_PERSONAL_ACCOUNT_NAME"


class NotUnderstood(Exception):
    """An evaluator asks for something that no predicate says; the message says what."""


def read_task(text: str, name: str, account: str, state: Mapping[str, Any] | None = None) -> SourceTask:
    """Read one task file.

    Args:
        text: the file's.
        name: how messages call it.
        account: the login that the agent works as.
        state: the initial state, if there is one: the files do not have it.
    """
    try:
        document = json.loads(text)
        evaluators, goal = document["evaluators"], document["question"]
        sound = isinstance(goal, str) and isinstance(evaluators, list) and all(isinstance(e, dict) for e in evaluators)
    except (ValueError, LookupError, TypeError):
        sound = False
    if not sound:
        return SourceTask(
            name, "", formula=True, reasons=[f"{name}: it is no task: `question` and `evaluators` are needed"]
        )
    document = _filled(document, account)
    parts = [_condition(evaluator, f"{name}: evaluators[{i}]") for i, evaluator in enumerate(document["evaluators"])]
    formula = all_of(parts)
    others = sorted(_servers(document.get("mcp_servers")) - {"github"})
    needed = [f"{name}: mcp_servers: the task needs {', '.join(others)}, too"] if others else []
    return SourceTask(
        name,
        document["question"] + _format_words(document.get("output_format")),
        understood(formula),
        reasons=[*needed, *unknowns(formula)],
        state=state,
        server="github",
    )


def _servers(listed: object) -> set[str]:
    servers = listed if isinstance(listed, list) else []
    return {str(server["name"]) for server in servers if isinstance(server, dict) and "name" in server}


def _format_words(output_format: object) -> str:
    if not output_format:
        return ""
    return f"\n\nAnswer in this JSON form: {json.dumps(output_format, ensure_ascii=False)}"


def _filled(value: Any, account: str) -> Any:
    if isinstance(value, str):
        return _VARIABLE.sub(lambda match: account if match[1] == ACCOUNT else match[0], value)
    if isinstance(value, list):
        return [_filled(item, account) for item in value]
    return {key: _filled(item, account) for key, item in value.items()} if isinstance(value, dict) else value


def _condition(evaluator: Arguments, place: str) -> Formula:
    operation = str(evaluator.get("op", ""))
    make = EVALUATORS.get(operation)
    if make is None:
        return unknown(f"{place}: no predicate says {operation or 'what it asks'}")
    if evaluator.get("func") not in {"raw", "json"}:
        return unknown(f"{place}: the function {evaluator.get('func')} is not understood")
    try:
        return make(evaluator.get("op_args"), evaluator.get("value"))
    except NotUnderstood as error:
        return unknown(f"{place}: {error}")
    except (LookupError, TypeError, AttributeError):
        return unknown(f"{place}: {operation} lacks an argument, or has one of another kind")


def _file(arguments: Arguments) -> dict[str, Any]:
    return {
        "repository": f"{arguments['owner']}/{arguments['repo']}",
        "branch": arguments["branch"] or "main",
        "path": arguments["path"],
    }


def _repository(query: Any, _value: Any) -> Formula:
    """A repository of this full name; `repo:NAME fork:true` means the same, though the original never finds it."""
    matched = re.fullmatch(r"(?:repo:)?([\w.-]+/[\w.-]+)(?: fork:true)?", query) if isinstance(query, str) else None
    if matched is None:
        raise NotUnderstood("the query names no repository")
    return _spelt(matched[1])


def _spelt(repository: str) -> Formula:
    """A repository whose name is spelt just so, as the original compares it."""
    return {"github.repositoryExists": {"repository": repository, "match_case": True}}


def _fewest(arguments: Arguments, _value: Any) -> Formula:
    """The copy of the repository with the fewest issues is there, and the file, if one is asked for, has its text."""
    among = {"among": list(arguments["repos"]), **_state(arguments["issue_state"])}
    cases: list[Formula] = []
    for number, source in enumerate(arguments["repos"]):
        copy = f"{arguments['owner']}/{source.partition('/')[2]}"
        parts: list[Formula] = [
            {"github.fewestIssues": {"repository": source, **among}},
            _spelt(copy),
        ]
        if "file_content" in arguments:
            file = {"repository": copy, "branch": arguments["branch"], "path": arguments["path"]}
            parts.append({"github.fileContainsAtBranch": {**file, "text": arguments["file_content"][number]}})
        cases.append(all_of(parts))
    return any_of(cases)


def _state(state: str | None) -> dict[str, str]:
    return {} if state == "all" else {"state": state or "open"}  # GitHub lists the open ones where none is asked for


def _counts(arguments: Arguments, _value: Any) -> Formula:
    if arguments["file_type"] not in {"csv", "json"}:
        raise NotUnderstood("the file is neither CSV nor JSON")
    columns = {"columns": list(arguments["csv_columns"])} if arguments["file_type"] == "csv" else {}
    labels = {"labels": list(arguments["issue_labels"])} if arguments["issue_labels"] else {}
    searched = {"owner": arguments["search_repo_owner"], "name_contains": arguments["search_repo_name"]}
    asked = {**_file(arguments), **searched, **_state(arguments["issue_state"]), **labels, **columns}
    return {"github.issueCountsFile": asked}


def _branches(arguments: Arguments, _value: Any) -> Formula:
    repository = f"{arguments['owner']}/{arguments['repo']}"
    return all_of(
        {"github.branchExists": {"repository": repository, "branch": branch}} for branch in arguments["branches"]
    )


def _content(arguments: Arguments, value: Any) -> Formula:
    if isinstance(value, str) and value:
        return {"github.fileAtBranch": {**_file(arguments), "text": value, "trim": True}}
    if isinstance(value, dict):
        source = _file(value)
        where = {"of": source["repository"], "on": source["branch"], "at": source["path"]}
        same: Formula = {"github.fileSameAs": {**_file(arguments), **where, "trim": True}}
        return all_of([_exists(value, None), same])  # the original refuses an empty source
    raise NotUnderstood("the expected content is neither a text nor another file")


def _exists(arguments: Arguments, _value: Any) -> Formula:
    return {"github.fileExistsAtBranch": {**_file(arguments), "not_empty": True}}


def _includes(arguments: Arguments, value: Any) -> Formula:
    texts: Sequence[Any] = [] if value is None else value
    if not all(isinstance(text, str) for text in texts):
        raise NotUnderstood("a text that the file shall include is none")
    return all_of(
        [
            _exists(arguments, None),
            *({"github.fileContainsAtBranch": {**_file(arguments), "text": text}} for text in texts if text),
        ]
    )


def _pull(arguments: Arguments, _value: Any) -> Formula:
    """What the original compares: title and text where they are among `op_args`; it does not read `value`."""
    given = {key: arguments[key] for key in ("title", "body") if key in arguments}
    repository = f"{arguments['owner']}/{arguments['repo']}"
    head = str(arguments["head"]).removeprefix(f"{arguments['owner']}:")
    return {"github.prOpen": {"repository": repository, "head": head, "base": arguments["base"], **given}}


def _issues(arguments: Arguments, value: Any) -> Formula:
    if not isinstance(value, int) or isinstance(value, bool):
        raise NotUnderstood("the number of issues is none")
    asked: dict[str, Any] = {"repository": f"{arguments['owner']}/{arguments['repo']}", "count": value}
    asked |= _state(arguments.get("state"))
    if arguments.get("title") is not None:
        asked["title"] = arguments["title"]
    if arguments.get("labels"):
        asked |= {"labels": arguments["labels"], "match_case": True}
    if arguments.get("comments") is not None:
        asked["comment"] = arguments["comments"].replace("[repo owner name]", arguments["owner"])
    return {"github.issueCount": asked}


EVALUATORS: Mapping[str, Callable[[Any, Any], Formula]] = {
    "github.check_repository": _repository,
    "github.check_branches_exist": _branches,
    "github.check_file_content": _content,
    "github.check_file_exist": _exists,
    "github.check_file_not_exist": lambda arguments, value: negated(_exists(arguments, value)),
    "github.file_content_include": _includes,
    "github.check_file_content_and_issue_count": _counts,
    "github.check_repository_with_fewest_issues": _fewest,
    "github.check_file_content_with_fewest_issues": _fewest,
    "github.check_pull_request": _pull,
    "github.check_number_of_issues": _issues,
}
"""By operation: what makes its condition."""
