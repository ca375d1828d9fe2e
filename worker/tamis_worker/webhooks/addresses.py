"""Public addresses: those that a webhook may be sent to unless the operator allows more.

Whoever may submit a batch names a URL, and the worker that calls it stands inside somebody's network.
"""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

GLOBAL_UNICAST = IPv6Network("2000::/3")  # all that is assigned to hosts; the rest is local, multicast or reserved
NAT64 = IPv6Network("64:ff9b::/96")  # an IPv4 address in the last 32 bits (RFC 6052)
# Their IPv4 addresses stand inside, and a relay would take the packets there (RFC 3056, RFC 4380).
TUNNELS = (IPv6Network("2002::/16"), IPv6Network("2001::/32"))
RELAYS = IPv4Network("192.88.99.0/24")  # to the first of these; deprecated (RFC 7526)


def is_public(address: str) -> bool:
    """Return whether an address, as a number, is that of one host on the internet; False for what is no address."""
    try:
        number = ip_address(address)
    except ValueError:
        return False
    return _is_public_v4(number) if isinstance(number, IPv4Address) else _is_public_v6(number)


def _is_public_v4(address: IPv4Address) -> bool:
    return address.is_global and not address.is_multicast and address not in RELAYS


def _is_public_v6(address: IPv6Address) -> bool:
    if address.ipv4_mapped is not None:
        return _is_public_v4(address.ipv4_mapped)
    if address in NAT64:
        return _is_public_v4(IPv4Address(int(address) & 0xFFFFFFFF))
    if address not in GLOBAL_UNICAST or any(address in tunnel for tunnel in TUNNELS):
        return False
    return address.is_global and not address.scope_id
