"""Digests under the installation's key: they show which values are equal, and none of them."""

import hmac

from jobledger.core.log.chain import canonical
from jobledger.core.log.storable import storable, storable_json
from jobledger.core.values.documents import Json

_DIGEST_HEX = 32


def digest(key: bytes, document: Json) -> str:
    """Return the keyed digest of a document: 32 hex digits of HMAC-SHA256.

    Equal documents have equal digests, whatever the order of their keys, and whether a whole
    number is written as a float. What lies deeper than `core.log.storable.DEEPEST` levels
    does not count.
    """
    return hmac_hex(key, storable_json(document) or canonical(storable(document)))[:_DIGEST_HEX]


def hmac_hex(key: bytes, content: bytes) -> str:
    """Return the HMAC-SHA256 of `content`, in hex digits.

    `hmac.digest` lets go of the interpreter for however little, and beside a busy thread waits for
    it longer than all of this takes.
    """
    return hmac.new(key, content, "sha256").hexdigest()
