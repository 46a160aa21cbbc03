"""What a worker does for each task of an official run before its agent starts, for all tasks at once."""

from rotation.runs.official import OfficialRuns, OpenRun
from vault.task.document import Task


def serve(official: OfficialRuns, run: OpenRun) -> list[Task]:
    """Serve a run all tasks that it was not served yet, and give them."""
    tasks = official.prepare(run)
    official.serve(run, *(task.id for task in tasks if task.id not in run.sealed))
    return tasks
