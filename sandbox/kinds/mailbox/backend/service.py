"""Mail servers of one world, on its loopback: Dovecot for received mail, and an SMTP sink for sent mail.

The current folder holds `Maildir`, which Dovecot serves over IMAP, and `outbox`, a Maildir that only the sink writes
to: each message as it was handed over, below its envelope (`Return-Path`, and a `Delivered-To` for each recipient).
Sent mail goes nowhere else. Everything is a file at once, so nothing has to be flushed at the end.

Dovecot runs as the user of this program: all its internal users are that one, nothing is chrooted, and no password is
needed, because only the MCP server reaches it. A seeded message was received at the time in its name.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import grp
import os
import pwd
import re
import socket
import socketserver
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[4]))  # in a world it has no package around it

from sandbox.kinds.common.backend.program import await_up, installed, run, serve, stop

HOST, IMAP, SMTP = "127.0.0.1", 1143, 1025
DOVECOT = ("dovecot", "/usr/sbin/dovecot")
MAX_MESSAGE = 8 << 20
MAX_LINE = 4096
MAX_RECIPIENTS = 100
SETTINGS = """
protocols = imap
listen = {host}
base_dir = {base}
state_dir = {base}
log_path = /dev/null
ssl = no
disable_plaintext_auth = no
default_login_user = {user}
default_internal_user = {user}
default_internal_group = {group}
first_valid_uid = 1
first_valid_gid = 1
auth_mechanisms = plain login
mail_location = maildir:{mail}:INDEX=MEMORY
mail_fsync = never
userdb {{
  driver = static
  args = uid={uid} gid={gid} home={base}
}}
passdb {{
  driver = static
  args = nopassword=y
}}
service imap-login {{
  chroot =
  inet_listener imap {{
    port = {port}
  }}
  inet_listener imaps {{
    port = 0
  }}
}}
service anvil {{
  chroot =
}}
service stats {{
  chroot =
}}
namespace inbox {{
  inbox = yes
  separator = /
  mailbox Archive {{
    special_use = \\Archive
  }}
  mailbox Drafts {{
    special_use = \\Drafts
  }}
  mailbox Junk {{
    special_use = \\Junk
  }}
  mailbox Sent {{
    special_use = \\Sent
  }}
  mailbox Trash {{
    special_use = \\Trash
  }}
}}
"""


class SmtpSession(socketserver.StreamRequestHandler):
    """One connection to the sink: as much of SMTP (RFC 5321, 4.5.1) as a client needs, and AUTH, which all pass."""

    timeout = 60
    sender: str | None = None
    recipients: list[str]

    def handle(self) -> None:
        """Answer one command after the other."""
        self.recipients = []
        self.say("220 world")
        with contextlib.suppress(OSError):
            while line := self.rfile.readline(MAX_LINE):
                if not self.obey(line.decode("utf-8", "replace").rstrip("\r\n")):
                    return

    def say(self, *lines: str) -> None:
        """Send a reply."""
        self.wfile.write("".join(f"{line}\r\n" for line in lines).encode())

    def obey(self, line: str) -> bool:
        """Carry out one command, and say whether to go on."""
        verb, _, rest = line.partition(" ")
        match verb.upper():
            case "QUIT":
                self.say("221 bye")
                return False
            case "EHLO":
                self.say("250-world", "250-8BITMIME", f"250-SIZE {MAX_MESSAGE}", "250 AUTH PLAIN LOGIN")
            case "AUTH":
                self.let_in(rest)
            case "MAIL":
                self.sender, self.recipients = address(rest), []
                self.say("250 ok")
            case "RCPT" if self.sender is None or len(self.recipients) >= MAX_RECIPIENTS:
                self.say("452 too many recipients, or no MAIL")
            case "RCPT":
                self.recipients.append(address(rest))
                self.say("250 ok")
            case "DATA" if not self.recipients:
                self.say("503 no recipients")
            case "DATA":
                self.take()
            case "RSET":
                self.sender, self.recipients = None, []
                self.say("250 ok")
            case "HELO" | "NOOP" | "VRFY":
                self.say("250 ok")
            case _:
                self.say("502 not known")
        return True

    def let_in(self, rest: str) -> None:
        """Go through the steps of AUTH; any name and any password will do."""
        words = rest.split()
        asked = {"PLAIN": [""], "LOGIN": ["VXNlcm5hbWU6", "UGFzc3dvcmQ6"]}.get(words[0].upper() if words else "", [])
        for question in asked[len(words) - 1 :]:
            self.say(f"334 {question}")
            with contextlib.suppress(binascii.Error):
                base64.b64decode(self.rfile.readline(MAX_LINE))
        self.say("235 ok")

    def take(self) -> None:
        """Take a message and file it."""
        self.say("354 go on")
        message = bytearray()
        while (line := self.rfile.readline(MAX_MESSAGE)) not in {b".\r\n", b".\n", b""}:
            message += line.removeprefix(b".")
            if len(message) > MAX_MESSAGE:
                self.say("552 too large")
                return
        if line:
            deliver(self.sender or "", self.recipients, bytes(message))
            self.sender, self.recipients = None, []
            self.say("250 filed")


class Sink(socketserver.ThreadingTCPServer):
    """The sink."""

    allow_reuse_address = True
    daemon_threads = True


_filed = threading.Lock()


def address(text: str) -> str:
    """Return the address of MAIL or RCPT."""
    match = re.search(r"<([^<>]*)>", text)
    return re.sub(r"[\x00-\x1f\x7f]", "", match[1] if match else text.partition(":")[2].strip())


def deliver(sender: str, recipients: list[str], message: bytes) -> None:
    """File a message in the outbox, the first as `1`."""
    envelope = "".join(f"Delivered-To: {recipient}\r\n" for recipient in recipients)
    with _filed:
        number = sum(1 for _ in Path("outbox/new").iterdir()) + 1
        draft = Path("outbox/tmp", str(number))
        draft.write_bytes(f"Return-Path: <{sender}>\r\n{envelope}".encode() + message)
        draft.rename(Path("outbox/new", str(number)))


def settle_in() -> None:
    """Make the folders that are not there, and let seeded messages have come when their names say."""
    for maildir in ("Maildir", "outbox"):
        for part in ("tmp", "new", "cur"):
            Path(maildir, part).mkdir(parents=True, exist_ok=True)
    for path in Path("Maildir").rglob("*.seed*"):
        when = int(path.name.partition(".")[0])
        os.utime(path, (when, when), follow_symlinks=False)


def settings(base: str) -> str:
    """Write Dovecot's configuration."""
    user, group = pwd.getpwuid(os.getuid()), grp.getgrgid(os.getgid())
    values = {"host": HOST, "base": base, "port": IMAP, "mail": str(Path("Maildir").absolute())}
    return SETTINGS.format(**values, user=user.pw_name, group=group.gr_name, uid=user.pw_uid, gid=group.gr_gid)


def is_up() -> bool:
    """Say whether Dovecot greets."""
    with contextlib.suppress(OSError), socket.create_connection((HOST, IMAP), 5) as connection:
        return connection.recv(16).startswith(b"* OK")
    return False


def keep() -> None:
    """Keep both up until somebody ends us."""
    settle_in()
    program = installed(DOVECOT)
    with tempfile.TemporaryDirectory(prefix="mail-", ignore_cleanup_errors=True) as base:
        configuration, folder = Path(base, "dovecot.conf"), Path(base, "run")
        folder.mkdir()
        configuration.write_text(settings(str(folder)), encoding="utf-8")
        process = subprocess.Popen([program, "-F", "-c", configuration], stdin=subprocess.DEVNULL, stdout=2)
        try:
            with Sink((HOST, SMTP), SmtpSession) as sink:
                threading.Thread(target=sink.serve_forever, daemon=True).start()
                await_up(process, is_up)
                serve(process)
        finally:
            stop(process)


if __name__ == "__main__":
    sys.exit(run({"keep": keep}, sys.argv[1:]))
