"""What a worker does for each task of an official run before its agent starts, for all tasks at once."""

from rotation.runs.run_tasks import OpenRun, RunTasks
from vault.task.document import Task


def serve(run_tasks: RunTasks, run: OpenRun) -> list[Task]:
    """Serve a run all tasks that it was not served yet, and give them."""
    tasks = [planned.task for planned in run_tasks.prepare(run)]
    run_tasks.serve(run, *(task.id for task in tasks if task.id not in run.sealed))
    return tasks
