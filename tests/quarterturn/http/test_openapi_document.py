"""Tests that the OpenAPI description is the application's, with each route's permissions and errors."""

from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from quarterturn.http import openapi_document
from quarterturn.http.app import skeleton
from quarterturn.http.responses.access import ACCESS, PAGES
from quarterturn.http.responses.problems import PROBLEMS

WRITTEN = Path(__file__).resolve().parents[3] / "docs" / "reference" / "openapi.yaml"


@pytest.fixture(scope="module")
def described():
    return openapi_document.describe(skeleton())


def test_the_description_is_that_of_the_running_application(described):
    again = "write it again: python -m quarterturn.http.openapi > docs/reference/openapi.yaml"
    assert WRITTEN.read_text(encoding="utf-8") == openapi_document.as_yaml(described), again


def test_it_is_openapi_three_one_and_plain_yaml(described):
    assert described["openapi"] == "3.1.0"
    assert yaml.safe_load(WRITTEN.read_text(encoding="utf-8")) == described
    for schema in described["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)


def test_every_operation_says_who_may_and_how_it_says_no(described):
    found = {}
    for path, item in described["paths"].items():
        for method, operation in item.items():
            row = (method.upper(), path.replace("{path}", "{path:path}"))
            found[row] = operation.get("x-scope")
            for status, answer in operation["responses"].items():
                if not status.startswith(("2", "3")):
                    name = answer["$ref"].rpartition("/")[2]
                    assert described["components"]["responses"][name]["content"].keys() == {"application/problem+json"}
            assert {"429", "default"} <= operation["responses"].keys()
            assert {"401", "403"} <= operation["responses"].keys() or found[row] is None
            assert ("security" in operation) == (found[row] is not None or row == ("GET", "/runs/{id}"))
            assert operation["description"]
    assert found == {row: scope for row, scope in ACCESS.items() if row not in PAGES}


def test_every_problem_has_an_example_that_fits_its_schema(described):
    validator = Draft202012Validator(described["components"]["schemas"]["Problem"])
    shown = set()
    for answer in described["components"]["responses"].values():
        for code, example in answer["content"]["application/problem+json"]["examples"].items():
            validator.validate(example["value"])
            assert example["value"]["code"] == code
            shown.add(code)
    assert shown == PROBLEMS.keys() - {"cross-site"}, "which is of pages alone"


def test_operations_have_names_of_their_own(described):
    names = [operation["operationId"] for item in described["paths"].values() for operation in item.values()]
    assert len(names) == len(set(names))


def test_answers_are_as_they_are_described(site, described):
    site.account("ada")
    made = site.post("/submissions", {"image": "agent:1"}, "ada")
    registry = Registry().with_resource("urn:api", Resource(described, DRAFT202012))

    def fits(answer, path, method="get", status="200"):
        schema = described["paths"][path][method]["responses"][status]["content"]["application/json"]["schema"]
        whole = {"$id": "urn:api", **described, **schema}
        Draft202012Validator(whole, registry=registry).validate(answer.json())

    fits(made, "/submissions", "post", "201")
    task = site.get("/tasks?limit=1").json()["tasks"][0]["id"]
    fits(site.get(f"/tasks/{task}"), "/tasks/{id}")
    for path, who in (
        ("/tasks", None), ("/leaderboard", None), ("/rotations", None), ("/releases", None), ("/months", None),
        ("/quota", "ada"), ("/submissions", "ada"), ("/admin/tokens", "maintainer"), ("/admin/queue", "runner"),
        ("/readyz", None),
    ):  # fmt: skip
        fits(site.get(path, who), path)
    problem = site.get("/nowhere").json()
    Draft202012Validator(described["components"]["schemas"]["Problem"]).validate(problem)
    assert problem["code"] in PROBLEMS


def test_the_running_application_gives_the_same(site, described):
    assert site.get("/openapi.json").json() == described
