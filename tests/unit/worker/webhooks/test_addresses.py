"""Which addresses a webhook may be sent to."""

from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis_worker.webhooks.sender import is_public


@pytest.mark.parametrize(
    "address",
    [
        "1.1.1.1",
        "93.184.215.14",
        "172.15.255.255",
        "172.32.0.1",
        "2606:4700:4700::1111",
        "2a00:1450:4001:80e::200e",
        "::ffff:1.1.1.1",
        "64:ff9b::101:101",  # 1.1.1.1, where a network speaks IPv6 alone
    ],
)
def test_an_address_of_a_host_in_the_internet_is_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0",  # noqa: S104 - nothing listens there
        "0.1.2.3",
        "10.0.0.1",
        "100.64.0.1",  # a provider's own network
        "127.0.0.1",
        "127.8.8.8",
        "169.254.169.254",  # where clouds keep the keys of a machine
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.1",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.1.1",
        "198.18.0.1",
        "203.0.113.7",
        "224.0.0.1",
        "239.255.255.250",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::127.0.0.1",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "::ffff:0:127.0.0.1",
        "64:ff9b::7f00:1",  # 127.0.0.1
        "64:ff9b::a9fe:a9fe",  # 169.254.169.254
        "64:ff9b:1::101:101",  # a network's own translation
        "100::1",
        "2001::1",  # a tunnel
        "2001:db8::1",
        "2002:7f00:1::",  # 127.0.0.1 behind a relay
        "2002:101:101::",
        "fc00::1",
        "fd00:ec2::254",
        "fe80::1",
        "fe80::1%eth0",
        "fec0::1",
        "ff02::1",
        "2606:4700:4700::1111%eth0",
        "localhost",
        "",
        "2130706433",
        "0x7f000001",
        "010.0.0.1",
        "127.1",
    ],
)
def test_nothing_else_is(address: str) -> None:
    assert not is_public(address)


@given(st.integers(0, 2**32 - 1))
def test_an_ipv4_address_is_as_public_in_every_ipv6_form_of_it(number: int) -> None:
    plain = is_public(str(IPv4Address(number)))
    assert is_public(str(IPv6Address((0xFFFF << 32) | number))) == plain
    assert is_public(str(IPv6Address((0x64FF9B << 96) | number))) == plain
