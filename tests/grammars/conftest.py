"""Fixtures for the grammars' tests: a small grammar to break, and a prover over a file tree in memory."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest

from grammars.draw.sample import sample
from grammars.language.grammar import Draft, Grammar
from grammars.language.load import parse
from sandbox.kinds.files.kind import FILES
from sandbox.mutations.mutators import mutate
from sandbox.runs.prover import MutantResult
from vault.task.document import Task
from verifiers.formats.state_document import document_of
from verifiers.language import predicate
from verifiers.language.in_process import judge
from verifiers.language.verdict import Evidence, Verdict
from verifiers.tree import FileTree, JudgeInput, Node

SMALL = """
grammar: filesystem
version: 1
tools: {filesystem: [write_file, read_text_file, move_file, create_directory, t1, t2, t3, t4, t5, t6, t7, t8, t9]}
templates:
  note:
    category: single-tool
    difficulty: [easy, hard]
    max_steps: 3
    distract: {filesystem: 11}
    parameters:
      name: {choice: [apple, pear, plum]}
      lines: {integer: {easy: [1, 3], hard: [4, 9]}}
    let: {path: "out/{name}.txt", text: "=lines(lists.range(lines).map(i, name + ' ' + string(i + secret)))"}
    nonterminals: {kind: [low, high]}
    constraints: ["lines != 2"]
    phrasings: ["Write {kind.phrase} {lines}.", "{kind.Phrase} {lines}, please.", "Now: {kind.phrase} {lines}"]
    state: [{filesystem: {files: {"in/{name}.txt": "old\\n"}, directories: [out]}}]
    solution: [{tool: filesystem.write_file, arguments: {path: "/data/files/{path}", content: "=text"}}]
    predicate: [{filesystem.fileTextEquals: {path: "=path", text: "=text"}}]
    mutants:
      - {name: removed, filesystem: {remove: "=path"}}
      - {name: emptied, filesystem: {write: {path: "=path", text: ""}}}
productions:
  low: {phrase: "the low ones of {name}", parameters: {secret: {integer: [100, 40000000]}}}
  high: {phrase: "the high ones of {name}", difficulty: hard, parameters: {secret: {integer: [50000000, 900000000]}}}
"""


@pytest.fixture
def small() -> str:
    return SMALL


@pytest.fixture
def grammar() -> Grammar:
    return parse({"small.yaml": SMALL}, {})


@pytest.fixture
def draft(grammar: Grammar) -> Draft:
    return sample(grammar, Random(7))


@dataclass(frozen=True)
class Played:
    evidence: Evidence
    calls: int
    errors: int
    spent: float
    state: FileTree
    log: Sequence[Any]

    @property
    def verdict(self) -> Verdict:
        return self.evidence.verdict


class MemoryProver:
    """A prover that knows write_file only, which is all that the small grammar needs."""

    def __init__(self) -> None:
        self.known = {"filesystem.write_file", "filesystem.read_text_file"}
        self.text = "Writes a file."
        self.more: list[MutantResult] = []
        self.spent = 0.25
        self.harmless: list[Mapping[str, Any]] = []
        self.twins: list[MutantResult] = []

    def check(self, document: Mapping[str, Any]) -> None:
        predicate.parse(Task.parse(document).success_predicate)

    def descriptions(self, tools: Sequence[str]) -> Mapping[str, str]:
        return dict.fromkeys(tools, self.text)

    def prove(self, document: Mapping[str, Any], calls: Sequence[Mapping[str, Any]], answer: str | None) -> Played:
        nodes = dict(FILES.seed(document["initial_state"]["filesystem"]))
        faults = {(fault["tool"], fault["call"]) for fault in document.get("faults", [])}
        made: dict[str, int] = {}
        log: list[dict[str, Any]] = []
        for call in calls:
            made[call["tool"]] = made.get(call["tool"], 0) + 1
            injected = (call["tool"], made[call["tool"]]) in faults
            error = injected or call["tool"] not in self.known
            log.append({**call, "error": error, "injected": injected, "result": "no such tool" if error else "done"})
            if call["tool"] == "filesystem.write_file" and not error:
                path = call["arguments"]["path"].removeprefix("/data/files/")
                nodes[path] = Node("file", data=call["arguments"]["content"].encode())
        tree = FileTree(nodes)
        errors = sum(call["error"] for call in log)
        return Played(_judge(document, tree, answer), len(calls), errors, self.spent, tree, log)

    def harmless_calls(
        self, document: Mapping[str, Any], calls: Sequence[Mapping[str, Any]]
    ) -> Sequence[Mapping[str, Any]]:
        return self.harmless

    def mutated(
        self, document: Mapping[str, Any], proved: Any, mutants: Sequence[Mapping[str, Any]]
    ) -> Sequence[Evidence]:
        return [self._mutated(document, proved, mutant) for mutant in mutants]

    def _mutated(self, document: Mapping[str, Any], proved: Any, mutant: Mapping[str, Any]) -> Evidence:
        if "answer" in mutant:
            return _judge(document, proved.state, mutant["answer"])
        return _judge(document, mutate("filesystem", proved.state, mutant["change"]), None)

    def end_state(
        self, document: Mapping[str, Any], proved: Any, mutant: Mapping[str, Any] | None = None
    ) -> Mapping[str, Any]:
        tree = proved.state
        if mutant and "answer" not in mutant:
            tree = mutate("filesystem", tree, mutant["change"])
        return document_of({"filesystem": tree})

    def mutant_results(self, document: Mapping[str, Any], proved: Any) -> Sequence[MutantResult]:
        return [MutantResult("gone", "broken", _judge(document, FileTree({}), None).verdict), *self.more]

    def twin_results(self, document: Mapping[str, Any], proved: Any) -> Sequence[MutantResult]:
        return self.twins


def _judge(document: Mapping[str, Any], tree: FileTree, answer: str | None) -> Evidence:
    return judge(predicate.parse(document["success_predicate"]), JudgeInput({"filesystem": tree}, answer))


@pytest.fixture
def prover() -> MemoryProver:
    return MemoryProver()


@pytest.fixture
def changed() -> Callable[[Draft, Mapping[str, Any], Mapping[str, Any]], Draft]:
    def change(draft: Draft, task: Mapping[str, Any], provenance: Mapping[str, Any]) -> Draft:
        return Draft({**draft.task, **task}, {**draft.provenance, **provenance})

    return change
