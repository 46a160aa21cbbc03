"""Starts the twin: `python3 -I /opt/ours/sandbox/kinds/forge/backend FOLDER SOCKET`.

Writes the line `ready` once it answers. Every write is on the disk before it is answered.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[4])  # the package's own home, and not its inside

from sandbox.kinds.forge.backend.protocol.web import serve  # noqa: E402
from sandbox.kinds.forge.backend.routes import ForgeApp  # noqa: E402 - it can be found only now
from sandbox.kinds.forge.backend.storage.state import ForgeState  # noqa: E402

if __name__ == "__main__":
    folder, place = sys.argv[1:]
    serve(ForgeApp(ForgeState(Path(folder))), place, lambda: print("ready", flush=True))  # noqa: T201 - init waits for it
