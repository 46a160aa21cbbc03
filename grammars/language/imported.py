"""Store of imported grammars: private grammars of one benchmark, sealed in the vault like its tasks.

An import is one sealed blob of all files and dictionaries. It is checked as strictly as a shipped grammar before it is
stored; a later import for the same server replaces the earlier one for new draws, and the earlier one is kept.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from grammars.errors import Refused
from grammars.language.grammar import Grammar
from grammars.language.load import parse
from vault.store.tasks import Vault

_PREFIX = "grammar/"


@dataclass(frozen=True, slots=True)
class GrammarSource:
    """The source texts of a grammar: its files and dictionaries, by name."""

    files: Mapping[str, str] = field(repr=False)
    dictionaries: Mapping[str, str] = field(repr=False)

    def pack(self) -> bytes:
        """Write it as JSON."""
        return json.dumps({"files": dict(self.files), "dictionaries": dict(self.dictionaries)}).encode()

    @classmethod
    def unpack(cls, data: bytes) -> GrammarSource:
        """Read what `pack` wrote."""
        return cls(**json.loads(data))


class Imported:
    """The imported grammars of one home.

    Args:
        vault: what seals them.
        tools: the tools (`server.tool`) that exist.
        predicates: the predicates that exist.
    """

    def __init__(self, vault: Vault, tools: Collection[str], predicates: Collection[str]) -> None:
        self._vault, self._tools, self._predicates = vault, tools, predicates

    def check(self, source: GrammarSource) -> Grammar:
        """Parse and check the grammar without storing it.

        Raises:
            Malformed: a file cannot be understood; the message names file, template and field.
        """
        return parse(source.files, source.dictionaries, tools=self._tools, predicates=self._predicates)

    def keep(self, source: GrammarSource, *, who: str) -> Grammar:
        """Check a grammar and seal it.

        Raises:
            Malformed: as for `check`.
            Refused: it is identical to the newest import of its server.
        """
        grammar = self.check(source)
        versions, packed = self._versions(grammar.server), source.pack()
        # Not by digest: it leaves the order of keys out, and columns are drawn in theirs.
        if versions and self._vault.open_blob(versions[-1], who=who, why="compare with an import") == packed:
            raise Refused(f"this {grammar.server} grammar is the one in force already; nothing was changed")
        self._vault.seal_blob(f"{_PREFIX}{grammar.server}/{len(versions) + 1:06d}", packed)
        return grammar

    def servers(self) -> dict[str, int]:
        """Map each server that has imports to their number, without opening any."""
        names = [name.split("/")[1] for name in self._vault.blob_names(_PREFIX)]
        return {name: names.count(name) for name in sorted(set(names))}

    def in_force(self, *, who: str, why: str) -> dict[str, Grammar]:
        """Open the newest import of each server."""
        return {server: self._open(self._versions(server)[-1], who=who, why=why) for server in self.servers()}

    def _versions(self, server: str) -> list[str]:
        return sorted(self._vault.blob_names(f"{_PREFIX}{server}/"))

    def _open(self, name: str, *, who: str, why: str) -> Grammar:
        return self.check(GrammarSource.unpack(self._vault.open_blob(name, who=who, why=why)))
