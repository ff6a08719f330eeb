"""Port: one Kubernetes API server (read, create, change, delete and watch objects).

Every call may raise any `core.errors.ClusterError`; which of them a caller treats differently is
said per method.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from jobledger.core.values.documents import Manifest
from jobledger.core.values.instants import Instant

Propagation: TypeAlias = Literal["Background", "Foreground", "Orphan"]


@dataclass(frozen=True, slots=True)
class Resource:
    """A kind of object and where the API serves it."""

    group: str
    """API group; empty for the core group."""
    version: str
    plural: str
    kind: str
    pod_label: str = ""
    """Label by which its Pods name it, as its controller sets it; empty if it has no Pods."""

    @property
    def api_version(self) -> str:
        """Return `group/version` as manifests write it."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def group_kind(self) -> str:
        """Return `kind.group`: two groups may each have a kind of one name."""
        return f"{self.kind}.{self.group}" if self.group else self.kind


RAYJOBS = Resource("ray.io", "v1", "rayjobs", "RayJob")
RAYCLUSTERS = Resource("ray.io", "v1", "rayclusters", "RayCluster", "ray.io/cluster")
BATCH_JOBS = Resource("batch", "v1", "jobs", "Job", "batch.kubernetes.io/job-name")
TRAINJOBS = Resource("trainer.kubeflow.org", "v1alpha1", "trainjobs", "TrainJob")
TRAINING_RUNTIMES = Resource(
    "trainer.kubeflow.org", "v1alpha1", "trainingruntimes", "TrainingRuntime"
)
CLUSTER_TRAINING_RUNTIMES = Resource(
    "trainer.kubeflow.org", "v1alpha1", "clustertrainingruntimes", "ClusterTrainingRuntime"
)
JOBSETS = Resource(
    "jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet", "jobset.sigs.k8s.io/jobset-name"
)
POD_GROUPS = Resource("scheduling.x-k8s.io", "v1alpha1", "podgroups", "PodGroup")
VOLCANO_POD_GROUPS = Resource("scheduling.volcano.sh", "v1beta1", "podgroups", "PodGroup")
PODS = Resource("", "v1", "pods", "Pod")
SERVICES = Resource("", "v1", "services", "Service")
SECRETS = Resource("", "v1", "secrets", "Secret")
CONFIGMAPS = Resource("", "v1", "configmaps", "ConfigMap")
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease")
NAMESPACES = Resource("", "v1", "namespaces", "Namespace")
KUBERNETES_EVENTS = Resource("events.k8s.io", "v1", "events", "Event")
CORE_EVENTS = Resource("", "v1", "events", "Event")
CRDS = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition"
)
WEBHOOK_CONFIGURATIONS = tuple(
    Resource("admissionregistration.k8s.io", "v1", f"{kind.lower()}s", kind)
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectList:
    """One consistent answer to a list request."""

    items: Sequence[Manifest]
    resource_version: str


class Cluster(Protocol):
    """The Kubernetes API as an ordinary client uses it. Safe to call from many threads."""

    def get(self, resource: Resource, namespace: str, name: str) -> Manifest | None:
        """Return the object, or None if there is none.

        Raises `KindNotServed` if its kind is served in other versions: it may be there.
        """

    def list(self, resource: Resource, namespace: str = "", label_selector: str = "") -> ObjectList:
        """Return all objects (of one namespace, if named), read in pages."""

    def each(self, resource: Resource, namespace: str = "") -> Iterator[Manifest]:
        """Yield all objects (of one namespace, if named); they need not all be in memory at once.

        Objects that change too fast are listed anew: then some come twice.
        """

    def create(self, resource: Resource, manifest: Manifest) -> Manifest:
        """Create the object in the namespace its metadata names.

        Raises `ObjectExists` if the name is taken.
        """

    def replace(self, resource: Resource, manifest: Manifest, subresource: str = "") -> Manifest:
        """Put the whole object (or its subresource).

        Raises `ObjectChanged` if its resourceVersion is stale.
        """

    def merge_patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        patch: Manifest,
        *,
        subresource: str = "",
    ) -> Manifest:
        """Merge `patch` (RFC 7396); a resourceVersion or uid in its metadata is a precondition.

        In a patch of a custom object's status the uid is none: no notice is taken of it.
        """

    def apply(
        self,
        resource: Resource,
        manifest: Manifest,
        *,
        field_manager: str,
        subresource: str = "",
        force: bool = False,
    ) -> Manifest:
        """Server-side apply: the fields in `manifest` become ours.

        Preconditions are as in `merge_patch`. If there is no such object it is made, whatever
        resourceVersion was named; a UID that was named is a conflict then. Where another manager
        has a field that would change, `force` takes it, and else this raises `ObjectChanged`.
        """

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
        """Ask for deletion, only if the object still has `uid` where one is given.

        A Pod on a node is gone when its node says so with `grace_seconds` of 0; without any it has
        as long to end as it says itself. Of all else `grace_seconds` means nothing.

        An object that is not there is success. Raises `ObjectChanged` if another object has the
        name by now, and `KindNotServed` if its kind is served in other versions: it may be there.
        """


class ObjectListener(Protocol):
    """What a watch tells.

    Called from the watch's own thread; must return quickly and never raise.
    """

    def seen(self, manifest: Manifest, at: Instant) -> None:
        """Take an object as it is at `at` (first list, a relist, or a change)."""

    def gone(self, manifest: Manifest, at: Instant) -> None:
        """Take the last known form of an object that is no longer there."""

    def synced(self, at: Instant) -> None:
        """Take note that everything that existed at some instant before `at` has been told."""

    def interrupted(self, since: Instant, until: Instant, reason: str) -> None:
        """Take note that changes between the two instants may have been missed."""


class Subscription(Protocol):
    """A running watch."""

    def stop(self) -> None:
        """End it; nothing is told after this returns. Calling it twice does no harm."""


class Watches(Protocol):
    """The watching half of an API server: list, watch, resume, list anew, for ever."""

    def watch(
        self,
        resource: Resource,
        listener: ObjectListener,
        *,
        namespace: str = "",
        selector: str = "",
        is_optional: bool = False,
    ) -> Subscription:
        """Start telling `listener` of every object (of a namespace, of a label selector).

        That an optional watch does not run is no trouble of the service.
        """
