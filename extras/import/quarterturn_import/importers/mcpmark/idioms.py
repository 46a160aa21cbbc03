"""Table of the idioms of mcpmark's verifiers: what an operation on a value of the end state asks, as a predicate.

Everything here is a plain function of values; what is not in the tables is not understood. `CannotSay` ends an
operation for which no predicate says just the same.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

from quarterturn_import.importers.formula import Formula, all_of, any_of, negated
from quarterturn_import.importers.mcpmark.values import (
    Content,
    Encoded,
    Extreme,
    FsPath,
    Joined,
    JsonPart,
    Length,
    Lengths,
    Lines,
    Listing,
    Response,
    RestObject,
    Size,
    Text,
)
from verifiers.errors import Malformed
from verifiers.linear_regex import MAX_REPEAT, compiled

NUMBERS = (int, float)


class CannotSay(Exception):
    """No predicate says the same as this operation; the message says why."""


def exists(path: str, kind: str | None = None) -> Formula:
    """A file or a folder is at a path."""
    if path == ".":
        return kind != "file"
    file, folder = {"filesystem.fileExists": {"path": path}}, {"filesystem.directoryExists": {"path": path}}
    if kind is None:
        return any_of([file, folder])
    return file if kind == "file" else folder


def joined(path: str, *parts: str) -> str:
    """Join a path and names below it.

    Raises:
        CannotSay: it leads out of the folder.
    """
    if any(part.startswith("/") for part in parts):
        raise CannotSay("an absolute path")
    made = posixpath.normpath(posixpath.join(path, *parts))
    if made.startswith(".."):
        raise CannotSay("a path that leads out of the folder")
    return made


def there(text: Text) -> Formula:
    """The file of a text is there."""
    if text.server == "github":
        return {"github.fileExistsAtBranch": text.arguments}
    return {"filesystem.fileExists": text.arguments}


def matches(text: Text, pattern: str) -> Formula:
    """A pattern matches somewhere in a text.

    Raises:
        CannotSay: the pattern is beyond linear regular expressions.
    """
    try:
        compiled(pattern)
    except Malformed as error:
        raise CannotSay(str(error)) from None
    name = "github.fileMatchesAtBranch" if text.server == "github" else "filesystem.fileMatches"
    return {name: {**text.arguments, "pattern": pattern}}


def contains(text: Text, part: str) -> Formula:
    """A part occurs in a text."""
    if not part:
        return True
    if text.lower and part != part.lower():
        return False
    if text.strip and part != part.strip():
        raise CannotSay("a part with white space at its ends, in a text without")
    name = "github.fileContainsAtBranch" if text.server == "github" else "filesystem.fileContains"
    return {name: {**text.arguments, "text": part, **({"ignore_case": True} if text.lower else {})}}


def text_is(text: Text, whole: str) -> Formula:
    """A text is another one."""
    if (text.lower and whole != whole.lower()) or (text.strip and whole != whole.strip()):
        return False
    flags = {"trim": True} if text.strip else {}
    if text.server == "filesystem":
        return {"filesystem.fileTextEquals": {**text.arguments, "text": whole, **flags, **_folded(text)}}
    if text.lower:
        edge = r"\s*" if text.strip else ""
        return matches(text, rf"(?i)\A{edge}{re.escape(whole)}{edge}\Z")
    return {"github.fileAtBranch": {**text.arguments, "text": whole, **flags}}


def _folded(text: Text) -> dict[str, bool]:
    return {"ignore_case": True} if text.lower else {}


def texts_equal(left: Text, right: Text) -> Formula:
    """Two files hold the same."""
    if left.lower or right.lower or left.strip != right.strip or left.server != right.server:
        raise CannotSay("two texts that are compared after they were changed")
    if left.server == "filesystem":
        if left.strip:
            raise CannotSay("two texts that are compared after they were changed")
        return {"filesystem.fileSameAs": {**left.arguments, "same_as": right.arguments["path"]}}
    other = right.arguments
    where = {"of": other["repository"], "on": other["branch"], "at": other["path"]}
    return {"github.fileSameAs": {**left.arguments, **where, **({"trim": True} if left.strip else {})}}


def spread_compared(extreme: Extreme, operator: str, number: int) -> Formula:
    """The difference of the largest and the least length of texts is compared with a number."""
    if not extreme.spread or operator not in {">", "<=", ">=", "<"}:
        raise CannotSay("the least or the largest length of texts")
    most = number if operator in {">", "<="} else number - 1
    if most < 0:
        return operator in {">", ">="}
    within: Formula = {"filesystem.sameLength": {"paths": _whole_files(extreme.texts), "tolerance": most}}
    return within if operator in {"<=", "<"} else negated(within)


def joined_is(joined: Joined, whole: Text) -> Formula:
    """The texts of files are one after the other that of another file."""
    (path,) = _whole_files([whole])
    parts = [_whole_files([text])[0] for text in joined.texts]
    return {"filesystem.fileJoins": {"path": path, "parts": parts}}


def _whole_files(texts: Sequence[Text]) -> list[str]:
    """Return the paths of texts that are whole files.

    Raises:
        CannotSay: one was changed, or lies elsewhere.
    """
    if any(text.server != "filesystem" or text.lower or text.strip for text in texts):
        raise CannotSay("texts that were changed")
    return list(dict.fromkeys(text.arguments["path"] for text in texts))


def contents_equal(left: Content, right: Content) -> Formula:
    """Two files hold the same bytes, or have the same digest, which is taken for the same."""
    if left.algorithm != right.algorithm or bool(left.algorithm) is not left.written:
        raise CannotSay("two digests of different kinds")
    return left.path == right.path or {"filesystem.fileSameAs": {"path": left.path, "same_as": right.path}}


def not_empty(value: Any) -> Formula:
    """A text, its lines or a listing has something in it."""
    if isinstance(value, Text):
        return matches(value, r"\S" if value.strip else r"(?s).")
    if isinstance(value, Lines):
        return matches(value.text, r"\S") if value.skip_blank else True
    if isinstance(value, Listing):
        return counted(value, 1, at_least=True)
    raise CannotSay("a value whose truth is not known")


def counted(listing: Listing, number: int, *, at_least: bool = False) -> Formula:
    """A listing has so many entries."""
    if number < 0 or (at_least and number == 0):
        return at_least
    flags = {"at_least": True} if at_least else {}
    return {"filesystem.entryCount": {**listing.arguments, "count": number, **flags}}


def lines_number(lines: Lines, number: int, *, at_least: bool = False) -> Formula:
    """A text has so many lines, as `split` counts them."""
    if number <= 0:
        return True if at_least else negated(not_empty(lines)) if lines.skip_blank and number == 0 else False
    text = lines.text
    if lines.skip_blank and text.server == "filesystem":
        flags = {"at_least": True} if at_least else {}
        return {"filesystem.fileLineCount": {**text.arguments, "count": number, "skip_blank": True, **flags}}
    if lines.skip_blank:
        line = r"\s*\S[^\n]*\n" if number > 1 else ""
        end = r"\s*\S" if at_least else r"\s*\S[^\n]*\s*\Z"
        if number > MAX_REPEAT:
            raise CannotSay("more lines than a pattern counts")
        return matches(text, rf"\A(?:{line}){{{number - 1}}}{end}" if line else rf"\A{end}")
    if number > MAX_REPEAT:
        raise CannotSay("more lines than a pattern counts")
    if not text.strip:
        return matches(text, rf"\A(?:[^\n]*\n){{{number - 1}}}" + ("" if at_least else r"[^\n]*\Z"))
    if number == 1:
        return True if at_least else matches(text, r"\A\s*(?:\S[^\n]*)?\s*\Z")
    start = rf"\A\s*\S[^\n]*(?:\n[^\n]*){{{number - 2}}}\n"
    return matches(text, start + (r"[\s\S]*\S" if at_least else r"[^\n]*\S\s*\Z"))


def length_compared(length: Length, operator: str, number: int) -> Formula:
    """The length of lines or of a listing is compared with a number."""
    of = length.of
    if isinstance(of, Lengths):
        if (operator, number) not in {("==", 1), ("!=", 1), (">", 1), ("<=", 1)}:
            raise CannotSay("the number of different lengths")
        same: Formula = {"filesystem.sameLength": {"paths": _whole_files(of.texts)}}
        return same if operator in {"==", "<="} else negated(same)
    if isinstance(of, Text):
        if (operator, number) in {(">", 0), (">=", 1), ("!=", 0), ("==", 0), ("<", 1), ("<=", 0)}:
            positive = operator in {">", ">=", "!="}
            return not_empty(of) if positive else negated(not_empty(of))
        if of.server == "filesystem" and not of.strip and number <= MAX_REPEAT:
            return ranged(operator, number, lambda least: matches(of, rf"(?s)\A.{{{least}}}") if least > 0 else True)
        raise CannotSay("the number of characters of a text")
    if isinstance(of, Lines):
        make: Callable[..., Formula] = lambda count, **flags: lines_number(of, count, **flags)  # noqa: E731
    elif isinstance(of, Listing):
        make = lambda count, **flags: counted(of, count, **flags)  # noqa: E731
    else:
        raise CannotSay("a length that is not known")
    if operator in {"==", "!="}:
        return make(number) if operator == "==" else negated(make(number))
    return ranged(operator, number, lambda least: make(least, at_least=True))


def ranged(operator: str, number: int, at_least: Callable[[int], Formula]) -> Formula:
    """A number that is known by what it is at least is compared with another one."""
    match operator:
        case ">=":
            return at_least(number)
        case ">":
            return at_least(number + 1)
        case "<":
            return negated(at_least(number))
        case "<=":
            return negated(at_least(number + 1))
        case "==":
            return all_of([at_least(number), negated(at_least(number + 1))])
    return negated(ranged("==", number, at_least))


def size_compared(size: Size, operator: str, number: int | float) -> Formula:
    """The size of a file is compared with a number of bytes."""
    if number == float("inf"):
        return operator in {"<", "<=", "!="}
    if number != int(number):
        raise CannotSay("a size that is no whole number")

    def at_least(least: int) -> Formula:
        return {"filesystem.fileSize": {"path": size.path, "at_least": max(0, least)}}

    return ranged(operator, int(number), at_least)


def lines_differ(lines: Lines) -> Formula:
    """No line is there twice."""
    if lines.text.server != "filesystem" or not lines.skip_blank:
        raise CannotSay("whether lines are different of which blank ones count")
    return {"filesystem.fileLinesDiffer": {"path": lines.text.arguments["path"], **_folded(lines.text)}}


def ends_with(text: Text, part: str) -> Formula:
    """A text ends with a part."""
    if (text.lower and part != part.lower()) or (text.strip and part != part.rstrip()):
        return False
    if text.strip and not part.strip():
        raise CannotSay("whether a text ends with nothing")
    return matches(text, ("(?i)" if text.lower else "") + re.escape(part) + (r"\s*" if text.strip else "") + r"\Z")


def lines_are(lines: Lines, wanted: list[str]) -> Formula:
    """The lines are these."""
    if lines.text.server != "filesystem" or not lines.skip_blank:
        raise CannotSay("lines of which blank ones count")
    if any(line != line.strip() or not line or (lines.text.lower and line != line.lower()) for line in wanted):
        return False
    return {
        "filesystem.fileLines": {**lines.text.arguments, "lines": wanted, "skip_blank": True, **_folded(lines.text)}
    }


def has_line(lines: Lines, wanted: str) -> Formula:
    """A line is this one."""
    if (lines.text.lower and wanted != wanted.lower()) or "\n" in wanted:
        return False
    flags, edge = ("im" if lines.text.lower else "m"), (r"[^\S\n]*" if lines.skip_blank else "")
    if lines.skip_blank and wanted != wanted.strip():
        return False
    return matches(lines.text, rf"(?{flags})^{edge}{re.escape(wanted)}{edge}$")


def listing_is(listing: Listing, wanted: set[str]) -> Formula:
    """The names in a listing are these."""
    if not listing.names or listing.deep or listing.glob != "*":
        raise CannotSay("a listing that is compared as a whole after it was narrowed")
    asked: dict[str, Any] = {"path": listing.path, "names": sorted(wanted)}
    if listing.kind:
        asked["kind"] = listing.kind
    if listing.ignore:
        asked["ignore"] = list(listing.ignore)
    return {"filesystem.directoryHasOnly": asked}


def in_listing(listing: Listing, name: str) -> Formula:
    """A name is in a listing."""
    if not listing.names or listing.deep or listing.glob != "*":
        raise CannotSay("a name in a listing that was narrowed")
    return False if name in listing.ignore or "/" in name else exists(joined(listing.path, name), listing.kind)


def json_is(part: JsonPart, value: Any) -> Formula:
    """A part of a JSON file is this value."""
    pointer = {"pointer": part.pointer} if part.pointer else {}
    return {"filesystem.fileJsonEquals": {"path": part.path, "value": value, **pointer}}


def deeper(part: JsonPart, key: Any) -> JsonPart:
    """A part of a part of a JSON file."""
    if not isinstance(key, str | int) or isinstance(key, bool) or (isinstance(key, int) and key < 0):
        raise CannotSay("a key that is not known")
    return replace(part, pointer=f"{part.pointer}/{str(key).replace('~', '~0').replace('/', '~1')}")


_REST: Mapping[str, str] = {
    "file": r"contents/(?P<path>[^?]+)\?ref=(?P<branch>[^&?]+)",
    "file on main": r"contents/(?P<path>[^?]+)",
    "branch": r"(?:branches|git/refs?/heads)/(?P<branch>[^?]+)",
    "issue": r"issues/(?P<issue>\d+)",
    "repository": r"",
}
"""By kind of object: the endpoint that gives it."""


def rest_object(response: Response) -> RestObject:
    """Say what an endpoint of GitHub gives.

    Raises:
        CannotSay: it is none of the table.
    """
    for kind, pattern in _REST.items():
        if matched := re.fullmatch(pattern, response.endpoint):
            given = {key: unquote(value) for key, value in matched.groupdict().items()}
            if kind == "file on main":
                return RestObject("file", response.repository, (("branch", "main"), *given.items()))
            return RestObject(kind, response.repository, tuple(sorted(given.items())))
    raise CannotSay(f"the endpoint {response.endpoint} of GitHub")


def rest_exists(response: Response) -> Formula:
    """An endpoint of GitHub answers with 200."""
    found = rest_object(response)
    given = {"repository": found.repository, **dict(found.arguments)}
    match found.kind:
        case "file":
            return {"github.fileExistsAtBranch": given}
        case "branch":
            return {"github.branchExists": given}
        case "repository":
            return {"github.repositoryExists": given}
    number = {"repository": found.repository, "issue": int(given["issue"])}
    return any_of({"github.issueState": {**number, "state": state}} for state in ("open", "closed"))


def rest_field(found: RestObject, field: Any) -> Any:
    """A field of an object of GitHub.

    Raises:
        CannotSay: no predicate reads it.
    """
    given = dict(found.arguments)
    if found.kind == "file" and field == "content":
        file = {"repository": found.repository, "branch": given["branch"], "path": given["path"]}
        return Encoded(Text(tuple(file.items()), "github"))
    if found.kind == "issue" and field in {"labels", "state", "title", "body"}:
        return replace(found, kind=f"issue {field}")
    if found.kind == "label" and field == "name":
        return replace(found, kind="label name")
    raise CannotSay(f"the field {field} of GitHub's {found.kind}")


def rest_is(found: RestObject, value: Any) -> Formula:
    """A field of an issue is this value."""
    issue = {"repository": found.repository, "issue": int(dict(found.arguments)["issue"])}
    match found.kind:
        case "issue state" if value in {"open", "closed"}:
            return {"github.issueState": {**issue, "state": value}}
        case "issue title" if isinstance(value, str) and value == value.strip():
            number = {"repository": found.repository, "number": issue["issue"]}
            return {"github.issueTitle": {**number, "equals": value}}
        case "issue label names" if isinstance(value, list | tuple | set) and all(isinstance(v, str) for v in value):
            return {"github.issueLabels": {**issue, "labels": sorted(set(value))}}
    raise CannotSay(f"a comparison with GitHub's {found.kind}")


def rest_contains(found: RestObject, part: str) -> Formula:
    """A text or a label is in a field of an issue."""
    issue = {"repository": found.repository, "issue": int(dict(found.arguments)["issue"])}
    match found.kind:
        case "issue label names":
            return {"github.issueHasLabel": {**issue, "label": part}}
        case "issue title":
            number = {"repository": found.repository, "number": issue["issue"]}
            return {"github.issueTitle": {**number, "contains": part}}
        case "issue body":
            return {"github.issueBody": {**issue, "contains": part}}
    raise CannotSay(f"a look into GitHub's {found.kind}")


def path_part(path: FsPath, name: str) -> Any:
    """An attribute of a path."""
    base = posixpath.basename(path.path)
    stem, suffix = posixpath.splitext(base)
    match name:
        case "name":
            return base if path.path != "." else _unknown_name()
        case "stem":
            return stem
        case "suffix":
            return suffix
        case "parent" if path.path != ".":
            return FsPath(posixpath.dirname(path.path) or ".")
    raise CannotSay(f"the attribute {name} of a path")


def _unknown_name() -> Any:
    raise CannotSay("the name of the task's own folder")
