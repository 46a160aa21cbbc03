"""Steps 4 and 5 of a turn: the `retire` leaf binds what is released, then `Historical-YYYY-MM` is written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rotation.detection.evidence import EvidenceWriter
from rotation.month.store import Cohort, MonthStore, Turn
from rotation.runs.run_ledger import PUBLISH, WHO, RunLedger
from rotation.runs.withdrawal import Withdrawals, Withdrawn, evidence_name
from rotation.turn import turn_facts
from rotation.turn.draw_seeds import DrawSeeds
from vault.canonical import canonical, parse_object
from vault.ledger.release.bundle import BundleContent, TaskOpening, write_bundle
from vault.ledger.release.bundle_reader import MAX_LINE
from vault.ledger.statements import leaf
from vault.store.public_log import PublicLog
from vault.store.tasks import Vault


class ReleaseSteps:
    """Retires the oldest cohort and publishes its release in `folder`."""

    def __init__(
        self,
        vault: Vault,
        ledger: PublicLog,
        months: MonthStore,
        run_ledger: RunLedger,
        withdrawals: Withdrawals,
        *,
        evidence: EvidenceWriter,
        folder: Path,
    ) -> None:
        self._vault, self._ledger, self._months = vault, ledger, months
        self._run_ledger, self._withdrawals, self._folder = run_ledger, withdrawals, folder
        self._evidence = evidence
        self._collected: BundleContent | None = None  # what step 4 collected, for step 5

    def retire(self, turn: Turn) -> None:
        """Bind the manifest of everything that will be published, before any of it is readable (step 4)."""
        cohort = self._months.cohort_retiring(turn.month)
        if cohort is None:
            return self._months.note_step(turn.month, "retire")
        content = self.content(turn, cohort)
        statement = leaf.retire(
            month=content.month,
            cohort=content.cohort,
            manifest=content.manifest_digest(),
            tasks=[
                {
                    "id": task.document["id"],
                    "commitment": self._vault.record(task.document["id"]).commitment.hex(),
                    "sha256": leaf.sha256_hex(canonical(task.document)),
                }
                for task in content.tasks
            ],
            spot_check=turn_facts.spot_check(turn),
            draw_seeds=self._draw_seeds(turn, cohort),
        )
        with self._months.transaction() as session:
            self._ledger.record(f"retire/{turn.month}", statement, session=session)
            for task_id in cohort.tasks:
                self._vault.advance(task_id, "retire", session=session)
            self._months.move(session, cohort.id, "retired")
            self._months.step_done(session, turn.month, "retire", {})
        self._collected = content
        return None

    def publish(self, turn: Turn) -> None:
        """Publish the checkpoint that covers the leaf, then write the release whole; then its tasks are published."""
        cohort = self._months.cohort_retiring(turn.month)
        if cohort is None:
            return self._months.note_step(turn.month, "publish")
        self._ledger.publish()
        content, self._collected = self._collected, None
        if content is None or content.month != str(turn.month):  # another process did step 4
            content = self.content(turn, cohort)
        self._write(content)
        with self._months.transaction() as session:
            for task_id in cohort.tasks:
                self._vault.advance(task_id, "publish", session=session)
            self._months.mark_seen(session, cohort.id, "published", turn.month)
            self._months.move(session, cohort.id, "published")
            self._months.step_done(session, turn.month, "publish", {})
        return None

    def forget(self) -> None:
        """Drop what was collected and not written: another process may go on with the turn."""
        self._collected = None

    def written(self, turn: Turn) -> Path | None:
        """Return the folder of a turn's release, or None if there is none yet; a missing folder is written again."""
        cohort = self._months.cohort_retiring(turn.month)
        return self._write(self.content(turn, cohort)) if cohort is not None and "publish" in turn.done else None

    def content(self, turn: Turn, cohort: Cohort) -> BundleContent:
        """Collect everything that this retirement publishes; the same turn always gives the same bytes."""
        withdrawn = self._withdrawn(turn, cohort)
        page = turn.facts.get("page")
        return BundleContent(
            month=str(turn.month),
            cohort=cohort.id,
            origin=self._ledger.origin,
            canary=turn.facts["canary"],
            first=0,  # the whole log: an auditor could not check what is left out
            tasks=[self._opening(task_id, turn) for task_id in cohort.tasks],
            withdrawn=[self._opening(entry.task, turn) for entry in withdrawn],
            broken=[self._broken(entry, turn) for entry in withdrawn if entry.cause == "broken"],
            runs=self._run_ledger.openings(cohort, why=f"publish {turn.month.release}"),
            evidence=list(self._evidence.of_release(cohort.id, f"{PUBLISH}{turn.month.release}")),
            page=self._months.page(page).encode() if page is not None else None,
        )

    def _write(self, content: BundleContent) -> Path:
        """Write the release atomically and give its folder."""
        self._folder.mkdir(parents=True, exist_ok=True)
        folder = self._folder / f"Historical-{content.month}"
        write_bundle(folder, content, self._ledger.folder)
        return folder

    def _withdrawn(self, turn: Turn, cohort: Cohort) -> list[Withdrawn]:
        """List what was withdrawn from the cohort, and from the reserve since the last turn, in the log's order."""
        own = self._ledger.find(f"retire/{turn.month}")
        earlier = (
            self._ledger.find(f"retire/{cohort.retires}")
            for cohort in self._months.cohorts()
            if cohort.retires < turn.month
        )
        before = max((leaf for leaf in earlier if leaf is not None), default=None)
        withdrawals = [entry for entry in self._withdrawals.recorded() if own is None or entry.leaf < own]
        spare = [
            entry.leaf for entry in withdrawals if entry.cohort is None and (before is None or before < entry.leaf)
        ]
        return [entry for entry in withdrawals if entry.cohort == cohort.id or entry.leaf in spare]

    def _broken(self, entry: Withdrawn, turn: Turn) -> dict[str, Any]:
        """Open what shows that a withdrawn task was broken."""
        data = self._vault.open_blob(evidence_name(entry.task), who=WHO, why=f"{PUBLISH}{turn.month.release}")
        return {"task": entry.task, **parse_object(data, f"the evidence of {entry.task}", max_size=MAX_LINE)}

    def _draw_seeds(self, turn: Turn, cohort: Cohort) -> list[dict[str, Any]]:
        first = min(each.entered for each in self._months.cohorts())
        return DrawSeeds(self._vault, self._ledger).openings(first, turn.month, cohort.tasks, who=WHO)

    def _opening(self, task_id: str, turn: Turn) -> TaskOpening:
        opened = self._vault.open(task_id, who=WHO, why=f"{PUBLISH}{turn.month.release}")
        return TaskOpening(
            document=opened.task.document,
            salt=opened.salt,
            commit=self._ledger.index_of(f"commit/{task_id}"),
            provenance=opened.provenance,
            provenance_salt=opened.provenance_salt,
            variant_key=self._vault.variant_key(task_id) if opened.task.variant_key else None,
        )
