"""Stores evidence compressed, addressed by the SHA-256 of its content."""

import hashlib
import zlib
from collections.abc import Iterator

from sqlalchemy import Engine, select, text

from jobledger.adapters.postgres.connection.errors import ledger_errors
from jobledger.adapters.postgres.connection.statements import all_rows
from jobledger.adapters.postgres.schema.stored_events import IS_READ
from jobledger.adapters.postgres.schema.tables import evidence
from jobledger.core.errors import BrokenChain
from jobledger.core.values.instants import Instant

_CHUNK = 200
"""Pieces that are read at a time; bounds the memory."""

CONTENT_BYTES_MAX = 16 * 1024 * 1024
"""No piece that is captured is near it; a planted one may unpack to a thousand times its size."""

_GONE = text(rf"""
    SELECT DISTINCT named.digest FROM event CROSS JOIN LATERAL (
        SELECT log ->> 'digest_of_content' AS digest FROM json_array_elements(
            CASE WHEN {IS_READ} THEN
                CASE WHEN json_typeof(data -> 'logs') = 'array' THEN data -> 'logs' END
            END
        ) AS log
        UNION ALL
        SELECT found[1] FROM regexp_matches(
            CASE WHEN NOT {IS_READ} THEN CAST(data AS text) END,
            '"digest_of_content" *\: *"([0-9a-f]{{64}})"', 'g'
        ) AS found
    ) AS named
    WHERE type = 'EvidenceCaptured' AND named.digest <> '' AND NOT EXISTS (
        SELECT FROM evidence WHERE encode(evidence.digest, 'hex') = named.digest
    )
""")  # noqa: S608  # texts of this program
"""A payload may be none that was written, which another check names: it must not end this one.

Of one that Postgres does not read the text is looked through: what looks like that may be a text
about it.
"""

_PUT = text("SELECT put_evidence_v1(:digest, :size, :packed, :at)")


class PostgresEvidence:
    """Implements `core.ports.evidence.EvidenceStore`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def put(self, content: bytes, at: Instant) -> str:
        """See `core.ports.evidence.EvidenceStore.put`."""
        digest = hashlib.sha256(content).digest()
        values = {
            "digest": digest,
            "size": len(content),
            "packed": zlib.compress(content, 6),
            "at": at,
        }
        with ledger_errors(self._engine.url), self._engine.connect() as connection:
            connection.execute(_PUT, values)
        return digest.hex()

    def get(self, digest: str) -> bytes | None:
        """See `core.ports.evidence.EvidenceStore.get`."""
        try:
            wanted = bytes.fromhex(digest)
        except ValueError:
            return None
        query = select(evidence.c.packed).where(evidence.c.digest == wanted)
        with ledger_errors(self._engine.url), self._engine.connect() as connection:
            packed: bytes | None = connection.execute(query).scalar_one_or_none()
        return None if packed is None else _unpacked(packed, digest)

    def changed(self) -> Iterator[tuple[str, str]]:
        """Yield every piece that is not what its name says, and every named one that is gone.

        A pair is the digest and what is wrong.
        """
        query = select(evidence.c.digest, evidence.c.packed, evidence.c.size)
        query = after = query.order_by(evidence.c.digest).limit(_CHUNK)
        while True:
            rows = all_rows(self._engine, after)
            if not rows:
                break
            for digest, packed, size in rows:
                try:
                    content = _unpacked(packed, digest.hex())
                except BrokenChain as error:
                    yield digest.hex(), error.problem
                else:
                    if len(content) != size:
                        yield digest.hex(), f"{size} bytes are noted, and it has {len(content)}"
            after = query.where(evidence.c.digest > rows[-1].digest)
        with ledger_errors(self._engine.url), self._engine.connect() as connection:
            for (digest,) in connection.execute(_GONE).all():
                yield digest, "an event names it, and it is gone"


def _unpacked(packed: bytes, digest: str) -> bytes:
    unpacker = zlib.decompressobj()
    try:
        content = unpacker.decompress(packed, CONTENT_BYTES_MAX)
    except zlib.error as error:
        raise BrokenChain(f"evidence {digest}", "it cannot be unpacked") from error
    if not unpacker.eof:
        more = f"it is more than {CONTENT_BYTES_MAX} bytes"
        problem = more if len(content) == CONTENT_BYTES_MAX else "it breaks off"
        raise BrokenChain(f"evidence {digest}", f"it cannot be unpacked: {problem}")
    if unpacker.unused_data:
        raise BrokenChain(f"evidence {digest}", "something was added after its end")
    if hashlib.sha256(content).hexdigest() != digest:
        raise BrokenChain(f"evidence {digest}", "it does not have the content it was named by")
    return content
