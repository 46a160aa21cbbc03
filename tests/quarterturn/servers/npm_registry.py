"""npm registry on a loopback address, with packages that a test puts there; the real client installs from it."""

import base64
import hashlib
import io
import json
import tarfile
from urllib.parse import unquote

import pytest

from ..loopback import serving

SERVER = """\
const lines = require("readline").createInterface({ input: process.stdin });
const tool = { name: "add_card", description: "Add a card.", inputSchema: { type: "object" } };
lines.on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const result = method === "initialize"
    ? { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "b", version: "1" } }
    : method === "tools/call"
    ? { content: [{ type: "text", text: "added" }] }
    : { tools: [tool] };
  process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result }) + "\\n");
});
"""


def packed(files, links=()):
    """Pack files as npm does; `links` are symbolic links, by name."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, target in links:
            info = tarfile.TarInfo(name)
            info.type, info.linkname = tarfile.SYMTYPE, target
            archive.addfile(info)
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text.encode()))
    return buffer.getvalue()


class Registry:
    """The packages of a registry: their documents and their tarballs, by path.

    `asked` has each path that a client asked for, and each host that it asked its proxy for.
    """

    def __init__(self, address):
        self.address, self.files, self.asked = address, {}, set()

    def put(self, name, version, **fields):
        """Put a version of a package there; give the integrity of its tarball."""
        document = {"name": name, "version": version, **fields}
        tarball = packed({"package/package.json": json.dumps(document), "package/index.js": SERVER})
        integrity = "sha512-" + base64.b64encode(hashlib.sha512(tarball).digest()).decode()
        path = f"/{name}/-/{name}-{version}.tgz"
        document["dist"] = {"tarball": f"{self.address}{path}", "integrity": integrity}
        whole = {"name": name, "dist-tags": {"latest": version}, "versions": {version: document}}
        self.files |= {path: tarball, f"/{name}": json.dumps(whole).encode()}
        return integrity


@pytest.fixture
def registry(monkeypatch, tmp_path):
    def reply(request):
        path = unquote(request.path)
        kept.asked.add(path)
        status = 403 if request.command == "CONNECT" else 200 if path in kept.files else 404
        request.answer(status, kept.files.get(path, b"{}"))

    with serving(reply) as url:
        kept = Registry(url)
        for name in ("NPM_CONFIG_REGISTRY", "npm_config_registry", "HTTPS_PROXY"):
            monkeypatch.setenv(name, url)
        monkeypatch.setenv("npm_config_cache", str(tmp_path / "npm-cache"))
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        yield kept
