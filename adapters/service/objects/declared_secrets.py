"""Collects the secrets that the parts of a job declare, for its redactor.

A job prints what its program was given, and that comes from more than its own object: a RayJob
may run on a RayCluster that somebody else made, a TrainJob is built from a runtime, from the
snapshot of one, and runs as a JobSet. Whatever is said of or by a job goes through one redactor
that knows all of it.
"""

from collections.abc import Iterable, Iterator

import msgspec

from jobledger.adapters.service.objects.kept_children import CachedChild, CachedRuntime
from jobledger.adapters.service.objects.object_cache import CachedJob, ObjectCache
from jobledger.adapters.service.objects.packing import unpack
from jobledger.adapters.service.objects.runtime_env import parse_runtime_env
from jobledger.core.log.redaction.redact import LateSecrets, Redactor, joined, secrets_in
from jobledger.core.values.documents import Manifest, child, items, text

_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")

KINDS_OF_PODS_MAX = 50
"""So many Pods that differ from each other are looked at for secrets, of one attempt."""


def secrets_of(manifest: Manifest) -> frozenset[str]:
    """Return the secrets that an object declares."""
    runtime_env, problem = parse_runtime_env(text(manifest, "spec", "runtimeEnvYAML"))
    return secrets_in(manifest, None if problem else runtime_env)


def redactor_of_job(
    key: bytes, manifest: Manifest, packed: bytes, known: CachedJob | None, declared: object
) -> Redactor:
    """Return the redactor of a job, which knows the secrets that it and its earlier forms declare.

    A job that is seen for the first time is looked through when something is said of it: after a
    start, of most jobs nothing is for long.

    Args:
        key: The installation's key.
        manifest: A job's object.
        packed: The same, packed.
        known: The job as it was last seen.
        declared: What changes with its specification, labels and annotations; nothing is looked at
            again while that is the same.
    """
    if known is None:
        return Redactor(key, late=(LateSecrets(lambda: secrets_of(unpack(packed))),))
    if known.declared == declared:
        return known.redactor
    secrets = joined(known.secrets, secrets_of(manifest))
    return known.redactor if known.secrets == secrets else Redactor(key, secrets)


def secrets_of_parts(
    live: ObjectCache, job: CachedJob, kinds: Iterable[str]
) -> Iterator[LateSecrets]:
    """Yield the secrets of all that a job runs from and of its children of some kinds, if seen."""
    for kind in kinds:
        for part in live.children_of(kind, job):
            yield _secrets_of_child(live, kind, part)
    runtime: CachedRuntime | None = live.runtime(job.runtime)
    if runtime is None:
        return
    secrets = secrets_of_runtime(runtime)
    if runtime.secrets is None:
        live.note_runtimes_secrets(job.runtime, runtime, secrets)
    yield secrets


def _secrets_of_child(live: ObjectCache, kind: str, part: CachedChild) -> LateSecrets:
    if part.secrets is not None:
        return part.secrets
    found = part.secrets_when_asked()
    live.note_secrets(kind, part, found)
    return found


def secrets_of_runtime(runtime: CachedRuntime) -> LateSecrets:
    """Return the secrets that a runtime declares."""
    if runtime.secrets is not None:
        return runtime.secrets
    return LateSecrets(lambda: secrets_of(runtime.manifest))


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
