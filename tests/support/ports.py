"""Ports for servers that are told theirs before they listen.

A port that the system gives out and that is closed again may be given to the next connection that
anybody opens. So these lie below those that the system gives out by itself, and each is held by a
lock on a file for as long as this process lives: no other test process takes it.
"""

import fcntl
import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

FIRST, LAST = 20_000, 32_000
"""Linux gives out those from 32768 on (net.ipv4.ip_local_port_range)."""

_HELD: list[IO[bytes]] = []
"""Closed, and so free, when the process ends."""


def reserved_ports(count: int) -> tuple[int, ...]:
    """Return ports of the loopback that nobody uses, and no other test process will."""
    found: list[int] = []
    for port in _candidates():
        if len(found) == count:
            return tuple(found)
        if _is_ours(port):
            found.append(port)
    raise AssertionError(f"no {count} ports are free from {FIRST} to {LAST}")


def _candidates() -> Iterator[int]:
    """Yield all ports, each process from another one on."""
    span = LAST - FIRST
    start = os.getpid() * 7
    yield from (FIRST + (start + step) % span for step in range(span))


def _is_ours(port: int) -> bool:
    folder = Path(tempfile.gettempdir()) / f"jobledger-test-ports-{os.geteuid()}"
    folder.mkdir(exist_ok=True)
    lock = (folder / str(port)).open("ab")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
    except OSError:
        lock.close()
        return False
    _HELD.append(lock)
    return True
