"""Network peer for positive controls only: `python -I -S peer.py DOCUMENT`, standard library only.

Enters the network namespace that DOCUMENT names, or makes one of its own, says "there" and waits for a line; then it
listens at the addresses of DOCUMENT (`tcp` and `udp`: pairs, `abstract`: names of Unix sockets), says "listening", and
answers everybody with one word until its standard input ends.
"""

from __future__ import annotations

import ctypes
import json
import os
import selectors
import socket
import sys
from typing import Any

CLONE_NEWNET = 0x40000000


def enter(namespace: str | None) -> None:
    """Go into a network namespace, or into a new one."""
    libc = ctypes.CDLL(None, use_errno=True)
    if namespace is None:
        done = libc.unshare(CLONE_NEWNET)
    else:
        file = os.open(namespace, os.O_RDONLY)
        done = libc.setns(file, CLONE_NEWNET)
        os.close(file)
    if done != 0:
        raise OSError(ctypes.get_errno(), "no network namespace")


def sockets(document: dict[str, Any]) -> list[socket.socket]:
    """Bind everything."""
    made = []
    for kind, name in ((socket.SOCK_STREAM, "tcp"), (socket.SOCK_DGRAM, "udp")):
        for address, port in document.get(name, ()):
            sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, kind)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind((address, port))
            made.append(sock)
    for name in document.get("abstract", ()):
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        sock.bind(f"\0{name}")
        made.append(sock)
    for sock in made:
        if sock.type == socket.SOCK_STREAM:
            sock.listen()
    return made


def answer(sock: socket.socket) -> None:
    """Answer whoever speaks to one of them; a question about a name gets it back as its answer."""
    if sock.type == socket.SOCK_DGRAM:
        question, sender = sock.recvfrom(2048)
        sock.sendto(named(question), sender)
        return
    caller, _ = sock.accept()
    with caller:
        caller.settimeout(2)
        caller.sendall(b"here")


def named(question: bytes) -> bytes:
    """Answer a question about a name: one address, 192.0.2.1. Anything else is handed back."""
    if len(question) < 17 or question[2:6] != b"\x01\x00\x00\x01":  # noqa: PLR2004 - a header, and the shortest name
        return question
    end = question.index(b"\0", 12) + 5
    record = bytes.fromhex("c00c00010001000000010004c0000201") if question[end - 4 : end - 2] == b"\0\x01" else b""
    return question[:2] + b"\x81\x80\0\x01\0" + bytes([bool(record)]) + bytes(4) + question[12:end] + record


def main(document: dict[str, Any]) -> None:
    """Be there until standard input ends."""
    enter(document.get("namespace"))
    os.write(1, b"there\n")
    os.read(0, 1)
    with selectors.DefaultSelector() as waiting:
        for sock in sockets(document):
            waiting.register(sock, selectors.EVENT_READ)
        waiting.register(0, selectors.EVENT_READ)
        os.write(1, b"listening\n")
        while True:
            for key, _ in waiting.select():
                if key.fd == 0:
                    return
                try:
                    answer(key.fileobj)  # type: ignore[arg-type]
                except OSError:
                    continue


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
