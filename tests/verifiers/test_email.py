"""Tests of the email predicates, also on hostile mail."""

import pytest

from verifiers.language.verdict import Verdict
from verifiers.states.mailbox.examples import mailbox
from verifiers.states.mailbox.reader import mail_of
from verifiers.states.mailbox.writer import NewMessage
from verifiers.tree import FileTree, JudgeInput, Node

from .builders import Asked

holds = Asked("email")

BOB, AGENT = "Bob <bob@example.org>", "Agent <agent@example.org>"
PLAN = NewMessage("m1@example.org", BOB, [AGENT], "Plan", "Shall we?\n")
INBOX = "Maildir/cur/1.a:2,S"


def one(data, path=INBOX):
    return JudgeInput({"email": FileTree({path: Node("file", data)})})


def parsed(data):
    return mail_of(FileTree({INBOX: Node("file", data)})).kept[0]


def test_a_copy_is_not_a_move():
    views = mailbox({"INBOX": [PLAN], "Archive": [PLAN]})
    assert holds(views, "messageInFolder", message="m1@example.org", folder="Archive")
    assert not holds(views, "messageInFolder", message="m1@example.org", folder="Archive", nowhere_else=True)


def test_all_that_is_asked_for_is_so_of_one_message():
    letters = [
        NewMessage("s1@example.org", AGENT, [BOB], "Plan", "No."),
        NewMessage("s2@example.org", AGENT, ["carol@example.org"], "Plan", "Yes."),
    ]
    views = mailbox({}, letters)
    assert holds(views, "messageSent", to=["BOB@example.org"], contains="No.")
    assert not holds(views, "messageSent", to=["bob@example.org"], contains="Yes.")
    assert not holds(views, "messageSent", to=["bob@example.org", "carol@example.org"])
    assert holds(views, "sentCount", count=1, recipient="carol@example.org", subject="Plan")
    assert not holds(views, "nothingSent")


def test_messages_in_the_folder_sent_were_not_sent():
    views = mailbox({"Sent": [NewMessage("s1@example.org", AGENT, [BOB], "Plan", "No.")]})
    assert holds(views, "nothingSent")
    assert not holds(views, "messageSent", to=["bob@example.org"])


def test_blind_copies_are_on_the_envelope_alone():
    views = mailbox({}, [NewMessage("s1@example.org", AGENT, [BOB], "Plan", "x", bcc=["dan@example.org"])])
    assert holds(views, "messageSent", to=["bob@example.org"], bcc=["dan@example.org"])
    assert not holds(views, "messageSent", to=["bob@example.org"], bcc=[])
    assert b"dan" not in views.states["email"]["outbox/new/1"].data.partition(b"From:")[2]


def test_headers_may_be_in_utf_8_without_being_encoded():
    lines = [
        "From: Zoë <zoë@example.org>",
        "Subject: Grüße aus \\u0041 =?utf-8?q?M=C3=BCn?= =?utf-8?q?chen?= für Zoë",
        'Content-Disposition: attachment; filename="Übersicht.txt"',
    ]
    message = parsed("\n".join([*lines, "", "x"]).encode())
    assert (message.sender, message.subject) == ("zoë@example.org", "Grüße aus \\u0041 München für Zoë")
    assert [name for name, _ in message.attachments] == ["Übersicht.txt"]
    assert parsed("Subject: Grüße\n\nx".encode("latin-1")).subject == "Gr\ufffd\ufffde"


def test_words_that_were_encoded_are_decoded():
    message = parsed(
        b"Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?= =?utf-8?b?IHZvbg==?=\r\n Bob\r\n"
        b"From: =?utf-8?q?B=C3=B6b?= <B@example.org>\r\n"
        b"Content-Type: text/plain; charset=latin-1\r\nContent-Transfer-Encoding: quoted-printable\r\n"
        b"\r\n=FCber=\r\n all\r\n"
    )
    assert message.subject == "Grüße von Bob"
    assert message.sender == "b@example.org"
    assert message.text == "über all\n"


def test_the_plain_part_is_the_text_and_a_part_with_a_name_is_attached():
    message = parsed(
        b'Content-Type: multipart/mixed; boundary="b"\n\n--b\nContent-Type: multipart/alternative; boundary="c"\n\n'
        b"--c\nContent-Type: text/html\n\n<p>no</p>\n--c\nContent-Type: text/plain\n\nyes\n--c--\n"
        b'--b\nContent-Type: text/plain; name="a.txt"\n\nfile\n--b--\n'
    )
    assert message.text.strip() == "yes"
    assert message.attachments == (("a.txt", b"file"),)


@pytest.mark.slow
@pytest.mark.parametrize(
    "data",
    [
        b"Subject: " + b"x" * 40_000 + b"\n\n",
        b"x" * (5 << 20),
        b'Content-Type: multipart/mixed; boundary="b"\n\n' + b"--b\n\nx\n" * 200 + b"--b--\n",
        b"".join(b'Content-Type: multipart/mixed; boundary="b%d"\n\n--b%d\n' % (n, n) for n in range(2000)),
    ],
    ids=["headers", "bytes", "parts", "depth"],
)
def test_a_message_beyond_the_caps_counts_against_the_agent_on_either_side_of_a_not(data):
    holds.wins_nothing(one(data), "countInFolder", folder="INBOX", count=3)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no headers at all",
        b"\xff\xfe\x00",
        b"Subject: =?nosuch?q?x?=\nContent-Type: text/plain; charset=nosuch\n\nx",
        b"Content-Type: multipart/mixed\n\nno boundary",
        b"Content-Transfer-Encoding: base64\n\n!!!!",
        b"From: <<<>>>,,,\nTo: (((\nMessage-ID: <\n\n",
        b'Content-Type: message/rfc822\nContent-Disposition: attachment; filename="a"\n\nSubject: in\n\nx',
    ],
)
def test_a_message_that_is_odd_is_a_message_all_the_same(data):
    assert holds(one(data), "countInFolder", folder="INBOX", count=1)


def test_a_character_set_that_is_unknown_is_named():
    message = parsed(b"Subject: x\nContent-Type: text/plain; charset=nosuch\n\nx")
    assert (message.text, message.headers) == ("x", ("unknown character set: nosuch",))
    assert not parsed(b"Content-Type: text/plain; charset=koi8-r\n\nx").headers


def test_a_link_in_place_of_a_message_is_wreckage():
    views = JudgeInput({"email": FileTree({INBOX: Node("symlink", target="/etc/passwd")})})
    assert holds.denied(views, "nothingSent") is Verdict.FALSE


def test_too_many_messages_are_wreckage():
    views = JudgeInput({"email": FileTree({f"Maildir/cur/{n}:2,": Node("file", b"") for n in range(2001)})})
    assert holds.denied(views, "messageSent", to=["a@b.c"]) is Verdict.FALSE
