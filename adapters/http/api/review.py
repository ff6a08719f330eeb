"""Checks tokens with Kubernetes: TokenReview for identity, SubjectAccessReview for rights."""

import hmac
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Protocol

from jobledger.adapters.http.api.guard import TooManyTokens
from jobledger.adapters.serving.pace import Pace
from jobledger.core.errors import ClusterError
from jobledger.core.ports.cluster import Resource
from jobledger.core.values.documents import Json, Manifest, child, items, text

TOKEN_REVIEWS = Resource("authentication.k8s.io", "v1", "tokenreviews", "TokenReview")
ACCESS_REVIEWS = Resource(
    "authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview"
)

REMEMBERED_SECONDS = 60.0
"""How long a judgement holds."""

REMEMBERED_MAX = 1000
"""So many judgements of each kind are kept."""


class Creator(Protocol):
    """The part of `core.ports.cluster.Cluster` that is needed here."""

    def create(self, resource: Resource, manifest: Manifest) -> Manifest:
        """Create an object; of a review, the answer is its status."""
        ...


class KubernetesReviewer:
    """Lets read who may `get` RayJobs in the whole cluster.

    No token is kept: judgements are found by a hash of it under a key of this process. Who was
    refused pushes nobody out who was let in, and a token that was good is asked about again however
    many others are.
    """

    def __init__(self, cluster: Creator, monotonic: Callable[[], float]) -> None:
        self._cluster = cluster
        self._monotonic = monotonic
        self._pace = Pace(monotonic)
        self._key = secrets.token_bytes(32)
        self._lock = threading.Lock()
        self._let_in: OrderedDict[bytes, float] = OrderedDict()
        self._refused: OrderedDict[bytes, tuple[float, bool | None]] = OrderedDict()

    def may_read(self, token: str, address: str = "") -> bool | None:
        """See `adapters.http.api.guard.Reviewer.may_read`; no answer of Kubernetes is a no."""
        key = hmac.digest(self._key, token.encode(), "sha256")
        now = self._monotonic()
        with self._lock:
            until, refused = self._let_in.get(key), self._refused.get(key)
        if until is not None and until > now:
            return True
        if refused is not None and refused[0] > now:
            return refused[1]
        if until is None and not self._pace.may_ask(address):
            raise TooManyTokens
        try:
            judged = self._review(token)
        except ClusterError:
            return None
        self._remember(key, now + REMEMBERED_SECONDS, judged=judged)
        return judged

    def _remember(self, key: bytes, until: float, *, judged: bool | None) -> None:
        with self._lock:
            self._let_in.pop(key, None)
            self._refused.pop(key, None)
            if judged:
                self._let_in[key] = until
            else:
                self._refused[key] = until, judged
            for kept in (self._let_in, self._refused):
                if len(kept) > REMEMBERED_MAX:
                    kept.popitem(last=False)

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
