"""Builders that ask predicates of a state, one namespace at a time."""

from typing import Any

from verifiers.language.in_process import judge
from verifiers.language.predicate import parse
from verifiers.language.verdict import Evidence, Verdict
from verifiers.tree import JudgeInput


class Asked:
    """Asks predicates of one namespace; `always` are arguments that each of them gets."""

    def __init__(self, namespace: str, **always: Any) -> None:
        self.namespace, self.always = namespace, always

    def evidence(self, views: JudgeInput, name: str, /, **arguments: Any) -> Evidence:
        return judge(parse(self._probe(name, arguments)), views)

    def denied(self, views: JudgeInput, name: str, /, **arguments: Any) -> Verdict:
        """Return whether it is known not to hold."""
        return judge(parse({"not": self._probe(name, arguments)}), views).verdict

    def __call__(self, views: JudgeInput, name: str, /, **arguments: Any) -> bool:
        """Return whether it holds, which has to be known."""
        found = self.evidence(views, name, **arguments)
        assert found.verdict is not Verdict.UNKNOWN, found.found
        return found.verdict is Verdict.TRUE

    def wins_nothing(self, views: JudgeInput, name: str, /, **arguments: Any) -> None:
        """Require that on a broken state both it and its opposite are false."""
        assert self.evidence(views, name, **arguments).verdict is Verdict.FALSE
        assert self.denied(views, name, **arguments) is Verdict.FALSE

    def _probe(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return {f"{self.namespace}.{name}": {**self.always, **arguments}}
