"""Tests of the outbox and its channels: delivered once each, retried, signed, over real sockets."""

import base64
import hashlib
import hmac
import json
import logging
import os
import socketserver
import ssl
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email import message_from_bytes, policy

import pytest

from quarterturn import migrations
from quarterturn.errors import Malformed
from quarterturn.notices import channels
from quarterturn.notices.channels import Log, MailChannel, Webhook
from quarterturn.notices.contents import Notice
from quarterturn.notices.outbox import NoticeMessage, Outbox, Undelivered
from quarterturn.notices.store import WAITS, NoticeStore
from quarterturn.settings import NotifySettings, parse
from vault.database import open_engine

from ...certificates import make_certificate
from ..loopback import Request, serving

NOW = datetime(2027, 1, 1, tzinfo=UTC)
ORIGIN = "quarterturn.example/log"
NOTICE = Notice(
    "turn.done/2026-12", "turn.done", "2026-12", "The turn of 2026-12 is done: 2027-01 is live.", ("One line.",)
)
MESSAGE = NoticeMessage("msg_1", NOW, "turn.done", "2026-12", NOTICE.subject, NOTICE.lines)
SECRET = b"test-secret-of-at-least-24-bytes"


class Heard:
    """A channel that records its messages, and fails as often as the test sets."""

    def __init__(self, failures: int = 0) -> None:
        self.failures, self.messages = failures, []

    def send(self, message: NoticeMessage) -> None:
        self.messages.append(message)
        if len(self.messages) <= self.failures:
            raise Undelivered("status 503")


@pytest.fixture
def box(url):
    engine = open_engine(url)
    migrations.upgrade(engine)

    def opened(now: datetime = NOW, **ways) -> Outbox:
        return Outbox(NoticeStore(engine, lambda: now), ways, ORIGIN)

    yield opened
    engine.dispose()


@pytest.mark.both_databases
def test_a_notice_is_sent_once_on_each_channel_however_often_it_is_made(box):
    one, two = Heard(), Heard()
    for _ in range(2):
        for outbox in (box(one=one, two=two), box(one=one, two=two)):
            outbox.add(NOTICE)
            outbox.deliver()
    assert [len(way.messages) for way in (one, two)] == [1, 1]
    assert one.messages[0].id == two.messages[0].id
    assert (one.messages[0].subject, one.messages[0].lines) == (NOTICE.subject, NOTICE.lines)


def test_a_channel_that_is_added_later_gets_the_notice_too(box):
    one, two = Heard(), Heard()
    box(one=one).add(NOTICE)
    box(one=one).deliver()
    box(one=one, two=two).add(NOTICE)
    box(one=one, two=two).deliver()
    assert [len(way.messages) for way in (one, two)] == [1, 1]


def test_a_failed_delivery_is_retried_with_backoff_and_then_given_up(box):
    assert list(WAITS) == sorted(WAITS)
    assert timedelta(days=2) < sum(WAITS, timedelta()) < timedelta(days=4)
    way, now = Heard(failures=99), NOW
    box(way=way).add(NOTICE)
    for wait in WAITS:
        box(now, way=way).deliver()
        box(now + wait - timedelta(seconds=1), way=way).deliver()
        now += wait
    box(now, way=way).deliver()
    box(now + timedelta(days=99), way=way).deliver()
    assert len(way.messages) == len(WAITS) + 1
    assert len({message.id for message in way.messages}) == 1, "its receiver knows that it is the same"
    (posted,) = box(way=way).posted()
    assert (posted.sent, posted.given_up, posted.error) == (False, True, "status 503")


def test_a_delivery_that_failed_once_arrives_at_the_second_try(box):
    way = Heard(failures=1)
    box(way=way).add(NOTICE)
    box(way=way).deliver()
    assert not box(way=way).posted()[0].sent
    box(NOW + WAITS[0], way=way).deliver()
    (posted,) = box(way=way).posted()
    assert (posted.sent, posted.attempt, posted.error) == (True, 2, None)


def test_a_notice_whose_sender_died_is_sent_again(box):
    class Deadly(Heard):
        def send(self, message: NoticeMessage) -> None:
            super().send(message)
            raise KeyboardInterrupt

    way = Deadly()
    box(way=way).add(NOTICE)
    with pytest.raises(KeyboardInterrupt):
        box(way=way).deliver()
    next_one = Heard()
    box(way=next_one).deliver()
    assert next_one.messages == [], "whoever sends it may still be at it"
    box(NOW + WAITS[0], way=next_one).deliver()
    assert [message.id for message in next_one.messages] == [way.messages[0].id]


@pytest.mark.both_databases
def test_of_many_concurrent_senders_one_sends(box):
    way, gate = Heard(), threading.Barrier(4)
    box(way=way).add(NOTICE)

    def deliver(_: int) -> None:
        gate.wait()
        box(way=way).deliver()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(deliver, range(4)))
    assert len(way.messages) == 1


# -- a webhook --------------------------------------------------------------------------------------------------------


@contextmanager
def receiving(*statuses: int) -> Iterator[tuple[str, list[tuple[dict[str, str], bytes]]]]:
    """Listen on the loopback, and answer with these responses, repeating the last."""
    heard: list[tuple[dict[str, str], bytes]] = []

    def reply(request: Request) -> None:
        body = request.rfile.read(int(request.headers["content-length"]))
        heard.append(({name.lower(): value for name, value in request.headers.items()}, body))
        status = statuses[min(len(heard), len(statuses)) - 1]
        request.answer(status, **({"location": request.path} if status == 302 else {}))

    with serving(reply) as url:
        yield f"{url}/hook?of=us", heard


@pytest.fixture
def secret(tmp_path):
    file = tmp_path / "webhook.secret"
    file.write_text(f"whsec_{base64.b64encode(SECRET).decode()}\n")
    file.chmod(0o600)
    return file


@pytest.mark.slow
def test_a_webhook_is_signed_as_standard_webhooks_has_it(secret):
    with receiving(200) as (url, heard):
        Webhook(url, secret, lambda: NOW).send(MESSAGE)
    ((headers, body),) = heard
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    expected = base64.b64encode(hmac.new(SECRET, signed, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{expected}"
    assert (headers["webhook-id"], headers["webhook-timestamp"]) == ("msg_1", "1798761600")
    assert json.loads(body) == {
        "type": "turn.done",
        "timestamp": "2027-01-01T00:00:00+00:00",
        "data": {"month": "2026-12", "subject": NOTICE.subject, "lines": ["One line."]},
    }


def test_the_signature_is_that_of_the_specifications_example():
    key = base64.b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    made = channels.signature(key, "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", b'{"test": 2432232314}')
    assert made == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@pytest.mark.slow
@pytest.mark.parametrize("status", [302, 400, 410, 500])
def test_a_status_other_than_2xx_is_a_failure_and_redirects_are_not_followed(secret, status):
    with receiving(status, 200) as (url, heard):
        with pytest.raises(Undelivered, match=f"^status {status}$"):
            Webhook(url, secret, lambda: NOW).send(MESSAGE)
        assert len(heard) == 1


@pytest.mark.slow
def test_nobody_there_and_nobody_trusted_is_undelivered(secret, tmp_path):
    with receiving(200) as (url, _):
        pass
    with pytest.raises(Undelivered, match=r"^no connection$"):
        Webhook(url, secret, lambda: NOW).send(MESSAGE)
    context = make_certificate(tmp_path, "localhost")[1]
    with tls_mail(context) as (port, _), pytest.raises(Undelivered, match=r"^no connection$"):
        Webhook(f"https://localhost:{port}/", secret, lambda: NOW).send(MESSAGE)


@pytest.mark.parametrize(
    ("text", "mode", "sentence"),
    [
        (None, 0o600, "cannot be used: webhook.secret"),
        (b"whsec_" + base64.b64encode(SECRET), 0o644, "cannot be used: webhook.secret"),
        (b"\xff\xfe", 0o600, "cannot be used: webhook.secret"),
        (b"whsec_" + base64.b64encode(b"short"), 0o600, "24 bytes or more"),
        (b"whsec_not base64", 0o600, "24 bytes or more"),
    ],
)
def test_a_secret_that_is_none_is_said_and_not_shown(tmp_path, text, mode, sentence):
    file = tmp_path / "webhook.secret"
    if text is not None:
        file.write_bytes(text)
        file.chmod(mode)
    with pytest.raises(Undelivered, match=sentence):
        Webhook("http://127.0.0.1:1/", file, lambda: NOW).send(MESSAGE)


@pytest.mark.parametrize(
    "url", ["https://hooks.example/T00/B00?token=1", "http://127.0.0.1:8080/", "http://[::1]/", "http://localhost/x"]
)
def test_a_webhook_may_be_encrypted_or_stay_on_this_machine(url):
    assert parsed({"webhook": url, "webhook_secret_file": "w"}).notify.webhook == url


@pytest.mark.parametrize(
    "url",
    [
        "http://hooks.example/", "http://127.0.0.1.example/", "http://localhost.example/", "https://user@hooks.example/",
        "https://hooks.example/#x", "https://hooks.example/\r\nx: y", "https:///x", "https://hooks.example:99999/",
        "ftp://hooks.example/", "hooks.example",
    ],
)  # fmt: skip
def test_another_webhook_is_refused(url):
    with pytest.raises(Malformed, match=r"'notify\.webhook' is wrong"):
        parsed({"webhook": url, "webhook_secret_file": "w"})


def parsed(notify):
    return parse({"benchmark": {"first_month": "2026-12"}, "notify": notify}, "these settings")


@pytest.mark.parametrize(
    "notify",
    [{"webhook": "https://a.example/"}, {"mail_to": ["a@b.example"]}, {"smtp_user": "me"}, {"smtp_password_file": "p"}],
)
def test_half_a_channel_is_refused(notify):
    with pytest.raises(Malformed, match="'notify' is wrong"):
        parsed(notify)


# -- mail -------------------------------------------------------------------------------------------------------------


@contextmanager
def tls_mail(context: ssl.SSLContext | None, refuse: str = "") -> Iterator[tuple[int, list[str | bytes]]]:
    """A mail server (RFC 5321) with STARTTLS and AUTH PLAIN where it has a certificate; records its input."""
    heard: list[str | bytes] = []

    class Server(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            with_tls, self.encrypted = context is not None, False
            self.say("220 localhost")
            while line := self.rfile.readline().decode().strip():
                verb = line.upper().partition(" ")[0]
                heard.append(line if verb != "AUTH" else base64.b64decode(line.split()[-1]))
                if verb == refuse:
                    self.say("550 the other side's own words")
                elif verb == "EHLO":
                    offer = "AUTH PLAIN" if self.encrypted else "STARTTLS" if with_tls else "HELP"
                    self.say(f"250-localhost\r\n250 {offer}")
                elif verb == "STARTTLS":
                    self.say("220 go on")
                    self.connection = context.wrap_socket(self.connection, server_side=True)
                    self.rfile, self.encrypted = self.connection.makefile("rb"), True
                elif verb == "DATA":
                    self.say("354 go on")
                    lines = iter(self.rfile.readline, b".\r\n")
                    heard.append(b"".join(lines))
                    self.say("250 taken")
                else:
                    self.say({"AUTH": "235 welcome", "QUIT": "221 bye"}.get(verb, "250 ok"))
                    if verb == "QUIT":
                        return

        def finish(self) -> None:
            super().finish()
            self.connection.close()  # where it is encrypted, it is not the one that the server closes

        def say(self, line: str) -> None:
            self.connection.sendall(f"{line}\r\n".encode())

    class Quiet(socketserver.ThreadingTCPServer):
        daemon_threads, block_on_close = True, False

        def handle_error(self, *_: object) -> None:
            pass  # a client that trusts nobody hangs up

    with Quiet(("127.0.0.1", 0), Server) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_address[1], heard
        finally:
            server.shutdown()
            thread.join()


def mail(port: int, folder, password: bool = True) -> MailChannel:
    if password:
        (folder / "smtp.password").write_text("test-password\n")
        (folder / "smtp.password").chmod(0o600)
    account = {"smtp_user": "qt", "smtp_password_file": "smtp.password"} if password else {}
    people = {"mail_to": tuple(f"{name}@quarterturn.example" for name in ("ops", "second")), "mail_from": "a@b.example"}
    return MailChannel(NotifySettings(**people, smtp_host="localhost", smtp_port=port, **account), folder, ORIGIN)


@pytest.mark.slow
def test_mail_goes_encrypted_to_whoever_is_named(tmp_path, monkeypatch):
    trusted, context = make_certificate(tmp_path, "localhost")
    monkeypatch.setitem(os.environ, "SSL_CERT_FILE", str(trusted))
    with tls_mail(context) as (port, heard):
        mail(port, tmp_path).send(MESSAGE)
    assert heard[1] == "STARTTLS"
    assert b"\0qt\0test-password" in heard
    recipients = [line for line in heard if str(line).startswith("rcpt")]
    assert recipients == [f"rcpt TO:<{name}@quarterturn.example>" for name in ("ops", "second")]
    written = next(line for line in heard if isinstance(line, bytes) and b"Subject" in line)
    said = message_from_bytes(written, policy=policy.default)
    assert said["Subject"].strip() == f"{ORIGIN}: {NOTICE.subject}"  # a long one is folded after its name
    assert said["Message-ID"] == "<msg_1@b.example>"
    assert said.get_content().split() == [*NOTICE.subject.split(), "One", "line."]


@pytest.mark.slow
def test_a_password_is_never_sent_to_an_unverified_server_or_unencrypted(tmp_path):
    context = make_certificate(tmp_path, "localhost")[1]
    with tls_mail(context) as (port, heard), pytest.raises(Undelivered, match=r"^SSL\w*Error$"):
        mail(port, tmp_path).send(MESSAGE)
    assert [str(line).split()[0].upper() for line in heard] == ["EHLO", "STARTTLS"]
    with tls_mail(None) as (port, heard), pytest.raises(Undelivered, match=r"^SMTPNotSupportedError$"):
        mail(port, tmp_path).send(MESSAGE)
    assert "test-password" not in str(heard)


@pytest.mark.slow
def test_a_server_on_this_machine_may_be_used_without_tls(tmp_path):
    with tls_mail(None) as (port, heard):
        mail(port, tmp_path, password=False).send(MESSAGE)
    assert any(b"One line." in line for line in heard if isinstance(line, bytes))


@pytest.mark.slow
def test_of_a_refusal_the_code_is_stored_and_no_text(tmp_path):
    with tls_mail(None, refuse="DATA") as (port, _), pytest.raises(Undelivered, match=r"^the mail server said 550$"):
        mail(port, tmp_path, password=False).send(MESSAGE)


def test_the_log_is_always_a_channel(caplog):
    assert list(channels.of(NotifySettings(), None, ORIGIN, lambda: NOW)) == ["log"]
    with caplog.at_level(logging.INFO):
        Log().send(MESSAGE)
    assert caplog.records[-1].getMessage() == f"{NOTICE.subject} One line."
