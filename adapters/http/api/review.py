"""Checks tokens with Kubernetes: TokenReview for identity, SubjectAccessReview for rights."""

from collections.abc import Callable, Sequence
from typing import Protocol

from jobledger.adapters.http.api.guard import TooManyTokens
from jobledger.adapters.serving.judgements import Judgements
from jobledger.adapters.serving.pace import Pace
from jobledger.core.errors import ClusterError
from jobledger.core.kinds import KINDS
from jobledger.core.ports.cluster import PODS, Resource
from jobledger.core.values.documents import Json, Manifest, child, items, text

TOKEN_REVIEWS = Resource("authentication.k8s.io", "v1", "tokenreviews", "TokenReview")
ACCESS_REVIEWS = Resource(
    "authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview"
)

READ: tuple[Manifest, ...] = (
    *(
        {"group": kind.resource.group, "resource": kind.resource.plural, "verb": "get"}
        for kind in KINDS.values()
    ),
    {"group": PODS.group, "resource": PODS.plural, "subresource": "log", "verb": "get"},
)
"""What whoever reads the ledger reads."""

REMEMBERED_MAX = 1000
"""So many judgements of each kind are kept."""


class Creator(Protocol):
    """The part of `core.ports.cluster.Cluster` that is needed here."""

    def create(self, resource: Resource, manifest: Manifest) -> Manifest:
        """Create an object; of a review, the answer is its status."""


class KubernetesReviewer:
    """Lets read who may `get` all that the ledger tells of, in the whole cluster.

    That is jobs of every kind, and the logs of Pods: it quotes them. A token that was good is asked
    about again however many others are.
    """

    def __init__(self, cluster: Creator, monotonic: Callable[[], float]) -> None:
        self._cluster = cluster
        self._pace = Pace(monotonic)
        self._judgements: Judgements[bool | None] = Judgements(monotonic, REMEMBERED_MAX)

    def may_read(self, token: str, address: str = "") -> bool | None:
        """See `adapters.http.api.guard.Reviewer.may_read`; no answer of Kubernetes is a no."""
        key = self._judgements.key(token)
        known = self._judgements.known(key)
        if known is not None and self._judgements.holds(known):
            return known.verdict
        if (known is None or not known.good) and not self._pace.may_ask(address):
            raise TooManyTokens
        try:
            judged = self._review(token)
        except ClusterError:
            return None
        self._judgements.remember(key, judged, good=judged is True)
        return judged

    def _review(self, token: str) -> bool | None:
        reviewed = self._cluster.create(TOKEN_REVIEWS, _review(TOKEN_REVIEWS, {"token": token}))
        status = child(reviewed, "status")
        if status.get("authenticated") is not True:
            return None
        user = child(status, "user")
        groups: Sequence[Json] = items(user, "groups")
        who: Manifest = {
            "user": text(user, "username"),
            "uid": text(user, "uid"),
            "groups": list(groups),
            "extra": child(user, "extra"),
        }
        return all(self._may(who, attributes) for attributes in READ)

    def _may(self, who: Manifest, attributes: Manifest) -> bool:
        asked: Manifest = {**who, "resourceAttributes": attributes}
        answered = self._cluster.create(ACCESS_REVIEWS, _review(ACCESS_REVIEWS, asked))
        return child(answered, "status").get("allowed") is True


def _review(resource: Resource, spec: Manifest) -> Manifest:
    return {"apiVersion": resource.api_version, "kind": resource.kind, "spec": spec, "metadata": {}}
