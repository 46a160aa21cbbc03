# ruff: noqa: RUF001 - a dash is no hyphen
"""Tests of mail in the manner of the programs that people write it with, with what it says beside it."""

import base64

import pytest

from verifiers.states.mailbox.reader import mail_of
from verifiers.tree import FileTree, Node

GREETING = "Grüße aus Zürich – 10 €"
BASE64 = base64.b64encode(f"{GREETING}\r\n".encode()).decode()

OUTLOOK = f"""\
Received: from EX01.example.org (2001:db8::1) by EX02.example.org\r
\twith mapi id 15.20; Mon, 5 Jan 2026 10:00:00 +0000\r
From: "Zürcher, Zoë (Sales)" <zoe@example.org>\r
To: =?iso-8859-1?Q?B=F6b?= Bob <Bob@Example.org>\r
Cc: undisclosed-recipients:;\r
Subject: =?Windows-1252?Q?Gr=FC=DFe_aus_Z=FCrich_=96_1?=\r
 =?Windows-1252?Q?0_=80?=\r
Thread-Index: AdxAAA==\r
X-MS-Has-Attach: yes\r
MIME-Version: 1.0\r
Content-Type: multipart/mixed;\r
\tboundary="_004_X"\r
\r
--_004_X\r
Content-Type: multipart/related;\r
\tboundary="_003_X"; type="multipart/alternative"\r
\r
--_003_X\r
Content-Type: multipart/alternative; boundary="_000_X"\r
\r
--_000_X\r
Content-Type: text/plain; charset="Windows-1252"\r
Content-Transfer-Encoding: quoted-printable\r
\r
Gr=fc=DFe aus Z=  \r
=FCrich =96 10 =80\r
\r
--_000_X\r
Content-Type: text/html; charset="Windows-1252"\r
Content-Transfer-Encoding: quoted-printable\r
\r
<p>no</p>\r
--_000_X--\r
\r
--_003_X\r
Content-Type: image/png; name="image001.png"\r
Content-Disposition: inline; filename="image001.png"; size=4\r
Content-ID: <image001.png@01D>\r
Content-Transfer-Encoding: base64\r
\r
{base64.b64encode(b"PNG.").decode()}\r
\r
--_003_X--\r
\r
--_004_X\r
Content-Type: application/pdf; name="=?utf-8?B?{base64.b64encode("Übersicht.pdf".encode()).decode()}?="\r
Content-Disposition: attachment;\r
\tfilename="=?utf-8?B?{base64.b64encode("Übersicht.pdf".encode()).decode()}?="\r
\r
PDF\r
--_004_X--\r
"""
GMAIL = f"""\
Delivered-To: bob@example.org
MIME-Version: 1.0
From: =?UTF-8?B?Wm/Dqw==?= <zoe@example.org>
To: Bob <bob@example.org>
Subject: =?UTF-8?B?R3LDvMOfZSBhdXMgWsO8cmljaCA=?= =?UTF-8?B?4oCTIDEwIOKCrA==?=
Content-Type: multipart/alternative; boundary="00000000000012"

--00000000000012
Content-Type: text/plain; charset="UTF-8"
Content-Transfer-Encoding: base64

{BASE64[:7]}
{BASE64[7:20]}

{BASE64[20:]}
--00000000000012
Content-Type: text/html; charset="UTF-8"

<div>no</div>
--00000000000012--
"""
APPLE = """\
From: Zo=?utf-8?Q?=C3=AB?= <zoe@example.org>
Content-Type: multipart/mixed;
\tboundary="Apple-Mail=_5"
Mime-Version: 1.0 (Mac OS X Mail 16.0 \\(3776\\))
Subject: =?utf-8?Q?Gr=C3=BC=C3?= =?utf-8?Q?=9Fe_aus_Z=C3=BCrich_=E2=80?=
 =?utf-8?Q?=93_10_=E2=82=AC?=
To: bob@example.org

--Apple-Mail=_5
Content-Transfer-Encoding: quoted-printable
Content-Type: text/plain;
\tcharset=utf-8

Gr=C3=BC=C3=9Fe aus =
Z=C3=BCrich =E2=80=93 10 =E2=82=AC
--Apple-Mail=_5
Content-Disposition: inline;
\tfilename*=utf-8''%C3%9Cbersicht%20%E2%80%93%201.txt
Content-Type: text/plain;
\tx-unix-mode=0644;
\tname*=utf-8''%C3%9Cbersicht%20%E2%80%93%201.txt

file
--Apple-Mail=_5
Content-Type: text/plain; charset=us-ascii

And more.
--Apple-Mail=_5--
"""
THUNDERBIRD = f"""\
From: Zoë <zoë@example.org>
To: "Bob \\"the\\" Builder" (at work) <bob@example.org>,
 Team: carol@example.org, dan@example.org;
Subject: {GREETING}
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="------------0a"

This is a multi-part message in MIME format.
--------------0a
Content-Type: text/plain; charset=UTF-8; format=flowed
Content-Transfer-Encoding: 8bit

{GREETING}

--------------0a
Content-Type: text/plain; charset=UTF-8; name="ignored.txt"
Content-Disposition: attachment;
 filename*0*=UTF-8''%C3%9Cbersicht%20der%20;
 filename*1*=Gesch%C3%A4fte;
 filename*2=" 1.txt"
Content-Transfer-Encoding: base64

ZmlsZQ=
--------------0a--
"""
LIST = """\
Sender: announce-bounces@example.org
List-Id: Announce <announce.example.org>
List-Unsubscribe: <mailto:announce-leave@example.org>
From: "Zoe via Announce" <announce@example.org>
Reply-To: zoe@example.org
To: announce@example.org
Subject: [Announce]
\tGruesse  aus Zuerich
Content-Type: multipart/mixed; boundary="===============7=="

--===============7==
Content-Type: multipart/signed; protocol="application/pgp-signature"; boundary="s"

--s
Content-Type: text/plain; charset="iso-2022-jp"
Content-Transfer-Encoding: 7bit

\x1b$B$3$s$K$A$O\x1b(B
--s
Content-Type: application/pgp-signature; name="signature.asc"

sig
--s--
--===============7==
Content-Type: text/plain; charset="us-ascii"
Content-Disposition: inline

_______
Announce mailing list
--===============7==--
"""
MAILS = {
    "Outlook": (OUTLOOK, GREETING, f"{GREETING}\n", ["image001.png", "Übersicht.pdf"], ["bob@example.org"]),
    "Gmail": (GMAIL, GREETING, f"{GREETING}\n", [], ["bob@example.org"]),
    "Apple Mail": (APPLE, GREETING, f"{GREETING}\nAnd more.", ["Übersicht – 1.txt"], ["bob@example.org"]),
    "Thunderbird": (
        THUNDERBIRD, GREETING, f"{GREETING}\n", ["Übersicht der Geschäfte 1.txt"],
        ["bob@example.org", "carol@example.org", "dan@example.org"],
    ),
    "a mailing list": (
        LIST, "[Announce] Gruesse aus Zuerich", "こんにちは\n_______\nAnnounce mailing list", ["signature.asc"],
        ["announce@example.org"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("program", MAILS)
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_mail_of_each_program_says_what_it_says(program, ending):
    source, subject, text, files, to = MAILS[program]
    data = source.replace("\r\n", "\n").replace("\n", ending).encode()
    message = mail_of(FileTree({"Maildir/cur/1:2,S": Node("file", data)})).kept[0]
    assert (message.subject, message.text.strip("\n"), list(message.to)) == (subject, text.strip("\n"), to)
    assert [name for name, _ in message.attachments] == files
