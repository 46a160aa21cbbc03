"""Set of a home: its copy of the set file, or the shipped set that its settings name where it has none."""

from __future__ import annotations

from quarterturn.errors import Malformed
from quarterturn.home.paths import HomePaths
from rotation.month.sets import SetSpec, named, read


def of_home(places: HomePaths, name: str) -> SetSpec:
    """Return the set of a home.

    Args:
        places: the home's files.
        name: the set's name, as the settings have it.

    Raises:
        Malformed: the set file does not add up, or is of another set.
        NotFound: the home has no set file, and there is no shipped set of this name.
    """
    if not places.set_file.is_file():
        return named(name)
    spec = read(places.set_file)
    if spec.name != name:
        raise Malformed(
            f"{places.settings}: 'benchmark.set' is '{name}', and {places.set_file} is the set '{spec.name}': "
            "write the same name in both"
        )
    return spec
