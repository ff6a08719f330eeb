"""The child Jobs of a JobSet as they are created: the template, marked and connected.

Source: JobSet v0.12.0, pkg/controllers/jobset_controller.go (constructJob and what it calls) and
volume_claim_policy.go. Not done: exclusive placement.
"""

import hashlib

from jobledger.core.values.documents import Json, Manifest, child, items, text
from jobledger.sandbox.controllers.jobset.names import (
    ATTEMPT,
    GROUP,
    JOBSET_NAME,
    claim_name,
    coordinator_of,
    groups_of,
    has_names,
    job_name,
    replicas_of,
    subdomain_of,
)
from jobledger.sandbox.controllers.names import controlled_by

_PREFIX = "jobset.sigs.k8s.io/"


def child_job(jobset: Manifest, group: Json, index: int, restarts: int) -> Manifest:
    """Return the Job number `index` of a replicated job, in the attempt `restarts`."""
    template = child(group, "template")
    name, namespace = job_name(jobset, group, index), text(jobset, "metadata", "namespace")
    marks = _marks(jobset, group, index, restarts)
    spec = child(template, "spec")
    pods = child(spec, "template")
    pod: dict[str, Json] = {"restartPolicy": "OnFailure", **child(pods, "spec")}
    if has_names(jobset):
        pod["subdomain"] = subdomain_of(jobset)
    claims = _claims(jobset, pod)
    if claims:
        pod["volumes"] = [*items(pod, "volumes"), *claims]
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": namespace,
            **_marked(child(template, "metadata"), marks),
            "ownerReferences": [controlled_by(jobset)],
        },
        "spec": {
            "completionMode": "Indexed",
            **spec,
            "suspend": child(jobset, "spec").get("suspend") is True,
            "template": {"metadata": _marked(child(pods, "metadata"), marks), "spec": pod},
        },
    }


def headless_service(jobset: Manifest) -> Manifest:
    """Return the Service that gives the Pods their names."""
    shows_all = child(jobset, "spec", "network").get("publishNotReadyAddresses") is not False
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": subdomain_of(jobset),
            "namespace": text(jobset, "metadata", "namespace"),
            "ownerReferences": [controlled_by(jobset)],
        },
        "spec": {
            "clusterIP": "None",
            "selector": {JOBSET_NAME: text(jobset, "metadata", "name")},
            "publishNotReadyAddresses": shows_all,
        },
    }


def wanted_claims(jobset: Manifest) -> list[Manifest]:
    """Return the claims that the Jobs share, as they are created."""
    found: list[Manifest] = []
    for policy in items(jobset, "spec", "volumeClaimPolicies"):
        goes_with_it = text(policy, "retentionPolicy", "whenDeleted") != "Retain"
        for template in items(policy, "templates"):
            own = child(template, "metadata")
            metadata: dict[str, Json] = {
                "name": claim_name(jobset, template),
                "namespace": text(jobset, "metadata", "namespace"),
                "labels": {**child(own, "labels"), JOBSET_NAME: text(jobset, "metadata", "name")},
                "annotations": {**child(own, "annotations")},
            }
            if goes_with_it:
                metadata["ownerReferences"] = [controlled_by(jobset)]
            head = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
            found.append({**head, "metadata": metadata, "spec": {**child(template, "spec")}})
    return found


def _marked(metadata: Manifest, marks: dict[str, Json]) -> dict[str, Json]:
    """Return labels and annotations with the marks in both."""
    return {field: {**child(metadata, field), **marks} for field in ("labels", "annotations")}


def _marks(jobset: Manifest, group: Json, index: int, restarts: int) -> dict[str, Json]:
    """Return what Jobs and Pods are marked with, as labels and as annotations."""
    name = job_name(jobset, group, index)
    namespace = text(jobset, "metadata", "namespace")
    shared = text(group, "groupName") or "default"
    everything = groups_of(jobset)
    family = [one for one in everything if (text(one, "groupName") or "default") == shared]
    key = hashlib.sha1(f"{namespace}/{name}".encode(), usedforsecurity=False).hexdigest()
    marks: dict[str, Json] = {
        JOBSET_NAME: text(jobset, "metadata", "name"),
        f"{_PREFIX}jobset-uid": text(jobset, "metadata", "uid"),
        GROUP: text(group, "name"),
        ATTEMPT: str(restarts),
        f"{_PREFIX}replicatedjob-replicas": str(replicas_of(group)),
        f"{_PREFIX}global-replicas": str(sum(map(replicas_of, everything))),
        f"{_PREFIX}job-index": str(index),
        f"{_PREFIX}job-key": key,
        f"{_PREFIX}job-global-index": str(_before(everything, group) + index),
        f"{_PREFIX}group-name": shared,
        f"{_PREFIX}group-replicas": str(sum(map(replicas_of, family))),
        f"{_PREFIX}job-group-index": str(_before(family, group) + index),
    }
    coordinator = coordinator_of(jobset)
    if coordinator:
        marks[f"{_PREFIX}coordinator"] = coordinator
    return marks


def _before(groups: list[Json], group: Json) -> int:
    """Return how many Jobs the replicated jobs before this one have."""
    names = [text(one, "name") for one in groups]
    return sum(map(replicas_of, groups[: names.index(text(group, "name"))]))


def _claims(jobset: Manifest, pod: Manifest) -> list[Json]:
    """Return the volumes of the shared claims that some container of the Pod mounts."""
    mounted = {
        text(mount, "name")
        for field in ("containers", "initContainers")
        for container in items(pod, field)
        for mount in items(container, "volumeMounts")
    }
    found: list[Json] = []
    for policy in items(jobset, "spec", "volumeClaimPolicies"):
        for template in items(policy, "templates"):
            name = text(template, "metadata", "name")
            if name in mounted:
                claim: Json = {"claimName": claim_name(jobset, template)}
                found.append({"name": name, "persistentVolumeClaim": claim})
    return found
