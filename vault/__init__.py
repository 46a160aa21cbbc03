"""Tasks: their documents, sealed storage, public commitments and the transparency log.

Entry points: `Task` (the document), `lifecycle` (its transition table), `commitment` (published now, opened later),
`Vault` (sealed tasks and secrets; every opening is logged), `FileKeyRing` (wraps the data keys), `open_engine` and
`transaction` (the only way to write to the database), `Ledger` (the rows of the public log) and `ledger` (the log
itself, and the audit of it).

Nothing is imported here: an auditor loads `vault.ledger` and `vault.commitment` with the standard library and
`cryptography` alone.
"""
