"""The kinds that are there without any CustomResourceDefinition."""

from jobledger.sandbox.admission.event_versions import from_core, to_core
from jobledger.sandbox.model.kinds import Kind

EVENTS = ("", "events")
"""Both versions of a KubernetesEvent are one store."""

NAMESPACES = Kind(
    group="",
    version="v1",
    plural="namespaces",
    kind="Namespace",
    namespaced=False,
    short_names=("ns",),
    has_status=True,
    extra_subresources=("finalize",),
)

PODS = Kind(
    group="",
    version="v1",
    plural="pods",
    kind="Pod",
    short_names=("po",),
    categories=("all",),
    has_status=True,
    has_generation=True,
    extra_subresources=("log", "binding"),
)

SERVICES = Kind(
    group="",
    version="v1",
    plural="services",
    kind="Service",
    short_names=("svc",),
    categories=("all",),
    has_status=True,
)

JOBS = Kind(
    group="batch",
    version="v1",
    plural="jobs",
    kind="Job",
    categories=("all",),
    has_status=True,
    has_generation=True,
)

CRDS = Kind(
    group="apiextensions.k8s.io",
    version="v1",
    plural="customresourcedefinitions",
    kind="CustomResourceDefinition",
    namespaced=False,
    short_names=("crd", "crds"),
    categories=("api-extensions",),
    has_status=True,
    has_generation=True,
    unconditional_update=False,
)

BUILTIN_KINDS = (
    NAMESPACES,
    PODS,
    SERVICES,
    Kind(group="", version="v1", plural="configmaps", kind="ConfigMap", short_names=("cm",)),
    Kind(group="", version="v1", plural="secrets", kind="Secret"),
    Kind(
        group="",
        version="v1",
        plural="persistentvolumeclaims",
        kind="PersistentVolumeClaim",
        short_names=("pvc",),
        has_status=True,
    ),
    Kind(
        group="", version="v1", plural="serviceaccounts", kind="ServiceAccount", short_names=("sa",)
    ),
    Kind(group="", version="v1", plural="events", kind="Event", short_names=("ev",)),
    Kind(
        group="",
        version="v1",
        plural="nodes",
        kind="Node",
        namespaced=False,
        short_names=("no",),
        has_status=True,
    ),
    JOBS,
    Kind(
        group="coordination.k8s.io",
        version="v1",
        plural="leases",
        kind="Lease",
        unconditional_update=False,
    ),
    Kind(
        group="events.k8s.io",
        version="v1",
        plural="events",
        kind="Event",
        short_names=("ev",),
        stored_as=EVENTS,
        stored_version="v1",
        from_storage=from_core,
        to_storage=to_core,
    ),
    CRDS,
)
"""Every built-in kind, in the order discovery lists them."""
