"""`quarterturn serve` with one command in the place of every image, in the bwrap box, and shorter leases.

python -m tests.quarterturn.runners.command_service COMMAND LOCKS serve --home HOME …

The machine's lock lies in LOCKS, so that no test elsewhere is waited for.
"""

import sys
from datetime import timedelta
from pathlib import Path

from quarterturn.cli import main
from quarterturn.runs import jobs
from quarterturn.runs.request import RunRequest
from quarterturn.submissions.store import queue
from sandbox.isolation import machine_lock

if __name__ == "__main__":
    command, locks = sys.argv.pop(1), Path(sys.argv.pop(1))
    machine_lock.shared_folder = lambda: locks
    queue.LEASE = timedelta(seconds=9)
    queue.RENEWAL_SECONDS, queue.MAX_SIGHT_GAP = 3.0, queue.LEASE / 2
    queue.CLOSING_GRID_SECONDS, jobs.REAP_SECONDS = 0.001, 1.0
    RunRequest.of = lambda submission, _: RunRequest(None, command, submission.account, "bwrap")
    RunRequest.run_class = lambda *_, **__: "sealed"  # as images have it
    main()
