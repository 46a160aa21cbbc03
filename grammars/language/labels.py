"""Closed lists that grammars and sets share: categories, difficulties, and the traits that a set counts.

They are in a module of their own because a set is read in each command, and a grammar in few.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, get_args

Category = Literal["single-tool", "composition", "recovery"]
Difficulty = Literal["easy", "medium", "hard"]
CATEGORIES: tuple[Category, ...] = get_args(Category)
DIFFICULTIES: tuple[Difficulty, ...] = get_args(Difficulty)

ENGLISH = "en"
LANGUAGE_TAG = r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*"
"""The form of a language's name (BCP 47), such as `de` or `pt-BR`."""

Trait = Literal["several_servers", "conditional"]
"""What a skeleton may be; `grammars.language.traits` finds it out."""
TRAITS: tuple[Trait, ...] = get_args(Trait)
TRAIT_WORDS: Mapping[Trait, str] = MappingProxyType(
    {"several_servers": "of several servers", "conditional": "conditional"}
)
"""How a message says that tasks have a trait."""
