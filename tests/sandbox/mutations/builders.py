"""Builders that the tests of mutations share."""

from sandbox.mutations.mutators import mutate


def mistakes_of(module, server, before, after):
    """Make each typical mutation, require that it changes something, and return their kinds."""
    mistakes = list(module.mistakes(before, after))
    for name, change in mistakes:
        assert dict(mutate(server, after, change)) != dict(after), name
    return {name.partition(" ")[0] for name, _ in mistakes}
