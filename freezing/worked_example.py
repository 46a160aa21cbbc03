"""Make the page `docs/reference/worked-example.md` (`COMMAND`).

Every value of `examples/release/` is computed here from the standard library alone, as somebody would who has nothing
but the documents, and compared with what the release says. Nothing of the project is imported.
"""

# ruff: noqa: E501, PLR0915 - sentences with values in them, one after the other

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

EXAMPLE = Path(__file__).parents[1] / "examples" / "release"
RELEASE = EXAMPLE / "Historical-2025-12"
COMMAND = ".venv/bin/python -m freezing.worked_example > docs/reference/worked-example.md"


def jcs(value: Any) -> bytes:
    """Write canonical JSON; nothing in the release has a fraction or a key beyond ASCII."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()


def sha(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def commitment(label: str, payload: bytes, salt: str) -> str:
    return hmac.new(bytes.fromhex(salt), f"quarterturn/{label}/v1\n".encode() + payload, hashlib.sha256).hexdigest()


def merkle(leaves: list[bytes]) -> bytes:
    """Return the root over leaf hashes (RFC 6962, section 2.1)."""
    if len(leaves) <= 1:
        return leaves[0] if leaves else sha(b"")
    half = 1 << (len(leaves) - 1).bit_length() - 1
    return sha(b"\1" + merkle(leaves[:half]) + merkle(leaves[half:]))


def root_of(digests: list[str]) -> str:
    """Return a root whose leaves are digests in hex, in this order."""
    return merkle([sha(b"\0" + bytes.fromhex(digest)) for digest in digests]).hex()


def lines(name: str) -> list[bytes]:
    return (RELEASE / name).read_bytes().splitlines()


def leaves() -> list[bytes]:
    """Read the log's leaves, each after its length in two bytes."""
    (path,) = (RELEASE / "log" / "tile" / "entries").rglob("*.p/*")
    data, found = path.read_bytes(), []
    while data:
        length = int.from_bytes(data[:2], "big")
        found.append(data[2 : 2 + length])
        data = data[2 + length :]
    return found


def block(text: str) -> str:
    return "\n" + "\n".join(f"    {line}".rstrip() for line in text.rstrip("\n").split("\n")) + "\n\n"


def page() -> str:
    """Write the page."""
    return "".join(_parts())


def _parts() -> Iterator[str]:
    log = leaves()
    statements = [json.loads(leaf) for leaf in log]
    kinds = [statement["predicateType"].split(":")[2] for statement in statements]
    manifest = (RELEASE / "manifest.json").read_bytes()
    about = json.loads(manifest)
    yield _HEAD.format(release=RELEASE.name, leaves=len(log), files=len(about["files"]))

    yield "## 1. The manifest and the files\n\n"
    name = "tasks.jsonl"
    data = (RELEASE / name).read_bytes()
    assert about["files"][name] == {"bytes": len(data), "sha256": sha(data).hex()}
    yield f"`{name}` has {len(data)} bytes and the SHA-256 `{sha(data).hex()}`, as the manifest lists. The manifest itself,\n"
    yield f"{len(manifest)} bytes without a newline, has the SHA-256\n{block(sha(manifest).hex())}"
    retire = kinds.index("retire")
    assert statements[retire]["subject"][0]["digest"]["sha256"] == sha(manifest).hex()
    yield f"which is the digest of the subject of leaf {retire}, the `retire` statement.\n\n"

    yield "## 2. The signed head\n\n"
    head = (RELEASE / "log" / "checkpoint").read_text()
    text, _, signatures = head.partition("\n\n")
    yield f"`log/checkpoint` is a signed note:\n{block(head)}"
    vkey = (EXAMPLE / "log.vkey").read_text().strip()
    origin, key_id, encoded = vkey.split("+", 2)
    key = base64.b64decode(encoded)
    assert sha(origin.encode() + b"\n" + key)[:4].hex() == key_id
    signature = base64.b64decode(signatures.split(" ")[2])
    assert signature[:4].hex() == key_id
    yield f"The log's key is `{vkey}`. Its id is the beginning of SHA-256(name || newline || 0x01 || key), `{key_id}`, and stands\n"
    yield "before the 64 bytes of the signature. What is signed are the three lines above the empty one, each with its newline:\n"
    yield f"{len(text) + 1} bytes with the SHA-256 `{sha((text + chr(10)).encode()).hex()}`.\n\n"

    yield "## 3. The leaves and the root\n\n"
    hashes = [sha(b"\0" + leaf) for leaf in log]
    yield f"Leaf 0 has {len(log[0])} bytes:\n{block(log[0].decode())}"
    yield f"Its hash, SHA-256(0x00 || leaf), is `{hashes[0].hex()}`: the first 32 bytes of the only tile. Leaf 1 has\n"
    yield f"`{hashes[1].hex()}`; SHA-256(0x01 || both) is `{sha(bytes([1]) + hashes[0] + hashes[1]).hex()}`. All {len(log)} give\n"
    root = merkle(hashes)
    assert base64.b64encode(root).decode() == text.split("\n")[2]
    yield block(f"{root.hex()}  in hexadecimal\n{base64.b64encode(root).decode()}  in base64, line 3 of the head")

    yield "## 4. A task's commitment\n\n"
    task, opening = lines(name)[0], json.loads(lines("openings.jsonl")[0])
    digest = commitment("commit", task, opening["salt"])
    commit = statements[opening["commit"]]
    assert digest == opening["commitment"] == commit["subject"][0]["digest"]["hmac-sha256"]
    yield f"Line 1 of `{name}`, without its newline, has {len(task)} bytes and the SHA-256 `{sha(task).hex()}`. With the salt\n"
    yield f"`{opening['salt']}` of line 1 of `openings.jsonl`,\n"
    yield block(f'HMAC-SHA256(salt, "quarterturn/commit/v1\\n" || line)\n= {digest}')
    yield f"which is the digest of the subject of leaf {opening['commit']}, and what the `retire` statement lists.\n\n"

    yield "## 5. The roots of the set\n\n"
    place = max(index for index, kind in enumerate(kinds[:retire]) if kind == "set")
    says = statements[place]["predicate"]
    digest_of = {
        statement["subject"][0]["name"]: statement["subject"][0]["digest"]["hmac-sha256"]
        for statement, kind in zip(statements, kinds, strict=True)
        if kind == "commit"
    }
    cohort = says["cohorts"][0]
    own = sorted(digest_of[task] for task in cohort["tasks"])
    assert root_of(own) == cohort["root"]
    yield f"Leaf {place} promises `{cohort['id']}` with {cohort['count']} tasks. Their commitments, sorted by their bytes, are\n"
    yield block("\n".join(own))
    yield f"and the root over them (each hashed as a leaf) is `{cohort['root']}`. Over the {says['count']} commitments of all\n"
    every = sorted(digest_of[task] for item in says["cohorts"] for task in item["tasks"])
    assert root_of(every) == statements[place]["subject"][0]["digest"]["sha256"]
    yield f"cohorts, sorted, it is the digest of the subject:\n{block(root_of(every))}"

    yield "## 6. A run\n\n"
    run = json.loads(lines("runs.jsonl")[0])
    opened = statements[run["open"]]
    digest = commitment("run-open", jcs(run["opening"]), run["salt"])
    assert digest == opened["subject"][0]["digest"]["hmac-sha256"]
    yield f"Line 1 of `runs.jsonl` opens run {run['run']}, of leaf {run['open']}:\n{block(jcs(run['opening']).decode())}"
    yield f"With its salt `{run['salt']}` and the label `run-open` that gives `{digest}`, the digest of the leaf's\n"
    size = opened["predicate"]["checkpoint"]["size"]
    assert opened["predicate"]["set"] == statements[place]["subject"][0]["digest"]["sha256"]
    assert place < size <= run["open"]
    assert merkle(hashes[:size]).hex() == opened["predicate"]["checkpoint"]["root"]
    yield f"subject. Its `set` is the root of leaf {place}, and its checkpoint has {size} leaves: {place} < {size} <= {run['open']}.\n"
    yield f"The first {size} leaves give the root that it names, `{merkle(hashes[:size]).hex()}`.\n\n"

    yield "## 7. A result\n\n"
    row = json.loads(lines("results.jsonl")[0])
    result = jcs(row["result"])
    digest = commitment("result", result, row["salt"])
    yield f"Line 1 of `results.jsonl` has the result\n{block(result.decode())}"
    yield f"With its salt the commitment (label `result`) is `{digest}`; hashed as a leaf,\n"
    score = statements[run["close"]]["predicate"]
    node, index, last = sha(b"\0" + bytes.fromhex(digest)), row["position"], score["count"] - 1
    yield f"`{node.hex()}` is leaf {index} of {score['count']}. The proof leads to the root, step by step:\n"
    steps = []
    for sibling in map(bytes.fromhex, row["proof"]):
        left = index % 2 == 1 or index == last
        node = sha(b"\1" + (sibling + node if left else node + sibling))
        steps.append(f"{'left ' if left else 'right'} {sibling.hex()[:16]}… -> {node.hex()}")
        while left and index % 2 == 0 and index:
            index, last = index // 2, last // 2
        index, last = index // 2, last // 2
    assert node.hex() == score["results_root"]
    yield block("\n".join(steps))
    yield f"The last one is the `results_root` of leaf {run['close']}.\n\n"

    yield "## 8. Totals and figures\n\n"
    rows = [json.loads(line)["result"] for line in lines("results.jsonl")]
    rows = [item for item in rows if item["run"] == run["run"]]
    yield f"The {len(rows)} results of run {run['run']} add up to\n{block(jcs(run['totals']).decode())}"
    digest = commitment("totals", jcs(run["totals"]), run["totals_salt"])
    assert digest in [item["commitment"] for item in score["totals"]]
    assert run["totals"]["passed"] == sum(item["passed"] for item in rows)
    yield f"which with `totals_salt` and the label `totals` open `{digest}` in leaf {run['close']}. In `aggregate.json` stand\n"
    figures = json.loads((RELEASE / "aggregate.json").read_bytes())["runs"][0]["figures"]
    assert figures["success_rate"] == f"{run['totals']['passed'] / run['totals']['attempted']:.4f}"
    yield f"the figures\n{block(jcs(figures).decode())}"
    yield f"such as success_rate = {run['totals']['passed']} / {run['totals']['attempted']}.\n\n"

    yield "## 9. The README\n\n"
    yield f"`README.md` is the template, filled in from the manifest:\n\n```\n{(RELEASE / 'README.md').read_text()}```\n\n"

    yield from _baseline(json.loads(lines("tasks.jsonl")[0]))


def _baseline(task: dict[str, Any]) -> Iterator[str]:
    """Write the part that a reader needs our program for; `test_given_states.py` plays it."""
    made = {"item": "folder", "where": {"path": "number-1"}, "add": 1}
    task["initial_state"] = {"filesystem": {"files": {"kept.txt": "one\n"}}}
    task["success_predicate"] = {"all": [task["success_predicate"], {"filesystem.unchanged": {"except": [made]}}]}
    kept = {"kind": "file", "mode": 0o644, "data": base64.b64encode(b"one\n").decode()}
    state = {"filesystem": {"kept.txt": kept, "number-1": {"kind": "directory", "mode": 0o755}}}
    yield "## 10. A baseline\n\n"
    yield "A predicate `NAME.unchanged` compares a final state with the *baseline*: the task's world as it is before an agent comes.\n"
    yield "No file of a release holds it, because it follows from the task. The tasks of this release are older than this predicate;\n"
    yield f"with one, and a file that must stay, line 1 of `tasks.jsonl` would be this `task.json`:\n{block(jcs(task).decode())}"
    yield f"`quarterturn predicate check` derives the baseline again, and judges this `state.json` *true*:\n{block(jcs(state).decode())}"
    yield block("quarterturn predicate check --state state.json --predicate task.json").lstrip("\n")
    yield "If another text stands in `kept.txt`, it says *false*, and `changed although nothing allows it: file kept.txt, text changed`.\n"


_HEAD = """\
# A worked example

Made by `freezing/worked_example.py`, which computes every value on this page from Python's standard library and compares it with
`examples/release/{release}`: {files} content files, and a log of {leaves} leaves. The formats are described in
[ledger formats](ledger-formats.md).

"""

if __name__ == "__main__":
    print(page(), end="")  # noqa: T201
