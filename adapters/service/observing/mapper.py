"""What every sighting needs to know of this installation, and which job an object is."""

from dataclasses import dataclass, field

from jobledger.adapters.service.control.control_policy import ControlPolicy
from jobledger.core.jobs.identity import JobIdentity
from jobledger.core.jobs.policy import Policy
from jobledger.core.rayjob.spec.installation import UPSTREAMS, Installation
from jobledger.core.trainjob.building.framework import Plugin
from jobledger.core.trainjob.plugins import all_plugins
from jobledger.core.trainjob.policy import TrainPolicy
from jobledger.core.values.documents import Manifest, child, text
from jobledger.core.values.ids import stream_id
from jobledger.core.values.instants import EPOCH, parse_rfc3339

MESSAGE_CHARACTERS_MAX = 20_000
"""Longest message that is kept; Ray's own limit for the log in a failure's message."""

REASON_CHARACTERS_MAX = 200
"""Longest reason that is kept; they are words, but others write them."""


WORD_CHARACTERS_MAX = 1000
"""Longest name, id or address that is taken over from a status."""

COUNT_MAX = 1_000_000
"""Highest counter that is taken over from a status."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservationMapper:
    """What every sighting needs to know of this installation."""

    cluster: str
    """Name of the Kubernetes cluster in the ledger."""
    policy: Policy
    redaction_key: bytes
    train_policy: TrainPolicy = field(default_factory=TrainPolicy)
    plugins: tuple[Plugin, ...] = field(default_factory=all_plugins)
    """What builds the objects of TrainJobs, in the order in which they are asked."""
    builder: str = ""
    """Versions of what builds them: this program and the plugins of others."""
    status_authority: tuple[str, str] = ("", "")
    """Namespace and name of the ConfigMap with the authority of the trainer-status server."""
    installation: Installation = UPSTREAMS
    control_policy: ControlPolicy = field(default_factory=ControlPolicy)
    """In whose hands the jobs are."""


def identify(cluster: str, manifest: Manifest) -> JobIdentity:
    """Return which job an object is."""
    metadata = child(manifest, "metadata")
    uid = text(metadata, "uid")
    created_at = parse_rfc3339(text(metadata, "creationTimestamp")) or EPOCH
    return JobIdentity(
        stream_id=stream_id(cluster, uid, created_at),
        cluster=cluster,
        namespace=text(metadata, "namespace"),
        name=text(metadata, "name"),
        uid=uid,
        created_at=created_at,
    )


def without_copy(annotations: Manifest) -> Manifest:
    """Return the annotations without kubectl's copy of the whole object."""
    copy = "kubectl.kubernetes.io/last-applied-configuration"
    return {key: value for key, value in annotations.items() if key != copy}
