"""Which loopback address a Pod gets, so that port 8265 of many heads can coexist."""

import hashlib
from collections.abc import Container

MAX_TRIES = 1000
"""Of some 16 million addresses the first free one of this many is taken."""


def address_for(uid: str, taken: Container[str]) -> str:
    """Return an address in 127.1.0.1 to 127.254.255.254, the same for the same Pod if it is free.

    Raises:
        OverflowError: every address that was tried is taken.
    """
    for attempt in range(MAX_TRIES):
        digest = hashlib.sha256(f"{uid}/{attempt}".encode()).digest()
        address = f"127.{digest[0] % 254 + 1}.{digest[1]}.{digest[2] % 254 + 1}"
        if address not in taken:
            return address
    raise OverflowError(f"no free loopback address after {MAX_TRIES} tries")
