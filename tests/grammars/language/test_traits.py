"""Tests of a skeleton's traits: several servers by its solutions, conditional by a nonterminal's name."""

from grammars.language.load import parse
from grammars.language.traits import traits

BOTH = "[{tool: filesystem.write_file, arguments: {}}, {tool: git.t1, arguments: {}}, {tool: git.t2, arguments: {}}]"
ONE = "[{tool: filesystem.write_file, arguments: {}}, {tool: filesystem.t1}, {tool: filesystem.t2}]"


def changed(small, ways):
    """Return the small grammar as a composition over two servers, with these solutions."""
    spec = small.replace("tools: {", "tools: {git: [t1, t2], ").replace("single-tool", "composition")
    start = spec.index("    solution: ")
    end = spec.index("    predicate: ")
    solutions = "".join(f"      {name}: {calls}\n" for name, calls in ways.items())
    text = f"{spec[:start]}    solutions:\n{solutions}{spec[end:]}".replace(
        "{filesystem: 11}", "{filesystem: 9, git: 2}"
    )
    return parse({"small.yaml": text.replace("git: 2}", "git: all}")}, {})


def test_listed_tools_of_another_server_do_not_count_and_every_solution_has_to_span(small):
    one_server = changed(small, {"one": ONE})
    assert set(traits(one_server).values()) == {frozenset()}
    assert set(traits(changed(small, {"two": BOTH, "another": ONE})).values()) == {frozenset()}
    assert set(traits(changed(small, {"two": BOTH})).values()) == {frozenset({"several_servers"})}


def test_a_nonterminal_named_condition_makes_a_template_conditional(small):
    grammar = parse({"small.yaml": small.replace("kind", "condition")}, {})
    assert set(traits(grammar).values()) == {frozenset({"conditional"})}
