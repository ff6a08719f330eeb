"""Which Secrets and ConfigMaps a Pod needs before its containers can be started, as a kubelet asks.

A container whose environment or volumes refer to one that is not there never starts
(`CreateContainerConfigError`), unless the reference says `optional`.
"""

from collections.abc import Iterator

from jobledger.core.ports.cluster import CONFIGMAPS, SECRETS, Cluster, Resource
from jobledger.core.values.documents import Json, Manifest, child, items, text

Reference = tuple[Resource, str]

_OF_ENV = (("secretKeyRef", SECRETS), ("configMapKeyRef", CONFIGMAPS))
_OF_ENV_FROM = (("secretRef", SECRETS), ("configMapRef", CONFIGMAPS))


def pod_templates(document: Json) -> Iterator[Manifest]:
    """Yield the specification of every Pod that an object of any kind is a template for."""
    if isinstance(document, dict):
        if isinstance(document.get("containers"), list):
            yield document
        for value in document.values():
            yield from pod_templates(value)
    elif isinstance(document, list):
        for value in document:
            yield from pod_templates(value)


def references(pod: Manifest) -> Iterator[Reference]:
    """Yield what a Pod refers to and cannot do without."""
    for container in (*items(pod, "initContainers"), *items(pod, "containers")):
        for variable in items(container, "env"):
            yield from _named(child(variable, "valueFrom"), _OF_ENV)
        for source in items(container, "envFrom"):
            yield from _named(child(source), _OF_ENV_FROM)
    for volume in items(pod, "volumes"):
        yield from _of_volume(child(volume))


def _of_volume(volume: Manifest) -> Iterator[Reference]:
    secret = child(volume, "secret")
    if secret and secret.get("optional") is not True:
        yield SECRETS, text(secret, "secretName")
    yield from _named(volume, (("configMap", CONFIGMAPS),))
    for source in items(volume, "projected", "sources"):
        yield from _named(child(source), (("secret", SECRETS), ("configMap", CONFIGMAPS)))


def _named(source: Manifest, kinds: tuple[tuple[str, Resource], ...]) -> Iterator[Reference]:
    for key, resource in kinds:
        reference = child(source, key)
        if reference and reference.get("optional") is not True:
            yield resource, text(reference, "name")


def missing_references(cluster: Cluster, document: Manifest) -> list[str]:
    """Return what the Pods of an object need and what is not in its namespace, as `Kind/name`."""
    namespace = text(document, "metadata", "namespace")
    return sorted(
        {
            f"{resource.kind}/{name}"
            for pod in pod_templates(document.get("spec"))
            for resource, name in references(pod)
            if cluster.get(resource, namespace, name) is None
        }
    )
