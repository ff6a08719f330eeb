"""Refuses addresses that cannot be a Ray head, whatever name resolves to them.

The Service of a head is its tenant's: made as an ExternalName, or with endpoints of its own, its
name leads anywhere that this process reaches and the tenant may not: to the metadata service of a
cloud, or to this process's own machine.
"""

import ipaddress
import socket
from typing import Any

_METADATA = frozenset(
    ipaddress.ip_address(one)
    for one in ("100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254")
)
"""Metadata services that are not link-local: of Alibaba, Azure, Oracle, and AWS in IPv6."""

_OWN_NAMES = frozenset({"localhost", "localhost."})


def refuse_target(host: str, address: str) -> None:
    """Refuse to connect to what can be no head.

    Args:
        host: The name that was asked for, or an address.
        address: What it stands for.

    Raises:
        OSError: it is link-local, multicast, none, or a cloud's metadata service; or this machine,
        under the name of another.
    """
    found = ipaddress.ip_address(address.partition("%")[0])
    plain = getattr(found, "ipv4_mapped", None) or found
    is_never = plain.is_link_local or plain.is_multicast or plain.is_unspecified
    is_own = plain.is_loopback and not _names_this_machine(host)
    if is_never or is_own or plain in _METADATA:
        raise OSError(
            f"{host} leads to {plain}, where no Ray head is; nothing was sent. Let the head's "
            "Service select its Pod"
        )


def _names_this_machine(host: str) -> bool:
    """Tell whether a host says itself that this machine is meant: the sandbox, a test."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() in _OWN_NAMES


def addresses_of(host: str, port: int) -> list[tuple[Any, ...]]:
    """Return the addresses that a host has, as `socket` tells them.

    Raises:
        OSError: one of them can be no head's; `socket.gaierror`: it has none.
    """
    found = [
        address
        for *_, address in socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)
    ]
    for address in found:
        refuse_target(host, str(address[0]))
    return found
