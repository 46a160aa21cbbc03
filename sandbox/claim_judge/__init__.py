"""Claim judge: asks a language model about each claim of `answer.claims`, one request a claim, and keeps the replies.

    runner ---- link ----> model process ----https----> upstream
    no upstream's key      that key and no other

The model process is the model gateway's (`sandbox.model_gateway`), started for the judge alone: it builds each request
anew from the same tables, counts the same budgets, and writes the same log. The runner composes requests and reads no
reply; a judge process without keys does (`sandbox.judge`, `verifiers.answer.claims`).
"""
