"""Explanations of the rows of a comparison, as its page shows them."""

from __future__ import annotations

EXPLANATIONS = {
    "quality": "trials that passed: answer and state are right, and no budget was exceeded",
    "calls_saved": "1 - calls / calls allowed; 0 of a failed trial",
    "fairness": ".80 passed + .20 calls saved: what the server is worth to its user",
    "adoption": ".60 calls that succeeded + .40 whether any did: how fluently the server was used; never added to "
    "fairness; the baseline has none",
    "grounding": "citations (path:line) in answers that are there, of those that could be looked up",
    "calls": "tool calls of a passed trial",
    "bytes_shown": "bytes of goal, listed tools and results of a passed trial, each counted once",
    "turns": "requests to the model in a passed trial",
    "tokens": "tokens that the model read and wrote in a passed trial",
}
