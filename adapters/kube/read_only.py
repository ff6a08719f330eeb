"""A client that refuses every write before it is sent."""

from jobledger.adapters.kube.client import KubernetesCluster
from jobledger.core.errors import RequestForbidden
from jobledger.core.ports.cluster import Propagation, Resource
from jobledger.core.values.documents import Manifest

REVIEW_GROUPS = frozenset({"authentication.k8s.io", "authorization.k8s.io"})
"""API groups whose objects are questions: nothing of them is kept."""


class ReadOnlyCluster(KubernetesCluster):
    """Reads like any other. Recorder mode uses it, so that no bug can make it write."""

    def create(self, resource: Resource, manifest: Manifest) -> Manifest:
        """Ask a question; raise `RequestForbidden` for everything else."""
        if resource.group in REVIEW_GROUPS:
            return super().create(resource, manifest)
        raise _refusal(resource)

    def replace(self, resource: Resource, manifest: Manifest, subresource: str = "") -> Manifest:
        """Raise `RequestForbidden`."""
        del manifest, subresource
        raise _refusal(resource)

    def merge_patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        patch: Manifest,
        *,
        subresource: str = "",
    ) -> Manifest:
        """Raise `RequestForbidden`."""
        del namespace, name, patch, subresource
        raise _refusal(resource)

    def apply(
        self,
        resource: Resource,
        manifest: Manifest,
        *,
        field_manager: str,
        subresource: str = "",
        force: bool = False,
    ) -> Manifest:
        """Raise `RequestForbidden`."""
        del manifest, field_manager, subresource, force
        raise _refusal(resource)

    def delete(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        *,
        uid: str = "",
        propagation: Propagation = "Background",
        grace_seconds: int | None = None,
    ) -> None:
        """Raise `RequestForbidden`."""
        del namespace, name, uid, propagation, grace_seconds
        raise _refusal(resource)


def _refusal(resource: Resource) -> RequestForbidden:
    message = f"this installation only records (--observe-only): no {resource.plural} are written"
    return RequestForbidden(message)
