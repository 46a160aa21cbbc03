"""What a task is, and how it is sealed and promised.

The doors: `task.Task` (the document), `lifecycle` (its life, as one table), `commitment` (what is promised now and
opened later), `store.Vault` (tasks and secrets at rest, every opening logged), `keys.FileKeyRing` (what wraps the data
keys), `db.open_engine` and `db.transaction` (the only way to write), `ledger_store.Ledger` (the rows of the public log)
and `ledger` (the log itself, and the audit of it).

Nothing is imported here: an auditor loads `vault.ledger` and `vault.commitment` with the standard library and
`cryptography` alone.
"""
