"""Fixtures of a forge in this process; all (`--all`) checks its every answer against GitHub's API description."""

from __future__ import annotations

import json
import re
import subprocess
from functools import cache
from urllib.parse import parse_qsl, urlsplit

import pytest
from openapi_schema_validator import OAS30Validator, oas30_format_checker
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT4

from sandbox.kinds.common.check import check
from sandbox.kinds.forge.backend.protocol.web import HttpRequest
from sandbox.kinds.forge.backend.routes import ForgeApp
from sandbox.kinds.forge.backend.storage.state import ForgeState
from sandbox.kinds.forge.kind import STATE, seed

from ....needs import GITHUB_API, missing, needing
from ....sizes import plays_all
from ...builders import unpack

HERE = "urn:github"


class Description:
    """GitHub's API description, read once.

    It describes no `git/refs/heads/{branch}` to be read, which GitHub answers still; judged as `git/ref/{ref}`.
    """

    def __init__(self):
        self.document = json.loads(GITHUB_API.read_text(encoding="utf-8"), object_hook=meant)
        # An issue without a text has null for it in a search too, whatever is said of it.
        self.document["components"]["schemas"]["issue-search-result-item"]["properties"]["body"]["nullable"] = True
        self.registry = Registry().with_resource(HERE, Resource(self.document, DRAFT4))
        self.seen = set()

    def check(self, method, path, status, body):
        """Validate a response against the description of its path, method and status."""
        if status == 500 or status in {401, 403} or path == "/nowhere":
            assert {"message", "documentation_url", "status"} <= body.keys()
            return
        template = self.template(method, path)
        responses = self.document["paths"][template][method.lower()]["responses"]
        assert str(status) in responses, f"{method} {template} never answers with {status}"
        self.seen.add((method, template, status))
        pointer = f"{HERE}#/paths/{escaped(template)}/{method.lower()}/responses/{status}"
        response = responses[str(status)]
        if "$ref" in response:
            pointer = HERE + response["$ref"]
            response = self.document["components"]["responses"][response["$ref"].rpartition("/")[2]]
        if "content" not in response:
            return
        schema = {"$ref": f"{pointer}/content/{escaped('application/json')}/schema"}
        variants = response["content"]["application/json"]["schema"].get("oneOf")
        if status >= 400 and variants:  # the kinds of errors there overlap
            schema = {"anyOf": [{"$ref": HERE + variant["$ref"]} for variant in variants]}
        validator = OAS30Validator(schema, registry=self.registry, format_checker=oas30_format_checker)
        errors = sorted(validator.iter_errors(body), key=lambda error: list(map(str, error.absolute_path)))
        assert not errors, f"{method} {template} {status}: " + "; ".join(
            f"{'/'.join(map(str, error.absolute_path))}: {error.message[:200]}" for error in errors[:5]
        )

    def template(self, method, path):
        found = re.sub(r"/git/refs/", "/git/ref/", path) if method == "GET" else path
        found = re.sub(r"/contents$", "/contents/root", found)
        fitting = [one for one in self.patterns(method) if self.patterns(method)[one].fullmatch(found)]
        assert fitting, f"{method} {path} is not described"
        return min(fitting, key=lambda one: (one.count("{"), -len(one)))

    @cache  # noqa: B019 - one description lives as long as the session
    def patterns(self, method):
        many = {"path", "ref", "branch"}
        return {
            path: re.compile(re.sub(r"\\{(\w+)\\}", lambda m: ".+" if m[1] in many else "[^/]+", re.escape(path)))
            for path, methods in self.document["paths"].items()
            if method.lower() in methods
        }


def meant(node):
    """Correct the description where GitHub's answers differ from its letter.

    A value that may be null is so also where its values are listed, and a list has no property to tell kinds apart by.
    """
    kept = {key: value for key, value in node.items() if key != "discriminator"}
    return kept | {"enum": [*node["enum"], None]} if node.get("nullable") and "enum" in node else kept


def escaped(part):
    """Escape a part of a JSON pointer for the fragment of a URI."""
    return part.replace("~", "~0").replace("/", "~1").replace("{", "%7B").replace("}", "%7D")


PROGRAM = "def run():\n    return 1\n"
PLEASE = {"user": "bob", "body": "Please, @ada"}
SITE = {
    "description": "The site",
    "topics": ["web"],
    "language": "HTML",
    "collaborators": ["bob"],
    "commits": [
        {"branch": "main", "message": "Begin", "files": {"README.md": "# Site\n", "src/app.py": PROGRAM}},
        {"branch": "main", "message": "Say more", "files": {"docs/a.md": "one\ntwo\nthree\n"}, "author": "bob"},
        {"branch": "draft", "from": "main", "message": "Change two", "files": {"docs/a.md": "one\n2\nthree\n"}},
        {"branch": "draft", "message": "Add a footer", "files": {"footer.html": "bye\n"}},
        {"branch": "rival", "from": "main", "message": "Change two too", "files": {"docs/a.md": "one\nTWO\nthree\n"}},
    ],
    "branches": {"spare": "main"},
    "labels": [{"name": "bug", "color": "d73a4a", "description": "Broken"}, {"name": "later"}],
    "milestones": [{"title": "v1", "due_on": "2024-09-01"}],
    "issues": [
        {"title": "Menu is broken", "body": "It does not open", "user": "bob", "labels": ["bug"], "assignees": ["ada"]},
        {"title": "Write a guide", "body": None, "state": "closed", "comments": [PLEASE]},
        {"title": "Old wish", "labels": ["bug", "later"], "milestone": 1, "created_at": "2024-02-01"},
    ],
    "pulls": [
        {"title": "A footer", "body": "Fixes #1", "head": "draft", "base": "main", "user": "bob"},
        {"title": "Shout", "head": "rival", "base": "main", "user": "ada", "draft": True},
    ],
    "statuses": [{"branch": "draft", "context": "ci", "state": "success", "description": "fine"}],
}
WORLD = {
    "viewer": "ada",
    "users": [
        {"login": "ada", "name": "Ada L", "email": "ada@example.org", "location": "London"},
        {"login": "bob", "name": "Bob"},
        {"login": "acme", "type": "Organization", "members": ["ada"]},
    ],
    "repositories": {
        "acme/site": SITE,
        "bob/tool": {"commits": [{"branch": "main", "message": "Begin", "files": {"tool.sh": "echo site\n"}}]},
        "bob/secret": {"private": True, "commits": [{"branch": "main", "message": "Hide", "files": {"a": "site"}}]},
        "ada/empty": {},
    },
}


@cache
def seeded(state):
    """Return a state as a tar, which is made once."""
    check(STATE, json.loads(state), "the state")
    return seed(json.loads(state)).to_tar()


class Asked:
    """A forge that is called with method, path and body."""

    def __init__(self, folder, state, check_answer):
        unpack(seeded(json.dumps(state)), folder)
        self.folder, self.check_answer = folder, check_answer
        self.forge = ForgeApp(ForgeState(folder))
        self.headers = {"authorization": "Bearer world"}

    def __call__(self, method, path, body=None, *, status=200, headers=None):
        parts = urlsplit(path)
        data = b"" if body is None else json.dumps(body).encode()
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        request = HttpRequest(method, parts.path, query, self.headers if headers is None else headers, data)
        self.answer = self.forge(request)
        assert self.answer.status == status, self.answer.body
        shown = json.loads(self.answer.encoded())
        self.check_answer(method, parts.path.rstrip("/"), status, shown)
        return shown

    def git(self, *words, name="acme/site"):
        """Run git on a repository, and return what it prints."""
        command = ["git", "--git-dir", self.folder / "repositories" / f"{name}.git", *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    def state(self):
        return json.loads((self.folder / "state.json").read_text())


@pytest.fixture(scope="session")
@needing("github-api")
def description():
    return Description()


@pytest.fixture(scope="session")
def check_answer(pytestconfig, request):
    """Return what checks an answer: nothing in the small size, which does not fetch the description."""
    if plays_all(pytestconfig) and not missing("github-api"):
        return request.getfixturevalue("description").check
    return lambda *answer: None


@pytest.fixture
def forge(tmp_path, check_answer):
    return Asked(tmp_path, WORLD, check_answer)


@pytest.fixture
def forge_of(tmp_path, check_answer):
    return lambda state: Asked(tmp_path / str(len(list(tmp_path.iterdir()))), state, check_answer)
