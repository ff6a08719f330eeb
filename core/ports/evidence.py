"""Port: where evidence is captured and kept, addressed by the SHA-256 of its content."""

from collections.abc import Sequence
from typing import Protocol

from jobledger.core.values.documents import Manifest
from jobledger.core.values.instants import Instant


class EvidenceStore(Protocol):
    """Keeps what events name. May raise `LedgerUnavailable`. Safe to call from many threads."""

    def put(self, content: bytes, at: Instant) -> str:
        """Keep a content; return its name. The same content again changes nothing."""

    def get(self, digest: str) -> bytes | None:
        """Return a content by its name, None if it is not there.

        Raises:
            BrokenChain: what is there is not what its name says.
        """


class PodWitness(Protocol):
    """What a cluster tells of Pods besides the objects themselves.

    Every call may raise any `core.errors.ClusterError`. Safe to call from many threads.
    """

    def pod_log(
        self,
        namespace: str,
        name: str,
        container: str = "",
        *,
        tail_lines: int | None = None,
        limit_bytes: int = ...,
        previous: bool = False,
    ) -> str:
        """Return the last lines that a container wrote, of those the first `limit_bytes`.

        With `previous` those of its run before the last start.
        """

    def events_about(self, namespace: str, kind: str, name: str) -> Sequence[Manifest]:
        """Return the Kubernetes Events about an object, a bounded number of them."""
