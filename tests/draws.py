"""Random draws of tests: each is seeded, by the test's name where no other seed is meant, so that a failure repeats.

What may vary from run to run: keys, salts, tokens and ids that the product draws itself, and a word that must be found
nowhere else on the machine (`MAY_VARY`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

MAY_VARY = {
    "journeys/test_hygiene.py": "words that are searched for on the whole machine",
    "quarterturn/http/test_submissions.py": "a name that the engine's store cannot have yet",
    "quarterturn/servers/notebook.py": "a server whose draws the world freezes",
    "quarterturn/servers/test_canaries.py": "a file that cannot be there yet",
    "sandbox/boxes/docker/test_added_servers.py": "an image that the engine cannot have yet",
    "sandbox/gateway/test_keyless.py": "words that are searched for in memory",
    "sandbox/model_gateway/test_clients.py": "a key that is searched for in all processes",
    "sandbox/runs/test_run.py": "words that are searched for in all processes",
}
"""Files that draw without a seed, and why."""

_SYSTEM = {"os.urandom", "uuid.uuid1", "uuid.uuid4", "random.SystemRandom"}
_SEEDED = {"Random", "default_rng"}


def unseeded_draws_in(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield each call that draws without a seed: its line, and its name."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func)
        module, _, function = name.rpartition(".")
        unseeded = not node.args and not node.keywords
        if (
            name in _SYSTEM
            or module == "secrets"
            or (function in _SEEDED and unseeded)
            or (module in {"random", "np.random", "numpy.random"} and function not in {*_SEEDED, "Generator"})
        ):
            yield node.lineno, name
