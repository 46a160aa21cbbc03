"""Compiler of system-call filters by allow-list: an unnamed call is refused, whatever the kernel.

One program for each kind of place: agent, world and relay (`sandbox.isolation.filters`), gateway
(`sandbox.gateway.filter`), reader and judge (`sandbox.judge.filter`). Under Docker that of a container is stacked on
the engine's own profile (the kernel obeys the stricter of the two), under bubblewrap it stands alone.

- Another ABI of the machine (i386, with its `socketcall`) kills the process, and the x32 numbers are denied: they
  would be a second door to every call.
- What is refused fails with EPERM; from number 424 on (Linux 5.1, where all machines began to share their numbers) with
  ENOSYS, as on a kernel that is older than the call: libraries then fall back on the call that was there before, which
  they do not after EPERM.
- Conditions come first, then the numbers that are allowed whatever their arguments, as ranges. Kernels from 5.11 on ask
  the program of the latter once and keep the answer.

Formats: seccomp(2), bpf(4) (`struct sock_filter`).
"""

from __future__ import annotations

import errno
import platform
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from sandbox.errors import Unavailable
from sandbox.isolation.system_calls import Numbers

# struct seccomp_data: int nr; __u32 arch; __u64 instruction_pointer; __u64 args[6]
NR, ARCH, ARGS = 0, 4, 16

# struct sock_filter: __u16 code; __u8 jt; __u8 jf; __u32 k
INSTRUCTION = struct.Struct("=HBBI")
LOAD, EQUAL, AT_LEAST, ABOVE, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x25, 0x45, 0x06

ALLOW, KILL, ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
X32_BIT = 0x40000000
AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
MACHINES = tuple(AUDIT_ARCH)
SHARED_NUMBERS = 424
"""The first number that is the same on every machine; a call from there on may be missing from a kernel."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Condition on an allowed call: what of it is denied.

    Attributes:
        call: its name.
        when: `always`; or, looking at the low 32 bits of argument number `argument`: `unless` it is one of `values`,
            `if` it is one of them, or `bits` where any bit of `values[0]` is set.
        argument: the number of the argument, from 0.
        values: what it is compared with.
        error: the errno that the caller gets.
    """

    call: str
    when: Literal["always", "unless", "if", "bits"] = "always"
    argument: int = 0
    values: tuple[int, ...] = ()
    error: int = errno.EPERM


def allowing(
    numbers: Mapping[str, Numbers],
    conditions: Sequence[Rule] = (),
    machine: str | None = None,
    refused: int | None = None,
) -> bytes:
    """Return a filter that allows these calls, but for what the conditions deny of them, and nothing else.

    A call may have several conditions, if all but its last are `unless`.

    Args:
        numbers: the calls by their names.
        conditions: what is denied of some of them.
        machine: for which machine; this one by default.
        refused: the errno of every other call; by its number by default.

    Returns:
        An array of `struct sock_filter`.

    Raises:
        Unavailable: there are no numbers for that architecture.
    """
    machine = machine or platform.machine()
    known = numbers_of(numbers, machine)
    blocks: dict[str, list[bytes]] = {}
    for rule in conditions:
        if rule.call in known:
            blocks[rule.call] = blocks.get(rule.call, [])[:-1] + _block(rule)  # what was allowed is looked at again
    code = [_do(LOAD, ARCH), _jump(EQUAL, AUDIT_ARCH[machine], 1, 0), _do(RETURN, KILL), _do(LOAD, NR)]
    if machine == "x86_64":
        code += [_jump(AT_LEAST, X32_BIT, 0, 1), _do(RETURN, ERRNO | errno.EPERM)]
    for call, block in blocks.items():
        code += [_jump(EQUAL, known[call], 0, len(block)), *block]
    for first, last in _ranges(sorted(number for call, number in known.items() if call not in blocks)):
        code += [_jump(AT_LEAST, first, 0, 2), _jump(ABOVE, last, 1, 0), _do(RETURN, ALLOW)]
    return b"".join([*code, *_refusal(refused)])


def numbers_of(numbers: Mapping[str, Numbers], machine: str | None = None) -> dict[str, int]:
    """Return the numbers that a machine (this one by default) has for these calls.

    Raises:
        Unavailable: there are none for that architecture.
    """
    machine = machine or platform.machine()
    if machine not in AUDIT_ARCH:
        raise Unavailable(f"there is no system-call filter for {machine}: the wall runs on {' and '.join(MACHINES)}")
    return {call: own for call, pair in numbers.items() if (own := pair[MACHINES.index(machine)]) is not None}


def _refusal(error: int | None) -> list[bytes]:
    if error is not None:
        return [_do(RETURN, ERRNO | error)]
    new, old = _do(RETURN, ERRNO | errno.ENOSYS), _do(RETURN, ERRNO | errno.EPERM)
    return [_jump(AT_LEAST, SHARED_NUMBERS, 0, 1), new, old]


def _ranges(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the first and last of each run of numbers that follow each other."""
    first = 0
    for place, number in enumerate(numbers):
        if place + 1 == len(numbers) or numbers[place + 1] != number + 1:
            yield numbers[first], number
            first = place + 1


def _block(rule: Rule) -> list[bytes]:
    """Assemble what follows once the call's number matched; every path through it ends in a return."""
    deny, allow = _do(RETURN, ERRNO | rule.error), _do(RETURN, ALLOW)
    if rule.when == "always":
        return [deny]
    load = _do(LOAD, ARGS + 8 * rule.argument)  # the low half: both machines are little-endian
    test = ANY_BIT if rule.when == "bits" else EQUAL
    count = len(rule.values)
    tests = [_jump(test, value, count - place, 0) for place, value in enumerate(rule.values)]
    miss, hit = (deny, allow) if rule.when == "unless" else (allow, deny)
    return [load, *tests, miss, hit]


def _do(code: int, k: int) -> bytes:
    return INSTRUCTION.pack(code, 0, 0, k)


def _jump(code: int, k: int, then: int, otherwise: int) -> bytes:
    return INSTRUCTION.pack(code, then, otherwise, k)
