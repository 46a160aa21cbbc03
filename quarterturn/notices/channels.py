"""Notification channels for maintainers: the log, a signed webhook, mail.

A webhook has the form of Standard Webhooks 1.0: `webhook-id`, `webhook-timestamp`, and `webhook-signature`, which is
`v1,` and the base64 of HMAC-SHA256 over `id.timestamp.body`. Redirects are not followed and no proxy is used; any
status but 2xx counts as undelivered. Mail goes over STARTTLS with a verified certificate, unless the server is this
machine; a password is never sent without it. Secrets are read from their files for each message, so changing one needs
no restart.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import logging
import smtplib
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from email.message import EmailMessage
from pathlib import Path

from quarterturn.notices.outbox import NoticeChannel, NoticeMessage, Undelivered
from quarterturn.settings import NotifySettings, is_loopback
from sandbox.remote_client import NoAnswer, RemoteClient
from vault.errors import VaultError
from vault.keys import private_files

TIMEOUT_SECONDS = 10.0  # for each answer of the other side
PREFIX, MIN_SECRET_BYTES = "whsec_", 24  # of a secret

log = logging.getLogger("quarterturn.notices")


def of(notify: NotifySettings, home: Path, origin: str, clock: Callable[[], datetime]) -> Mapping[str, NoticeChannel]:
    """Return the channels that the settings name; the log is always one."""
    channels: dict[str, NoticeChannel] = {"log": Log()}
    if notify.webhook:
        channels["webhook"] = Webhook(notify.webhook, home / notify.webhook_secret_file, clock)
    if notify.mail_to:
        channels["mail"] = MailChannel(notify, home, origin)
    return channels


class Log:
    """Writes into the log of this process."""

    def send(self, message: NoticeMessage) -> None:
        """Carry a message."""
        level = logging.WARNING if message.kind == "turn.overdue" else logging.INFO
        log.log(level, "%s", " ".join([message.subject, *message.lines]))


@dataclass(frozen=True, slots=True)
class Webhook:
    """Posts to one URL (`quarterturn.settings.may_be_sent_to`)."""

    url: str
    secret_file: Path
    clock: Callable[[], datetime]

    def send(self, message: NoticeMessage) -> None:
        """Carry a message."""
        data = {"month": message.month, "subject": message.subject, "lines": list(message.lines)}
        document = {"type": message.kind, "timestamp": message.at.isoformat(), "data": data}
        body, stamp = json.dumps(document).encode(), str(int(self.clock().timestamp()))
        headers = {
            "content-type": "application/json",
            "user-agent": "quarterturn",
            "webhook-id": message.id,
            "webhook-timestamp": stamp,
            "webhook-signature": signature(secret(self.secret_file), message.id, stamp, body),
        }
        status = self._post(body, headers)
        if status // 100 != 2:  # noqa: PLR2004 - as HTTP has it
            raise Undelivered(f"status {status}")

    def _post(self, body: bytes, headers: Mapping[str, str]) -> int:
        try:
            with (
                RemoteClient(TIMEOUT_SECONDS) as client,
                client.exchange("POST", self.url, 3 * TIMEOUT_SECONDS, content=body, headers=headers) as response,
            ):
                return response.status_code
        except NoAnswer as error:
            raise Undelivered(str(error)) from None


def signature(key: bytes, name: str, stamp: str, body: bytes) -> str:
    """Sign a message, as Standard Webhooks 1.0 has it."""
    made = hmac.new(key, f"{name}.{stamp}.".encode() + body, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(made).decode()}"


def secret(path: Path) -> bytes:
    """Read a webhook's secret.

    Raises:
        Undelivered: the file is missing, open to others, or holds something else.
    """
    text = _private(path).removeprefix(PREFIX)
    try:
        key = base64.b64decode(text, validate=True)
    except binascii.Error:
        key = b""
    if len(key) < MIN_SECRET_BYTES:
        raise Undelivered(f"its secret is not {PREFIX} and the base64 of {MIN_SECRET_BYTES} bytes or more")
    return key


@dataclass(frozen=True, slots=True)
class MailChannel:
    """Sends mail through one server."""

    notify: NotifySettings
    home: Path
    origin: str

    def send(self, message: NoticeMessage) -> None:
        """Carry a message."""
        settings = self.notify
        password = _private(self.home / settings.smtp_password_file) if settings.smtp_password_file else ""
        try:
            with smtplib.SMTP(settings.smtp_host, settings.smtp_port, timeout=TIMEOUT_SECONDS) as server:
                server.ehlo()
                if password or not is_loopback(settings.smtp_host) or server.has_extn("starttls"):
                    server.starttls(context=ssl.create_default_context())
                    server.ehlo()
                if password:
                    server.login(settings.smtp_user, password)
                server.send_message(self._mail(message))
        except smtplib.SMTPResponseException as error:
            raise Undelivered(f"the mail server said {error.smtp_code}") from None
        except (OSError, ValueError, smtplib.SMTPException) as error:  # its words may be the server's; its base64 none
            raise Undelivered(type(error).__name__) from None

    def _mail(self, message: NoticeMessage) -> EmailMessage:
        mail = EmailMessage()
        mail["From"], mail["To"] = self.notify.mail_from, ", ".join(self.notify.mail_to)
        mail["Subject"], mail["Date"] = f"{self.origin}: {message.subject}", message.at
        mail["Message-ID"] = f"<{message.id}@{self.notify.mail_from.rpartition('@')[2]}>"
        mail["Auto-Submitted"] = "auto-generated"
        mail.set_content("\n".join([message.subject, "", *message.lines, ""]))
        return mail


def _private(path: Path) -> str:
    try:
        return private_files.read(path, "secret").decode().strip()
    except (VaultError, UnicodeDecodeError):
        raise Undelivered(f"its secret's file cannot be used: {path.name}") from None
