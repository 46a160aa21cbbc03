"""Calls of functions and methods: of Python's library on ordinary values, by the idioms on those of the end state."""

# ruff: noqa: PLR0911, PLR0912 - tables of idioms, written as matches with one return each

from __future__ import annotations

import ast
import re
from dataclasses import replace
from typing import Any

from quarterturn_import.importers.formula import Formula, all_of, any_of, negated
from quarterturn_import.importers.mcpmark import idioms
from quarterturn_import.importers.mcpmark.conditions import cond
from quarterturn_import.importers.mcpmark.database_calls import DatabaseCalls
from quarterturn_import.importers.mcpmark.idioms import CannotSay
from quarterturn_import.importers.mcpmark.plain import (
    FLAGS,
    PLAIN_CALLS,
    PLAIN_METHODS,
)
from quarterturn_import.importers.mcpmark.values import (
    Bound,
    Choice,
    Collected,
    Cond,
    Content,
    Count,
    Cursor,
    DistinctLines,
    Encoded,
    Extreme,
    FsPath,
    Function,
    JsonPart,
    Length,
    Lengths,
    Lines,
    Listing,
    Named,
    Opaque,
    OpenFile,
    Response,
    RestObject,
    Size,
    Text,
    is_plain,
)

ROOT_VARIABLE = "FILESYSTEM_TEST_DIR"
DIGESTS = ("hashlib.md5", "hashlib.sha1", "hashlib.sha256")
OWNERS = ("GITHUB_EVAL_ORG", "GITHUB_ORG")


class Calls(DatabaseCalls):
    """Reader of calls."""

    def _call(self, node: ast.Call, env: dict[str, Any]) -> Any:
        function = self.read(node.func, env)
        args = [self.read(arg.value if isinstance(arg, ast.Starred) else arg, env) for arg in node.args]
        kwargs = {keyword.arg or "**": self.read(keyword.value, env) for keyword in node.keywords}
        match function:
            case Function():
                return self.call_function(function, args, kwargs, node)
            case Named(name):
                return self._library(name, args, kwargs, node)
            case Bound(value, name):
                return self._method(value, name, args, kwargs, node)
            case Opaque():
                return function
        return self.opaque(node)

    def _library(self, name: str, args: list[Any], kwargs: dict[str, Any], node: ast.Call) -> Any:
        """Call a function of Python's library."""
        if name in {"print", "load_dotenv", "traceback.print_exc", "time.sleep", "sys.stdout.flush"}:
            return None
        if name in {"sys.exit", "exit", "quit"}:
            self.leave(args[0] if args else 0)
            return None
        if name in {"os.environ.get", "os.getenv"} and args:
            return self.environment(args[0], node)
        first = args[0] if args else None
        if isinstance(first, Choice) and name not in {"isinstance", "hasattr", "bool"}:
            return self.choose(
                [(guard, self._library(name, [value, *args[1:]], kwargs, node)) for guard, value in self.present(first)]
            )
        if isinstance(first, Opaque):
            return first
        of_database = self.database_function(name, args, kwargs)
        if of_database is not None:
            return of_database
        handled = self._known(name, first, args, kwargs)
        if handled is not None:
            return handled
        if name in PLAIN_CALLS:
            if not args and name in {"list", "set"}:
                return Collected()
            if not args and name == "dict":
                return {}
            if isinstance(first, Lines) and name == "set":
                return DistinctLines(first)
            if isinstance(first, Listing | RestObject) and name in {"set", "list", "sorted"}:
                return first
            if isinstance(first, Collected):
                return self._gathered(name, first, node)
            if name in {"enumerate", "zip", "list"} and isinstance(first, list | tuple):
                return PLAIN_CALLS[name](*args)
            if is_plain(args) and is_plain(kwargs) and not kwargs.get("key"):
                return PLAIN_CALLS[name](*args, **kwargs)
            if name == "bool":
                return cond(self.truth(first))
            if name == "len" and isinstance(first, DistinctLines | Lengths | Text | Lines | Listing | Collected):
                return Length(first)
            if name == "len" and isinstance(first, list | tuple | dict):
                return len(first)
        if name in {"any", "all"} and isinstance(first, Collected | list | tuple):
            parts = [(guard, self.truth(value)) for guard, value in self.each(first)]
            if name == "any":
                return cond(any_of(all_of(part) for part in parts))
            return cond(all_of(any_of([negated(guard), formula]) for guard, formula in parts))
        if name == "sum" and isinstance(first, Collected) and all(value == 1 for _, value in first.items):
            return Count(0, tuple(guard for guard, _ in first.items))
        return self.opaque(node)

    def environment(self, name: Any, node: ast.AST) -> Any:
        """Return a variable of the environment: the task's folder, the account, or one that is given where it runs."""
        if name == ROOT_VARIABLE:
            return FsPath(".")
        if str(name).startswith("POSTGRES_"):
            return "5432" if name == "POSTGRES_PORT" else "given"
        return self.account if name in OWNERS else "given" if "TOKEN" in str(name) else self.opaque(node)

    def _gathered(self, name: str, first: Collected, node: ast.Call) -> Any:
        """Call a function on a list that was filled: a set of it only where every item is there for certain."""
        if name == "len":
            return Length(first)
        if name == "list":
            return first
        values = [value for _, value in first.items]
        sizes = [value.of for value in values if isinstance(value, Length) and isinstance(value.of, Text)]
        certain = all(self.certain(guard) for guard, _ in first.items)
        if name in {"set", "min", "max"} and len(sizes) == len(values) > 0 and certain:
            return Lengths(tuple(sizes)) if name == "set" else Extreme(tuple(sizes), largest=name == "max")
        if not is_plain(values) or not certain:
            return Cond(self.truth(first)) if name == "bool" else self.opaque(node)
        return PLAIN_CALLS[name](values)

    def _known(self, name: str, first: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Call a function of the table on a value of the end state; None where it is none."""
        if name in {"Path", "pathlib.Path", "str"} and isinstance(first, FsPath):
            return first
        if isinstance(first, FsPath) or (name == "os.path.join" and isinstance(first, FsPath)):
            match name:
                case "os.path.join" if all(isinstance(part, str) for part in args[1:]):
                    return FsPath(idioms.joined(first.path, *args[1:]))
                case "os.path.exists":
                    return cond(idioms.exists(first.path))
                case "os.path.isfile":
                    return cond(idioms.exists(first.path, "file"))
                case "os.path.isdir":
                    return cond(idioms.exists(first.path, "directory"))
                case "os.listdir":
                    self.require(idioms.exists(first.path, "directory"), "OSError")
                    return Listing(first.path, names=True)
                case "os.path.getsize":
                    self.require(idioms.exists(first.path, "file"), "OSError")
                    return Size(first.path)
                case "open" if str(args[1] if len(args) > 1 else kwargs.get("mode", "r")) == "rb":
                    self.require(idioms.exists(first.path, "file"), "OSError")
                    return OpenFile(first.path, binary=True)
                case "open" if str(args[1] if len(args) > 1 else kwargs.get("mode", "r")) in {"r", "rt"}:
                    self.require(idioms.exists(first.path, "file"), "OSError")
                    return OpenFile(first.path)
        if name in DIGESTS and isinstance(first, Content) and not first.algorithm:
            return replace(first, algorithm=name)
        if name == "json.load" and isinstance(first, OpenFile) and not first.binary:
            return self._json(first.path)
        if name == "json.loads" and isinstance(first, Text) and first.server == "filesystem":
            return self._json(first.arguments["path"])
        if name in {"re.search", "re.match", "re.fullmatch"} and isinstance(first, str) and isinstance(args[1], Text):
            return cond(self._pattern(name, first, args[1], next(iter(args[2:]), kwargs.get("flags"))))
        if name in {"requests.get"} and isinstance(first, str):
            matched = re.fullmatch(r"https://api\.github\.com/repos/([\w.-]+/[\w.-]+)/?(.*)", first)
            if matched is None or "params" in kwargs:
                raise CannotSay("an address that is not one of a repository")
            return Response(matched[1], matched[2])
        if name == "base64.b64decode" and isinstance(first, Encoded):
            return first
        return None

    def _json(self, path: str) -> JsonPart:
        self.require({"filesystem.fileMatches": {"path": path, "pattern": r"\S"}}, "ValueError")
        return JsonPart(path)

    def _pattern(self, name: str, pattern: str, text: Text, flags: Any) -> Formula:
        letters = (
            "".join(FLAGS.get(part.strip(), "?") for part in flags.name.split("|")) if isinstance(flags, Named) else ""
        )
        if flags is not None and (not isinstance(flags, Named) or "?" in letters):
            raise CannotSay("flags of a pattern that are not known")
        if text.lower:
            if pattern != pattern.lower():
                raise CannotSay("a pattern with capitals in a text without")
            letters += "i"
        whole = re.fullmatch(r"\^((?:(?!\\[sSWDntr]|\[\^)[^.|$^\s])+)\$", pattern)
        if text.strip and whole and name in {"re.search", "re.match"} and not letters:
            return idioms.matches(text, rf"\A\s*(?:{whole[1]})\s*\Z")  # it matches no white space of its own
        if text.strip and re.search(r"(?<!\\)[\^$]|\\[AZ]", pattern):
            raise CannotSay("a pattern that is anchored in a text that was stripped")
        if "$" in pattern and "m" not in letters:
            pattern = re.sub(r"(?<!\\)\$(?![^\[]*\])", r"(?:\\n?\\Z)", pattern)
        if name != "re.search":
            if text.strip:
                raise CannotSay("a pattern that is anchored in a text that was stripped")
            pattern = rf"\A(?:{pattern})" + (r"\Z" if name == "re.fullmatch" else "")
        return idioms.matches(text, f"(?{''.join(sorted(set(letters)))}){pattern}" if letters else pattern)

    def _method(self, value: Any, name: str, args: list[Any], kwargs: dict[str, Any], node: ast.Call) -> Any:
        """Call a method of a value."""
        if isinstance(value, Opaque):
            return value
        if isinstance(value, Choice):
            present = self.present(value)
            return self.choose([(guard, self._method(option, name, args, kwargs, node)) for guard, option in present])
        if isinstance(value, Cursor):
            return self.cursor_method(value, name, args, kwargs)
        if isinstance(value, Collected) and name in {"append", "add"}:
            value.items.append((self.path(), args[0]))
            return None
        if isinstance(value, list) and name == "append" and self.path() is True:
            value.append(args[0])
            return None
        if is_plain(value) and name in PLAIN_METHODS and is_plain(args) and is_plain(kwargs):
            made = getattr(value, name)(*args, **kwargs)
            return list(made) if name in {"items", "keys", "values"} else made
        if isinstance(value, dict) and name in {"items", "values", "get"}:
            made = getattr(value, name)(*args)
            return made if name == "get" else list(made)
        made = self._state_method(value, name, args)
        return self.opaque(node) if made is None else made

    def _state_method(self, value: Any, name: str, args: list[Any]) -> Any:
        """Call a method of a value of the end state; None where the table has none."""
        match value:
            case FsPath(path):
                return self._path_method(path, name, args)
            case OpenFile(path, binary=True):
                return Content(path) if name == "read" and not args else None
            case Content() if name in {"hexdigest", "digest"} and value.algorithm and not value.written:
                return replace(value, algorithm=f"{value.algorithm} {name}", written=True)
            case OpenFile(path) if name == "read" and not args:
                return Text((("path", path),))
            case OpenFile(path) if name == "readlines":
                return Lines(Text((("path", path),)))
            case Encoded(text) if name in {"decode", "replace"}:
                return text if name == "decode" else value
            case Text():
                if name == "lower":
                    return replace(value, lower=True)
                if name == "strip" and not args:
                    return replace(value, strip=True)
                if name in {"split", "splitlines"} and args in (["\n"], []) and (args or name == "splitlines"):
                    return Lines(value)
                if name == "endswith" and isinstance(args[0], str):
                    return cond(idioms.ends_with(value, args[0]))
                if name == "startswith" and isinstance(args[0], str) and not value.strip:
                    return cond(idioms.matches(value, ("(?i)" if value.lower else "") + rf"\A{re.escape(args[0])}"))
            case JsonPart() if name == "get" and len(args) == 1:
                return idioms.deeper(value, args[0])
            case RestObject() if name == "get":
                return idioms.rest_field(value, args[0])
            case Response() if name == "json":
                return idioms.rest_object(value)
            case Response() if name == "raise_for_status":
                self.require(idioms.rest_exists(value), "requests.HTTPError")
                return False
        return None

    def _path_method(self, path: str, name: str, args: list[Any]) -> Any:
        match name:
            case "exists":
                return cond(idioms.exists(path))
            case "is_file":
                return cond(idioms.exists(path, "file"))
            case "is_dir":
                return cond(idioms.exists(path, "directory"))
            case "read_bytes":
                self.require(idioms.exists(path, "file"), "OSError")
                return Content(path)
            case "read_text":
                self.require(idioms.exists(path, "file"), "OSError")
                return Text((("path", path),))
            case "open" if args == ["rb"]:
                self.require(idioms.exists(path, "file"), "OSError")
                return OpenFile(path, binary=True)
            case "open" if not args or args[0] == "r":
                self.require(idioms.exists(path, "file"), "OSError")
                return OpenFile(path)
            case "stat":
                self.require(idioms.exists(path, "file"), "OSError")
                return Size(path, status=True)
            case "iterdir":
                self.require(idioms.exists(path, "directory"), "OSError")
                return Listing(path)
            case "glob" | "rglob" if len(args) == 1 and not re.search(r"[/\[\]]|\*\*", args[0]):
                return Listing(path, glob=args[0], deep=name == "rglob")
            case "joinpath" if all(isinstance(part, str) for part in args):
                return FsPath(idioms.joined(path, *args))
            case "resolve" | "absolute" | "expanduser":
                return FsPath(path)
        return None
