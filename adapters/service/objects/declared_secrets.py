"""Collects the secrets that the parts of a job declare, for its redactor.

A job prints what its program was given, and that comes from more than its own object: a RayJob
may run on a RayCluster that somebody else made, a TrainJob is built from a runtime, from the
snapshot of one, and runs as a JobSet. Whatever is said of or by a job goes through one redactor
that knows all of it.
"""

from collections.abc import Iterable

import msgspec

from jobledger.adapters.service.objects.kept_children import CachedChild
from jobledger.adapters.service.objects.object_cache import (
    CachedJob,
    CachedRuntime,
    ObjectCache,
)
from jobledger.adapters.service.objects.runtime_env import parse_runtime_env
from jobledger.core.log.redaction.redact import joined, secrets_in
from jobledger.core.trainjob.names import SNAPSHOT_KEY
from jobledger.core.values.documents import Manifest, child, items, number, text

_WITHOUT_GENERATION = frozenset({"ConfigMap", "Secret"})

_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")

KINDS_OF_PODS_MAX = 50
"""So many Pods that differ from each other are looked at for secrets, of one attempt."""


def secrets_of(manifest: Manifest) -> frozenset[str]:
    """Return the secrets that an object declares."""
    runtime_env, problem = parse_runtime_env(text(manifest, "spec", "runtimeEnvYAML"))
    return secrets_in(manifest, None if problem else runtime_env)


def secrets_of_job(manifest: Manifest, known: CachedJob | None, declared: object) -> frozenset[str]:
    """Return the secrets that a job and its earlier forms declare.

    Args:
        manifest: A RayJob or TrainJob.
        known: The job as it was last seen.
        declared: What changes with its specification, labels and annotations; nothing is looked at
            again while that is the same.
    """
    if known is None:
        return secrets_of(manifest)
    return (
        known.secrets if known.declared == declared else joined(known.secrets, secrets_of(manifest))
    )


def secrets_of_child(kind: str, manifest: Manifest, known: CachedChild | None) -> frozenset[str]:
    """Return the secrets that a child declares; what it declares follows its generation.

    Of kinds that count none it may change at any time.
    """
    generation = number(manifest, "metadata", "generation") or 0
    if kind not in _WITHOUT_GENERATION and known is not None and known.generation == generation:
        return known.secrets
    if kind == "ConfigMap":
        return _secrets_of_snapshot(manifest)
    return secrets_in(manifest, None)


def _secrets_of_snapshot(manifest: Manifest) -> frozenset[str]:
    """Return the secrets of the runtime that a ConfigMap holds; a ConfigMap may hold another."""
    written = text(manifest, "data", SNAPSHOT_KEY)
    if not written:
        return frozenset()
    held, problem = parse_runtime_env(written)
    if problem or held is None:
        return secrets_in({"spec": {"runtimeEnvYAML": written}}, None)
    return secrets_in(held, None)


def secrets_of_parts(live: ObjectCache, job: CachedJob, kinds: Iterable[str]) -> frozenset[str]:
    """Return the secrets of all that a job runs from and of its children of some kinds, if seen."""
    found: frozenset[str] = frozenset()
    for kind in kinds:
        for part in live.children_of(kind, job):
            found |= part.secrets
    runtime: CachedRuntime | None = live.runtime(job.runtime)
    return found | runtime.secrets if runtime is not None else found


def secrets_of_pods(pods: Iterable[Manifest]) -> frozenset[str]:
    """Return the secrets that Pods declare; the many that are alike are looked at once."""
    found: frozenset[str] = frozenset()
    looked_at: set[bytes] = set()
    for pod in pods:
        spec = {key: items(pod, "spec", key) for key in _CONTAINERS}
        shown: Manifest = {
            "spec": spec,
            "metadata": {"annotations": child(pod, "metadata", "annotations")},
        }
        mark = msgspec.json.encode(shown)
        if mark not in looked_at and len(looked_at) < KINDS_OF_PODS_MAX:
            looked_at.add(mark)
            found |= secrets_in({"metadata": child(pod, "metadata"), **shown}, None)
    return found
