"""Reads the token for a head from the Secret that the RayCluster names.

A token is never logged and never kept for long: Secrets are rotated.
"""

import base64
import binascii
import threading

from jobledger.adapters.service.objects.object_cache import CachedJob, ObjectCache
from jobledger.core.errors import ClusterError, RayApiUnreachable
from jobledger.core.ports.clock import Clock
from jobledger.core.ports.cluster import SECRETS, Cluster
from jobledger.core.ports.ray_jobs import TOKEN_KEY
from jobledger.core.values.documents import text

KEPT_SECONDS = 15.0
"""So long a token is not read again: about as often as a head is asked in that time, it is saved.
"""


def read_token(cluster: Cluster, live: ObjectCache, job: CachedJob, address: str) -> str:
    """Return the token for the head at `address`; empty if it asks for none.

    Raises:
        RayApiUnreachable: the Secret, or what it should hold, is not there or cannot be read.
    """
    secret = _secret_of(live, job, address)
    if not secret:
        return ""
    namespace = job.identity.namespace
    try:
        found = cluster.get(SECRETS, namespace, secret)
    except ClusterError as error:
        message = f"the Secret {namespace}/{secret} with the head's token cannot be read: {error}"
        raise RayApiUnreachable(message) from error
    try:
        token = base64.b64decode(text(found, "data", TOKEN_KEY), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        token = ""
    if not token.strip():
        raise RayApiUnreachable(
            f"the Secret {namespace}/{secret} holds no {TOKEN_KEY}; the head asks for that token"
        )
    return token


def _secret_of(live: ObjectCache, job: CachedJob, address: str) -> str:
    for cluster in live.children_of("RayCluster", job):
        if cluster.address == address:
            return cluster.token_secret
    return ""


class Tokens:
    """Tokens for many questions. Safe for many threads."""

    def __init__(self, cluster: Cluster, live: ObjectCache, clock: Clock) -> None:
        self._cluster, self._live, self._clock = cluster, live, clock
        self._kept: dict[tuple[str, str], tuple[float, str]] = {}
        self._lock = threading.Lock()

    def token(self, job: CachedJob, address: str) -> str:
        """Return the token as `read_token` does, which was read a short while ago at most."""
        if not _secret_of(self._live, job, address):
            return ""
        key, now = (job.identity.uid, address), self._clock.monotonic()
        with self._lock:
            read_at, token = self._kept.get(key, (0.0, ""))
        if token and now - read_at < KEPT_SECONDS:
            return token
        token = read_token(self._cluster, self._live, job, address)
        with self._lock:
            self._kept = {
                other: kept for other, kept in self._kept.items() if now - kept[0] < KEPT_SECONDS
            }
            self._kept[key] = (now, token)
        return token
