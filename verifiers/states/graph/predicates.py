"""Predicates over the memory server's knowledge graph, `memory.jsonl`.

Names, types and observations are exact texts. A relation is directed: from an entity, of a type, to an entity. A file
that is missing is an empty graph, as for the server; one that is no graph counts against the agent.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from verifiers.errors import TargetMissing
from verifiers.predicates.context import Context
from verifiers.predicates.registry import COUNT, NOTHING, TEXT, Example, ProbeResult, names, predicate
from verifiers.quoting import listed, quoted
from verifiers.states.graph.entities import Entity, Graph, open_graph
from verifiers.states.graph.examples import memory_graph
from verifiers.texts import casefolded, place_of

TEXTS = names(TEXT)
ONE_NAME = {"type": "string", "minLength": 1, "maxLength": 1024}
END = {"name": ONE_NAME}
A_THING, AN_OBSERVATION, LETTERS = (
    3,
    1,
    64,
)  # steps for an entity or a relation, for an observation, and for so many letters

ANN: tuple[str, str, list[str]] = ("Ann", "person", ["likes tea", "is 40"])
BERN: tuple[str, str, list[str]] = ("Bern", "city", [])
FULL = partial(memory_graph, [ANN, BERN], [("Ann", "lives in", "Bern")])
BARE = partial(memory_graph, [("Bob", "person", ["likes tea"])], [])
OTHER = partial(memory_graph, [("Ann", "robot", ["likes oil"]), BERN], [("Bern", "lives in", "Ann")])


@predicate(
    "memory.entityExists",
    words="there is an entity {name}",
    takes=END,
    may_take={"entityType": TEXT},
    produces=NOTHING,  # names; what is said of them are observations
    example=Example({"name": "Ann", "entityType": "person"}, FULL, OTHER),
)
def entity_exists(context: Context, name: str, entityType: str | None = None) -> ProbeResult:  # noqa: N803 - the server's name
    """There is an entity of this name, of this type where one is given."""
    entities = _graph(context).entities
    exists = any(entity.name == name and entityType in {None, entity.type} for entity in entities)
    return ProbeResult(exists, f"the entities are {listed([f'{entity.name} ({entity.type})' for entity in entities])}")


@predicate(
    "memory.entityCount",
    words="there are {count} entities",
    takes={"count": COUNT},
    may_take={"entityType": TEXT},
    produces=NOTHING,
    example=Example({"count": 1, "entityType": "city"}, FULL, BARE),
)
def entity_count(context: Context, count: int, entityType: str | None = None) -> ProbeResult:  # noqa: N803
    """There are this many entities, or this many of the type."""
    matching = [entity.name for entity in _graph(context).entities if entityType in {None, entity.type}]
    return ProbeResult(len(matching) == count, f"there are {len(matching)}: {listed(matching)}")


@predicate(
    "memory.observationExists",
    words="the entity {name} has the observation {observation}",
    takes={**END, "observation": TEXT},
    produces=("observation",),
    example=Example({"name": "Ann", "observation": "likes tea"}, FULL, OTHER),
)
def observation_exists(context: Context, name: str, observation: str) -> ProbeResult:
    """The entity has this observation, word for word."""
    observations = _observations(context, name)
    return ProbeResult(observation in observations, f"{quoted(name)} has {listed(observations)}")


@predicate(
    "memory.observationsEqual",
    words="the observations of the entity {name} are {observations}",
    takes={**END, "observations": TEXTS},
    produces=("observations",),
    example=Example({"name": "Ann", "observations": ["is 40", "likes tea"]}, FULL, OTHER),
)
def observations_equal(context: Context, name: str, observations: Sequence[str]) -> ProbeResult:
    """The entity has these observations and no others, in any order."""
    actual = _observations(context, name)
    return ProbeResult(sorted(actual) == sorted(observations), f"{quoted(name)} has {listed(actual)}")


@predicate(
    "memory.observationMatches",
    words="an observation of the entity {name} has {text} in it",
    takes={**END, "text": {"type": "string", "minLength": 1}},
    produces=("text",),
    example=Example({"name": "Ann", "text": "tea"}, FULL, OTHER),
)
def observation_matches(context: Context, name: str, text: str) -> ProbeResult:
    """At least one observation of the entity has this text in it; upper and lower case do not count."""
    actual, wanted, budget = _observations(context, name), text.casefold(), context.budget
    fits = any(place_of(wanted, casefolded(observation, budget), budget) >= 0 for observation in actual)
    return ProbeResult(fits, f"{quoted(name)} has {listed(actual)}")


@predicate(
    "memory.relationExists",
    words="there is a relation {relationType} from {source} to {target}",
    takes={"source": ONE_NAME, "relationType": TEXT, "target": ONE_NAME},
    produces=NOTHING,  # names; what is said of them are observations
    example=Example({"source": "Ann", "relationType": "lives in", "target": "Bern"}, FULL, OTHER),
)
def relation_exists(context: Context, source: str, relationType: str, target: str) -> ProbeResult:  # noqa: N803
    """There is this relation, in this direction, and both of its ends are there."""
    graph = _graph(context)
    exists = (source, relationType, target) in graph.relations
    lacking = [name for name in (source, target) if name not in graph.names]
    if exists and lacking:
        raise TargetMissing(f"the relation is there, and not its ends {listed(lacking)}")
    return ProbeResult(exists, f"the relations are {_relations_text(graph)}")


@predicate(
    "memory.relationCount",
    words="there are {count} relations",
    takes={"count": COUNT},
    may_take={"relationType": TEXT},
    produces=NOTHING,
    example=Example({"count": 1, "relationType": "lives in"}, FULL, BARE),
)
def relation_count(context: Context, count: int, relationType: str | None = None) -> ProbeResult:  # noqa: N803
    """There are this many relations, or this many of the type."""
    graph = _graph(context)
    kinds = [kind for _, kind, _ in graph.relations if relationType in {None, kind}]
    return ProbeResult(len(kinds) == count, f"there are {len(kinds)}; all relations are {_relations_text(graph)}")


@predicate(
    "memory.noDanglingRelations",
    words="every relation leads from an entity to an entity",
    takes={},
    produces=NOTHING,
    example=Example({}, FULL, partial(memory_graph, [ANN], [("Ann", "lives in", "Bern")])),
)
def no_dangling_relations(context: Context) -> ProbeResult:
    """Both ends of every relation are there."""
    graph = _graph(context)
    missing = sorted({end for source, _, target in graph.relations for end in (source, target)} - set(graph.names))
    return ProbeResult(
        not missing, f"relations lead to {listed(missing)}" if missing else "both ends of every relation are there"
    )


@predicate(
    "memory.entitiesEqual",
    words="the entities are {names}",
    takes={"names": TEXTS},
    may_take={"entityType": TEXT},
    produces=NOTHING,  # names; what is said of them are observations
    example=Example({"names": ["Bern", "Ann"]}, FULL, BARE),
)
def entities_equal(context: Context, names: Sequence[str], entityType: str | None = None) -> ProbeResult:  # noqa: N803
    """The entities, or those of the type, have these names, and there are no others."""
    actual = [entity.name for entity in _graph(context).entities if entityType in {None, entity.type}]
    return ProbeResult(sorted(actual) == sorted(names), f"they are {listed(actual)}")


def _graph(context: Context) -> Graph:
    """Return the graph, and charge the budget for reading all of it."""
    graph = open_graph(context)
    context.budget.step(A_THING * (len(graph.entities) + len(graph.relations)))
    return graph


def _observations(context: Context, name: str) -> Sequence[str]:
    observations = _entity(_graph(context), name).observations
    context.budget.step(AN_OBSERVATION * len(observations) + sum(map(len, observations)) // LETTERS)
    return observations


def _entity(graph: Graph, name: str) -> Entity:
    matching = [entity for entity in graph.entities if entity.name == name]
    if len(matching) != 1:
        raise TargetMissing(
            f"there are {len(matching)} entities {quoted(name)}; the entities are {listed(graph.names)}"
        )
    return matching[0]


def _relations_text(graph: Graph) -> str:
    return listed([f"{source} {kind} {target}" for source, kind, target in graph.relations])
