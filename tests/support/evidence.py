"""Evidence in memory: the port `core.ports.evidence`."""

import hashlib

from jobledger.core.values.instants import Instant


class MemoryEvidence:
    """Keeps contents by their digest."""

    def __init__(self) -> None:
        self.contents: dict[str, bytes] = {}

    def put(self, content: bytes, at: Instant) -> str:
        """See `core.ports.evidence.EvidenceStore.put`."""
        del at
        digest = hashlib.sha256(content).hexdigest()
        self.contents[digest] = content
        return digest

    def get(self, digest: str) -> bytes | None:
        """See `core.ports.evidence.EvidenceStore.get`."""
        return self.contents.get(digest)
