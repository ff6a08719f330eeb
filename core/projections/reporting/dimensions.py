"""Dimensions for grouping reports, read from a job's manifest."""

import hashlib
import json
from collections.abc import Sequence

from msgspec.structs import astuple

from jobledger.core.jobs.identity import JobIdentity
from jobledger.core.jobs.queue import QUEUE_LABEL
from jobledger.core.kinds import AnyKind
from jobledger.core.projections.reporting.facts import Dimension
from jobledger.core.values.documents import Manifest, child, text


def dimension_of(
    identity: JobIdentity, kind: AnyKind, document: Manifest, user_labels: Sequence[str]
) -> Dimension:
    """Return what a manifest (`spec`, `labels`, `annotations`) says; unknown is empty."""
    workload = kind.log.workload(document)
    return Dimension(
        cluster=identity.cluster,
        namespace=identity.namespace,
        kind=kind.name,
        framework=workload.framework,
        runtime=workload.runtime,
        queue=text(document, "labels", QUEUE_LABEL),
        user_name=_user(document, user_labels),
        image=workload.image,
    )


def labels_of(document: Manifest) -> str:
    """Return the labels of a manifest as a JSON object, those that are text."""
    labels = child(document, "labels")
    told = {name: labels[name] for name in sorted(labels) if isinstance(labels[name], str)}
    return json.dumps(told, separators=(",", ":"), ensure_ascii=False)


def dimension_id(dimension: Dimension) -> int:
    """Return the key of a combination: the first 8 bytes of its SHA-256, as a signed number."""
    digest = hashlib.sha256("\x1f".join(astuple(dimension)).encode()).digest()
    return int.from_bytes(digest[:8], signed=True)


def _user(document: Manifest, user_labels: Sequence[str]) -> str:
    for part in ("labels", "annotations"):
        for label in user_labels:
            if found := text(document, part, label):
                return found
    return ""
