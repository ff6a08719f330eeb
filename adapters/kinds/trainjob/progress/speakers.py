"""Which TrainJob a token may speak for.

Kubernetes judges the token, for the audience of that one TrainJob's endpoint. It has to be a Pod's,
and the Pod has to belong to the TrainJob by the chain of controllers, by UID: Pod, Job, JobSet,
TrainJob. Upstream stops at the namespace, so that any Pod there may speak for any TrainJob of it.
"""

from collections.abc import Callable
from typing import Protocol

from jobledger.adapters.serving.judgements import Judgements
from jobledger.core.jobs.control.ownership import controller_of
from jobledger.core.ports.cluster import BATCH_JOBS, JOBSETS, PODS, TRAINJOBS, Resource
from jobledger.core.trainjob.reports import AUDIENCE
from jobledger.core.values.documents import Manifest, child, items, text

TOKEN_REVIEWS = Resource("authentication.k8s.io", "v1", "tokenreviews", "TokenReview")
POD_NAME = "authentication.kubernetes.io/pod-name"
POD_UID = "authentication.kubernetes.io/pod-uid"

REMEMBERED_MAX = 10_000
"""So many judgements of each kind are kept; a token goes with its Pod."""
CHAIN = (BATCH_JOBS, JOBSETS, TRAINJOBS)
"""What controls a Pod, and so on upwards."""


class TooManyTokens(Exception):  # named as a sentence, like the core's
    """So many unknown tokens came that Kubernetes is not asked about another one now."""


class Api(Protocol):
    """The part of `core.ports.cluster.Cluster` that is needed here."""

    def get(self, resource: Resource, namespace: str, name: str) -> Manifest | None:
        """Return the object, or None if there is none."""

    def create(self, resource: Resource, manifest: Manifest) -> Manifest:
        """Create an object; of a review, the answer is its status."""


class Speakers:
    """Judges tokens, and remembers it for a while. Safe to use from many threads."""

    def __init__(
        self, api: Api, monotonic: Callable[[], float], may_ask: Callable[[str], bool]
    ) -> None:
        """Take the API server, a clock, and whether an address may send another unknown token."""
        self._api, self._may_ask = api, may_ask
        self._judgements: Judgements[str] = Judgements(monotonic, REMEMBERED_MAX)

    def job_of(self, token: str, namespace: str, name: str, address: str) -> str:
        """Return the UID of the TrainJob that the token speaks for; empty if not for this one.

        Raises:
            TooManyTokens: ask again later.
            ClusterError: the API server does not answer, or refuses.
        """
        if not token:
            return ""
        key = self._judgements.key(namespace, name, token)
        known = self._judgements.known(key)
        if known is not None and self._judgements.holds(known):
            return known.verdict
        if (known is None or not known.good) and not self._may_ask(address):
            raise TooManyTokens
        uid = self._judged(token, namespace, name)
        self._judgements.remember(key, uid, good=bool(uid))
        return uid

    def _judged(self, token: str, namespace: str, name: str) -> str:
        audience = AUDIENCE.format(namespace=namespace, name=name)
        review: Manifest = {
            "apiVersion": TOKEN_REVIEWS.api_version,
            "kind": TOKEN_REVIEWS.kind,
            "metadata": {},
            "spec": {"token": token, "audiences": [audience]},
        }
        status = child(self._api.create(TOKEN_REVIEWS, review), "status")
        if status.get("authenticated") is not True or audience not in items(status, "audiences"):
            return ""
        user = child(status, "user")
        if not text(user, "username").startswith(f"system:serviceaccount:{namespace}:"):
            return ""
        pod_name, pod_uid = _said(user, POD_NAME), _said(user, POD_UID)
        return self._trainjob_of(namespace, name, pod_name, pod_uid)

    def _trainjob_of(self, namespace: str, name: str, pod_name: str, pod_uid: str) -> str:
        """Return the UID of the TrainJob of a name that a Pod belongs to; empty if to none."""
        if not pod_name or not pod_uid:
            return ""
        here = self._api.get(PODS, namespace, pod_name)
        if here is None or text(here, "metadata", "uid") != pod_uid:
            return ""
        for resource in CHAIN:
            owner = controller_of(here)
            if owner is None or (owner.group, owner.kind) != (resource.group, resource.kind):
                return ""
            above = self._api.get(resource, namespace, owner.name)
            if above is None or text(above, "metadata", "uid") != owner.uid:
                return ""
            here = above
        is_it = text(here, "metadata", "name") == name
        return text(here, "metadata", "uid") if is_it else ""


def _said(user: Manifest, key: str) -> str:
    found = items(user, "extra", key)
    return found[0] if found and isinstance(found[0], str) else ""
