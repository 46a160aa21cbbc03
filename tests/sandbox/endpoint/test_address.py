"""Tests of where a task may be sent: public addresses, by a URL of one form, resolved once."""

from __future__ import annotations

from ipaddress import ip_address, ip_network

import pytest

from sandbox.endpoint.address import SPECIAL, Exceptions, is_ours, parse, pin, why_not
from sandbox.errors import Malformed, Refused, Unavailable

NONE = Exceptions()
PUBLIC, PUBLIC6 = "93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946"


def pinned(url: str, *found: str, exceptions: Exceptions = NONE) -> str:
    """Pin a URL whose name resolves to these addresses; none of them is this machine's."""
    chosen = pin(parse(url), exceptions, resolver=lambda *_: found, ours=lambda _: False)
    return str(chosen.address)


@pytest.mark.parametrize(
    ("url", "canonical"),
    [
        ("https://agent.example.org", "https://agent.example.org/"),
        ("HTTPS://Agent.Example.ORG:443/Path?q=1", "https://agent.example.org/Path?q=1"),
        ("https://agent.example.org:8443/a%2Fb", "https://agent.example.org:8443/a%2Fb"),
        ("https://93.184.216.34/x", "https://93.184.216.34/x"),
        ("https://[2606:2800:0:0:0:0:0:1]:8443", "https://[2606:2800::1]:8443/"),
        ("http://agent.example.org:80?x", "http://agent.example.org/?x"),
        ("https://xn--bcher-kva.example/", "https://xn--bcher-kva.example/"),
    ],
)
def test_a_url_has_one_form(url, canonical):
    assert parse(url).url == canonical
    assert parse(canonical).url == canonical


@pytest.mark.parametrize(
    "url",
    [
        "", "agent.example.org", "ftp://agent.example.org/", "https:///x", "https://", "file:///etc/passwd",
        "https://user@agent.example.org/", "https://user:word@agent.example.org/", "https://agent.example.org/#there",
        "https://agent.example.org\\@127.0.0.1/", "https://agent.example.org/ x", "https://agent.example.org/\n",
        "https://agent.example.org/%zz", "https://agent.example.org/é", "https://exämple.org/",
        "https://localhost/", "https://agent/", "https://agent..example.org/", "https://-a.example.org/",
        "https://agent.example.org./", "https://a_b.example.org/",
        "https://2130706433/", "https://0x7f000001/", "https://0x7f.1/", "https://0177.0.0.1/", "https://127.1/",
        "https://1.2.3/", "https://127.0.0.1.nip.0x1/", "https://example.123/", "https://256.1.1.1/", "https://%31.1.1.1/",
        "https://[::1%25lo]/", "https://[fe80::1%eth0]/", "https://[::ffff:1.2.3.4.5]/", "https://[1.2.3.4]/",
        "https://[]/", "https://[::1/", "https://agent.example.org:/", "https://agent.example.org:4x3/",
        "https://agent.example.org/" + "a" * 2000, "https://" + "a." * 130 + "org/",
    ],
)  # fmt: skip
def test_ambiguous_urls_are_refused(url):
    with pytest.raises(Malformed, match="endpoint"):
        parse(url)


@pytest.mark.parametrize("port", [0, 22, 25, 80, 1023, 65536, 99999])
def test_a_port_of_another_protocol_is_refused(port):
    with pytest.raises(Refused, match="use 443, or one from 1024 on"):
        parse(f"https://agent.example.org:{port}/")


REFUSED = [
    "0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.255.255.254",
    "168.63.129.16", "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.8", "192.0.0.170", "192.0.2.1",
    "192.31.196.1", "192.52.193.1", "192.88.99.1", "192.168.1.1", "192.175.48.6", "198.18.0.1", "198.19.255.255",
    "198.51.100.7", "203.0.113.9", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
    "::", "::1", "::ffff:127.0.0.1", "::ffff:93.184.216.34", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::5db8:d822",
    "64:ff9b:1::1", "100::1", "100:0:0:1::1", "2001::1", "2001:0:53aa:64c::1", "2001:2::1", "2001:10::1",
    "2001:20::1", "2001:1ff::1", "2001:db8::1", "2002:7f00:1::1", "2002:5db8:d822::1", "2620:4f:8000::1", "3fff::1",
    "4000::1", "5f00::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fec0::1", "ff02::1", "ff0e::1",
]  # fmt: skip


@pytest.mark.parametrize("address", REFUSED)
def test_nothing_is_sent_near_us(address):
    with pytest.raises(Refused, match="public addresses only"):
        pinned("https://agent.example.org/", address)


@pytest.mark.parametrize("address", [a for a in REFUSED if ":" not in a])
def test_an_address_is_judged_alike_where_it_stands_in_the_url(address):
    with pytest.raises(Refused, match="public addresses only"):
        pinned(f"https://{address}/")


@pytest.mark.parametrize(
    "address",
    [PUBLIC, PUBLIC6, "1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255",
     "128.0.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0", "198.17.255.255", "198.20.0.0", "223.255.255.255",
     "2001:200::1", "2003::1", "2a00:1450:4001::1", "3ffe:ffff::1"],
)  # fmt: skip
def test_addresses_outside_the_special_registries_are_public(address):
    assert not why_not(ip_address(address))


def test_the_ends_of_every_block_are_in_it():
    for block, _ in SPECIAL:
        assert why_not(block[0])
        assert why_not(block[-1])


@pytest.mark.parametrize("found", [(PUBLIC, "127.0.0.1"), ("10.0.0.1", PUBLIC), (PUBLIC, PUBLIC6, "fd00::1")])
def test_one_address_that_is_not_public_refuses_all(found):
    with pytest.raises(Refused):
        pinned("https://agent.example.org/", *found)


def test_a_name_is_resolved_once_so_that_it_cannot_be_bound_anew():
    answers = [[PUBLIC], ["127.0.0.1"]]
    chosen = pin(parse("https://agent.example.org/"), NONE, resolver=lambda *_: answers.pop(0), ours=lambda _: False)
    assert str(chosen.address) == PUBLIC
    assert answers == [["127.0.0.1"]]  # nobody asked again; what is connected to is the address


@pytest.mark.parametrize("answer", ["127.0.0.1 ", "agent.example.net", "fe80::1%lo", ""])
def test_a_resolver_that_gives_no_plain_address_is_not_believed(answer):
    with pytest.raises(Refused):
        pinned("https://agent.example.org/", answer)


def test_a_name_that_cannot_be_resolved_is_said_before_a_run_is_opened():
    def deaf(*_):
        raise OSError("no answer")

    with pytest.raises(Unavailable, match=r"agent\.example\.org cannot be resolved"):
        pin(parse("https://agent.example.org/"), NONE, resolver=deaf)
    with pytest.raises(Unavailable, match="has no address"):
        pinned("https://agent.example.org/")


def test_an_address_of_this_very_machine_is_refused_though_it_be_public():
    with pytest.raises(Refused, match="this machine itself"):
        pin(parse(f"https://{PUBLIC}/"), NONE, ours=lambda _: True)
    assert is_ours(ip_address("127.0.0.1"))
    assert not is_ours(ip_address("203.0.113.77"))


def test_plain_http_is_refused():
    with pytest.raises(Refused, match="never sent in the clear"):
        pinned("http://agent.example.org/", PUBLIC)


def test_exceptions_lift_their_range_and_nothing_else():
    tests = Exceptions((ip_network("203.0.113.0/24"),))
    assert pinned("http://agent.example.org/", "203.0.113.9", exceptions=tests) == "203.0.113.9"
    for found in (("198.51.100.7",), ("203.0.113.9", "127.0.0.1"), ("::ffff:203.0.113.9",)):
        with pytest.raises(Refused):
            pinned("https://agent.example.org/", *found, exceptions=tests)
    with pytest.raises(Malformed, match=r"203\.0\.113\.0/24"):
        Exceptions.of(["203.0.113.300/24"], None)
    assert tests
    assert not Exceptions.of([], None)
