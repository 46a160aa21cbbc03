"""The vault at rest: tasks and other secrets as sealed rows, the access log, and the log's leaves."""
