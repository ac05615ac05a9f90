"""Which addresses belong to nobody on the public internet, and to whom instead. Pure.

A table of our own, since what `ipaddress` calls global differs between Python's versions. IPv6 is
closed outside of what is assigned for unicast. Sources: the IANA special-purpose address
registries (RFC 6890), RFC 6052 and 8215 (NAT64), RFC 7526 (6to4 is no more), and the clouds' own
documentation for their metadata services.
"""

from __future__ import annotations

from enum import StrEnum
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Final

from remote_proxy.reach.hosts import Address

Network = IPv4Network | IPv6Network


class Realm(StrEnum):
    """Where an address leads, in words that follow "is"."""

    LOOPBACK = "the remote proxy's own machine"
    OWN = "an address of the remote proxy's own machine"
    PRIVATE = "in a private network"
    SHARED = "in a provider's inner network (100.64.0.0/10)"
    METADATA = "a cloud's metadata service"
    LINK_LOCAL = "link-local"
    MULTICAST = "a multicast address"
    UNSPECIFIED = "no address to connect to"
    DOCUMENTATION = "an address for examples only"
    TRANSITION = "an address of an abandoned transition technique"
    RESERVED = "a reserved address"


SITES: Final = frozenset((Realm.LOOPBACK, Realm.OWN, Realm.PRIVATE, Realm.SHARED))
"""Where an operator's own servers are: what a name on the allow-list may lead to."""

_METADATA: Final = tuple(
    map(
        IPv4Address,
        # AWS, GCP, Azure, DigitalOcean, Oracle, OpenStack; ECS tasks; EKS pods; Alibaba; Azure's
        # agent, which is a public address; Oracle's older one.
        ("169.254.169.254", "169.254.170.2", "169.254.170.23", "100.100.100.200",
         "168.63.129.16", "192.0.0.192"),
    )
) + tuple(map(IPv6Address, ("fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254")))  # fmt: skip

_IPV4: Final = tuple(
    (IPv4Network(network), realm)
    for network, realm in (
        ("0.0.0.0/8", Realm.UNSPECIFIED),
        ("10.0.0.0/8", Realm.PRIVATE),
        ("100.64.0.0/10", Realm.SHARED),
        ("127.0.0.0/8", Realm.LOOPBACK),
        ("169.254.0.0/16", Realm.LINK_LOCAL),
        ("172.16.0.0/12", Realm.PRIVATE),
        ("192.0.0.0/24", Realm.RESERVED),
        ("192.0.2.0/24", Realm.DOCUMENTATION),
        ("192.88.99.0/24", Realm.TRANSITION),
        ("192.168.0.0/16", Realm.PRIVATE),
        ("198.18.0.0/15", Realm.RESERVED),
        ("198.51.100.0/24", Realm.DOCUMENTATION),
        ("203.0.113.0/24", Realm.DOCUMENTATION),
        ("224.0.0.0/4", Realm.MULTICAST),
        ("240.0.0.0/4", Realm.RESERVED),
    )
)
_IPV6: Final = tuple(
    (IPv6Network(network), realm)
    for network, realm in (
        ("::/128", Realm.UNSPECIFIED),
        ("::1/128", Realm.LOOPBACK),
        ("::/96", Realm.TRANSITION),  # IPv4-compatible
        ("64:ff9b:1::/48", Realm.PRIVATE),  # NAT64 of a site's own; where the IPv4 part is varies
        ("2001::/32", Realm.TRANSITION),  # Teredo
        ("2001::/23", Realm.RESERVED),
        ("2001:db8::/32", Realm.DOCUMENTATION),
        ("2002::/16", Realm.TRANSITION),  # 6to4
        ("3fff::/20", Realm.DOCUMENTATION),
        ("fc00::/7", Realm.PRIVATE),
        ("fe80::/10", Realm.LINK_LOCAL),
        ("fec0::/10", Realm.PRIVATE),
        ("ff00::/8", Realm.MULTICAST),
    )
)
_UNICAST: Final = IPv6Network("2000::/3")
_MAPPED: Final = IPv6Network("::ffff:0:0/96")
_NAT64: Final = IPv6Network("64:ff9b::/96")


def meant(address: Address) -> Address:
    """The IPv4 address inside of a mapped or translated one (NAT64), which is where it leads."""
    if isinstance(address, IPv6Address) and (address in _MAPPED or address in _NAT64):
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address


@lru_cache(maxsize=1024)
def realm(address: Address) -> Realm | None:
    """Whose it is; None: the public internet's. Remembered: it is asked for each part of a page."""
    address = meant(address)
    if address in _METADATA:
        return Realm.METADATA
    if isinstance(address, IPv4Address):
        return next((realm for network, realm in _IPV4 if address in network), None)
    bare = IPv6Address(int(address))  # an address with a zone is in no network
    for network, found in _IPV6:
        if bare in network:
            return found
    return None if bare in _UNICAST else Realm.RESERVED
