"""Reasons for refusing a field that several tables share."""

from __future__ import annotations

PROVIDER = "what runs on the provider's side would be a way out"
STORED = "the provider would keep it"
IDENTITY = "it names somebody to the provider"
TIER = "it is the operator's to choose"
OUTPUT = "its output is not passed back"
ELSEWHERE = "it hands the request to something else than the model"
CACHE = "a cache that is shared between runs would be a way from one to another"
