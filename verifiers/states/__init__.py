"""State kinds: for each, a reader of the submitted bytes and predicates over its normal form."""

READERS = (
    "verifiers.formats.archive",
    "verifiers.states.calendar.ics",
    "verifiers.states.calendar.reader",
    "verifiers.states.files.reader",
    "verifiers.states.forge.reader",
    "verifiers.states.git.objects",
    "verifiers.states.git.reader",
    "verifiers.states.git.index",
    "verifiers.states.graph.reader",
    "verifiers.language.in_process",
    "verifiers.states.json_document.reader",
    "verifiers.states.mailbox.reader",
    "verifiers.states.postgres.reader",
    "verifiers.states.readers",
    "verifiers.states.redis.reader",
    "verifiers.formats.shape",
    "verifiers.formats.snapshot_reader",
    "verifiers.states.sqlite.reader",
    "verifiers.states.sqlite.recovery",
    "verifiers.states.workbook.formula",
    "verifiers.states.workbook.functions",
    "verifiers.states.workbook.operands",
    "verifiers.states.workbook.reader",
)
"""The modules that parse submitted states, or import one that does: no process that holds keys imports any of them."""
