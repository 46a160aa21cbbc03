"""Test of the signer's unit as written: guide, folders and two users, in a mount namespace of their own."""

import subprocess
import sys
from configparser import RawConfigParser
from pathlib import Path

import pytest

from ..patience import PATIENCE
from .keys.test_signer import APPENDS

ROOT = Path(__file__).parents[2]
SIGNER_USER, SERVICE_USER = 61001, 61002
PLAYS = r"""
mount -t tmpfs -o mode=755 tmpfs /mnt
mkdir /mnt/python /mnt/checkout /mnt/home
mount --bind "$PYTHON" /mnt/python; mount --bind "$CHECKOUT" /mnt/checkout; mount --bind "$TEST_HOME" /mnt/home
for folder in /root /opt /var/lib; do mount -t tmpfs -o mode=755 tmpfs $folder; done
mkdir -p "$PYTHON" /opt/quarterturn "$CHECKOUT" /var/lib/quarterturn/home
mount --rbind /mnt/python "$PYTHON"; mount --bind /mnt/checkout /opt/quarterturn
mountpoint -q "$CHECKOUT" || [ -e "$CHECKOUT/run" ] || mount --bind /mnt/checkout "$CHECKOUT"
mount --bind /mnt/home /var/lib/quarterturn/home
cd /var/lib/quarterturn
export PATH="$CHECKOUT/.venv/bin:$PATH"
chown -R $SERVICE_USER /var/lib/quarterturn; chmod 700 /var/lib/quarterturn
eval "$GUIDE" >&2
sed -i 's|^signer = ""|signer = "/var/lib/quarterturn-signer"|' home/quarterturn.toml
chmod 755 /var/lib/quarterturn-signer
unshare --mount sh -ec '
  for pair in $BINDS; do
    from=${pair%%:*}; to=${pair#*:}
    mkdir -p "$(dirname $to)"; if [ -d $from ]; then mkdir -p $to; else : >>$to; fi
    mount --bind $from $to
  done
  exec setpriv --reuid $SIGNER_USER --regid $SIGNER_USER --clear-groups --no-new-privs --bounding-set -all \
    $EXEC_START' &
signer=$!
trap 'kill $signer' EXIT
until [ -S /var/lib/quarterturn-signer/signer.sock ]; do kill -0 $signer; sleep 0.1; done
as_service() { setpriv --reuid $SERVICE_USER --regid $SERVICE_USER "$@"; }
as_service --groups $SIGNER_USER cat /var/lib/quarterturn-signer/keys/log.key 2>&1 && exit 9
as_service --groups $SIGNER_USER "$@" </dev/null
as_service --clear-groups "$@" </dev/null 2>&1 || echo refused
"""
"""The guide's commands as root; the unit's binds and its command as its user; then the service's user appends."""


@pytest.mark.slow
@pytest.mark.needs("netns")
def test_the_signers_unit_signs_for_another_user_who_cannot_read_its_key(live: Path) -> None:
    parsed = RawConfigParser(strict=False)
    parsed.optionxform = str  # type: ignore[assignment,method-assign]
    parsed.read(ROOT / "quarterturn" / "deploy" / "quarterturn-signer.service", encoding="utf-8")
    unit = parsed["Service"]
    guide = (ROOT / "docs" / "how-to" / "keep-the-keys.md").read_text(encoding="utf-8")
    commands = guide.partition("## A signer with its own user")[2].partition("```sh\n")[2].partition("```")[0]
    environment = {
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
        "PYTHON": sys.base_prefix,
        "CHECKOUT": str(ROOT),
        "TEST_HOME": str(live),
        "SIGNER_USER": str(SIGNER_USER),
        "SERVICE_USER": str(SERVICE_USER),
        "GUIDE": commands.replace("quarterturn-signer:", f"{SIGNER_USER}:{SIGNER_USER}"),
        "BINDS": f"{unit['BindPaths']} {unit['BindReadOnlyPaths']}",
        "EXEC_START": unit["ExecStart"],
    }
    words = ["unshare", "--mount", "sh", "-ec", PLAYS, "sh", sys.executable, "-c", APPENDS, "/var/lib/quarterturn/home"]
    played = subprocess.run(words, env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert played.returncode == 0, played.stdout + played.stderr
    denied, size, *_, refused = played.stdout.splitlines()
    assert "Permission denied" in denied
    assert int(size) > 0
    assert refused == "refused"
