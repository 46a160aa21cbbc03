"""Tests of the email server's state: a Maildir written, mutated, and changed by the real servers in a boxed world."""

from __future__ import annotations

import json

import pytest

from sandbox.boxes.docker.box import DockerBox
from sandbox.errors import Malformed
from sandbox.kinds.common.check import check
from sandbox.kinds.mailbox.apply_mutation import mutate
from sandbox.kinds.mailbox.kind import STATE, seed
from sandbox.servers.registry import SERVERS
from verifiers.language.verdict import Verdict

from ...frozen import content
from .holding import holds_in

PLAN = {
    "from": "Bob <bob@example.org>",
    "to": ["agent@example.org"],
    "subject": "Plan for Bern",
    "text": "Shall we, für Bern?\n",
    "date": "2026-01-05T11:00:00+01:00",
}
FILE = {"name": "plan.txt", "type": "text/plain", "text": "at ten\n"}
NEWS = {**PLAN, "id": "news@example.org", "subject": "News", "flags": ["seen", "flagged"], "cc": ["carol@example.org"]}
STATES = {"folders": {"INBOX": [{**PLAN, "attachments": [FILE]}, NEWS], "Work/Sub": [{**PLAN, "subject": "Old"}]}}
FIRST, THIRD = "message-1@example.org", "message-3@example.org"


holds = holds_in("email")


def test_a_state_becomes_a_maildir_and_the_same_bytes_each_time():
    check(STATE, STATES, "the state")
    tree = seed(STATES)
    assert dict(tree) == dict(seed(STATES))
    assert holds(tree, "messageInFolder", message=THIRD, folder="Work/Sub", nowhere_else=True)
    assert holds(tree, "bodyContains", message=FIRST, text="Shall we, für")
    assert holds(tree, "isRead", message="news@example.org", read=True)
    assert holds(tree, "isFlagged", message=FIRST, flagged=False)
    assert holds(tree, "countInFolder", folder="INBOX", count=1, sender="BOB@example.org", unread=True)
    assert all(holds(seed({}), "folderExists", folder=name) for name in ("INBOX", "Archive", "Drafts", "Sent", "Trash"))


@pytest.mark.parametrize(
    ("message", "sentence"),
    [
        ({**NEWS, "id": FIRST}, "two messages of the id"),
        ({**PLAN, "date": "2026-02-30T10:00:00Z"}, "a date"),
        ({**PLAN, "attachments": [{"name": "a", "base64": "!"}]}, "base64"),
        ({**PLAN, "text": "\ud800"}, "surrogate"),
    ],
)
def test_a_state_that_contradicts_itself_is_refused(message, sentence):
    with pytest.raises(Malformed, match=sentence):
        seed({"folders": {"INBOX": [PLAN, message]}})


@pytest.mark.parametrize(
    ("folder", "message"),
    [
        ("../x", PLAN),
        ("a.b", PLAN),
        ("INBOX", {**PLAN, "subject": "a\nBcc: x@example.org"}),
        ("INBOX", {**PLAN, "to": []}),
        ("INBOX", {**PLAN, "subject": "ü"}),
    ],
)
def test_impossible_messages_are_refused(folder, message):
    with pytest.raises(Malformed):
        check(STATE, {"folders": {folder: [message]}}, "the state")


def test_each_change_changes_one_thing():
    tree = seed(STATES)
    moved = mutate(tree, {"where": {"id": FIRST}, "move_to": "Archive"})
    assert holds(moved, "messageInFolder", message=FIRST, folder="Archive", nowhere_else=True)
    copied = mutate(tree, {"where": {"id": FIRST}, "copy_to": "New"})
    assert holds(copied, "messageInFolder", message=FIRST, folder="INBOX")
    assert not holds(copied, "messageInFolder", message=FIRST, folder="INBOX", nowhere_else=True)
    assert holds(mutate(tree, {"where": {"id": FIRST}, "flags": "FS"}), "isFlagged", message=FIRST, flagged=True)
    assert holds(mutate(tree, {"where": {"folder": "INBOX"}, "remove": True}), "countInFolder", folder="INBOX", count=0)
    assert not holds(mutate(tree, {"remove_folder": "Work/Sub"}), "folderExists", folder="Work/Sub")
    sent = mutate(tree, {"send": {"to": ["dan@example.org"], "bcc": ["eve@example.org"], "subject": "Hi", "text": "x"}})
    assert holds(sent, "messageSent", to=["dan@example.org"], cc=[], bcc=["eve@example.org"], subject="Hi")
    again = mutate(sent, {"where": {"sent": True, "number": 0}, "resend": {"subject": "hI"}})
    assert holds(again, "messageSent", to=["dan@example.org"], bcc=["eve@example.org"], subject="hI", contains="x")
    assert holds(tree, "nothingSent"), "the original stays as it was"


@pytest.mark.parametrize(
    "change",
    [{"where": {"id": "gone"}, "remove": True}, {"remove_folder": "Gone"}, {"where": {"sent": True}, "resend": {}}, {}],
)
def test_a_change_of_what_is_not_there_is_refused(change):
    with pytest.raises(Malformed, match="the email change"):
        mutate(seed(STATES), change)


AGENT = {"account_name": "agent"}
READING = [
    ("list_available_accounts", {}),
    ("list_mailboxes", AGENT),
    ("list_emails_metadata", AGENT),
    ("list_emails_metadata", {**AGENT, "since": "2026-01-05T00:00:00Z", "before": "2026-01-06T00:00:00Z"}),
    ("get_emails_content", {**AGENT, "email_ids": ["1", "2"]}),
    ("get_attachment_content", {**AGENT, "email_id": "1", "attachment_name": "plan.txt"}),
    ("list_allowed_recipients", {}),
    ("list_allowed_senders", {}),
    ("list_email_tags", AGENT),
]
REPLY = "Yes.\n.\nAt ten - ü"
COPIES = {"cc": ["carol@example.org"], "bcc": ["dan@example.org"]}
LETTER = {**AGENT, "recipients": ["bob@example.org"], "subject": "Re: Plan for Bern", "body": REPLY}
WRITING = [
    ("create_mailbox", {**AGENT, "mailbox": "Done"}),
    ("send_email", {**LETTER, **COPIES, "in_reply_to": f"<{FIRST}>"}),
    ("forward_email", {**AGENT, "email_id": "1", "recipients": ["eve@example.org"], "body": "See"}),
    ("save_draft", {**AGENT, "recipients": ["carol@example.org"], "subject": "Offer", "body": "We offer 5."}),
    ("save_to_mailbox", {**LETTER, "subject": "Note", "mailbox": "Done"}),
    ("mark_emails_as_read", {**AGENT, "email_ids": ["1"]}),
    ("set_email_flags", {**AGENT, "email_ids": ["1"], "operation": "add", "flags": ["\\Flagged"]}),
    ("move_emails", {**AGENT, "email_ids": ["1"], "destination_mailbox": "Done"}),
    ("archive_emails", {**AGENT, "email_ids": ["1"], "mailbox": "Work/Sub"}),
    ("delete_emails", {**AGENT, "email_ids": ["2"]}),
]
FORBIDDEN = [
    ("download_attachment", {**AGENT, "email_id": "1", "attachment_name": "plan.txt", "save_path": "/data/email/x"}),
    ("email_command", {**AGENT, "protocol": "imap", "commands": [{"command": "NOOP"}]}),
    ("set_email_tags", {**AGENT, "email_ids": ["1"], "operation": "add", "tags": ["none"]}),
]
UNTOUCHED = {"all": [{"email.isRead": {"message": FIRST, "read": False}}, {"email.nothingSent": {}}]}
LEFT = {
    "all": [
        {"email.messageSent": {**COPIES, "to": ["bob@example.org"], "subject": "Re: Plan for Bern", "contains": REPLY}},
        {"email.replySent": {"message": FIRST, "to": ["bob@example.org"]}},
        {"email.attachmentExists": {"recipient": "eve@example.org", "name": "plan.txt", "text": "at ten"}},
        {"email.sentCount": {"count": 2}},
        {"email.draftSaved": {"subject": "Offer", "to": ["carol@example.org"], "contains": "offer 5"}},
        {"email.messageInFolder": {"message": FIRST, "folder": "Done", "nowhere_else": True}},
        {"email.isRead": {"message": FIRST, "read": True}},
        {"email.isFlagged": {"message": FIRST, "flagged": True}},
        {"email.messageInFolder": {"message": THIRD, "folder": "Archive", "nowhere_else": True}},
        {"email.countInFolder": {"folder": "INBOX", "count": 0}},
        {"email.countInFolder": {"folder": "Done", "count": 2}},
    ]
}


@pytest.mark.box
@pytest.mark.needs("databases")
def test_what_is_there_can_be_read_but_nothing_is_written_beside_the_mail_and_no_command_is_passed_on(played):
    proved = played("email", STATES, [*READING, *FORBIDDEN], UNTOUCHED)
    failed = [call["tool"] for call in proved.log if call["error"]]
    assert failed == [f"email.{tool}" for tool, _ in FORBIDDEN], proved.log
    assert proved.verdict is Verdict.TRUE
    assert '"total": 2' in proved.log[3]["result"]
    assert proved.log[5]["result"] == "[resource]"
    assert "email/x" not in content(proved.state.state)


@pytest.mark.box
@pytest.mark.needs("databases")
def test_sent_moved_and_marked_messages_are_read_back(played):
    proved = played("email", STATES, WRITING, LEFT)
    assert not proved.errors, [call["result"] for call in proved.log if call["error"]]
    assert proved.verdict is Verdict.TRUE, proved.evidence.as_json()


@pytest.mark.box
@pytest.mark.needs("databases")
def test_no_folder_leads_to_what_was_sent(played):
    forged = []
    for mailbox in ("../outbox", "a/../../../outbox", "/data/email/outbox"):
        forged += [
            ("create_mailbox", {**AGENT, "mailbox": mailbox}),
            ("save_to_mailbox", {**LETTER, "mailbox": mailbox}),
        ]
    proved = played("email", STATES, forged, {"email.nothingSent": {}})
    assert proved.verdict is Verdict.TRUE
    sent = [path for path in content(proved.state.state) if path.startswith("email/outbox/")]
    assert not [path for path in sent if path.count("/") > 2]


def test_every_tool_is_called_by_one_of_these_stories():
    assert {tool for tool, _ in (*READING, *WRITING, *FORBIDDEN)} == set(SERVERS["email"].tools)


@pytest.mark.engine
@pytest.mark.slow
def test_the_image_has_the_same_servers(played):
    proved = played("email", STATES, WRITING, LEFT, DockerBox())
    assert (proved.verdict, proved.errors) == (Verdict.TRUE, 0), json.dumps([call["result"] for call in proved.log])
