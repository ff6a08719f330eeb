"""Judging tokens by Kubernetes: TokenReview says whose it is, SubjectAccessReview what they may."""

import hashlib
import threading
from collections.abc import Callable, Sequence
from typing import Protocol

from core.errors import ClusterError
from core.ports.cluster import Resource
from core.values.documents import Json, Manifest, child, items, text

TOKEN_REVIEWS = Resource("authentication.k8s.io", "v1", "tokenreviews", "TokenReview")
ACCESS_REVIEWS = Resource(
    "authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview"
)

REMEMBERED_SECONDS = 60.0
"""How long a judgement holds."""

REMEMBERED_MAX = 1000


class Creator(Protocol):
    """The part of `core.ports.cluster.Cluster` that is needed here."""

    def create(self, resource: Resource, manifest: Manifest) -> Manifest:
        """Create an object; of a review, the answer is its status."""
        ...


class KubernetesReviewer:
    """Lets read who may `get` RayJobs in the whole cluster."""

    def __init__(self, cluster: Creator, monotonic: Callable[[], float]) -> None:
        self._cluster = cluster
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._known: dict[bytes, tuple[float, bool | None]] = {}

    def may_read(self, token: str) -> bool | None:
        """See `adapters.http.api.guard.Reviewer.may_read`; no answer of Kubernetes is a no."""
        key, now = hashlib.sha256(token.encode()).digest(), self._monotonic()
        with self._lock:
            found = self._known.get(key)
        if found is not None and found[0] > now:
            return found[1]
        try:
            judged = self._review(token)
        except ClusterError:
            return None
        with self._lock:
            if len(self._known) >= REMEMBERED_MAX:
                self._known.clear()
            self._known[key] = now + REMEMBERED_SECONDS, judged
        return judged

    def _review(self, token: str) -> bool | None:
        reviewed = self._cluster.create(TOKEN_REVIEWS, _review(TOKEN_REVIEWS, {"token": token}))
        status = child(reviewed, "status")
        if status.get("authenticated") is not True:
            return None
        user = child(status, "user")
        groups: Sequence[Json] = items(user, "groups")
        asked: Manifest = {
            "user": text(user, "username"),
            "uid": text(user, "uid"),
            "groups": list(groups),
            "resourceAttributes": {"group": "ray.io", "resource": "rayjobs", "verb": "get"},
        }
        answered = self._cluster.create(ACCESS_REVIEWS, _review(ACCESS_REVIEWS, asked))
        return child(answered, "status").get("allowed") is True


def _review(resource: Resource, spec: Manifest) -> Manifest:
    return {"apiVersion": resource.api_version, "kind": resource.kind, "spec": spec, "metadata": {}}
