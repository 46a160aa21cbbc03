"""Asks predicates of the state of one server."""

from verifiers.tree import JudgeInput

from ...verifiers.builders import Asked


def holds_in(namespace, **always):
    """Return a function that says if a predicate holds in a tree; `always` are arguments that each of them gets."""
    asked = Asked(namespace, **always)
    return lambda tree, name, /, **arguments: asked(JudgeInput({namespace: tree}), name, **arguments)
