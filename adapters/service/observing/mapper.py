"""What every sighting needs to know of this installation, and which job an object is."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from sys import intern
from typing import TypeVar

from jobledger.adapters.service.control.control_policy import ControlPolicy
from jobledger.core.jobs.identity import JobIdentity
from jobledger.core.jobs.policy import Policy
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


Installed = TypeVar("Installed")

_DEFAULTS: dict[type, object] = {}
"""What holds of a kind of job whose needs were not given; made once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservationMapper:
    """What every sighting needs to know of this installation."""

    cluster: str
    """Name of the Kubernetes cluster in the ledger."""
    policy: Policy
    redaction_key: bytes
    control_policy: ControlPolicy = field(default_factory=ControlPolicy)
    """In whose hands the jobs are."""
    of_kinds: Mapping[type, object] = field(default_factory=dict)
    """What a kind of job needs to know of this installation besides, by its type."""

    def of(self, type_: type[Installed]) -> Installed:
        """Return what one kind of job needs to know: its defaults, unless it was given."""
        found = self.of_kinds.get(type_) or _DEFAULTS.get(type_)
        if found is None:
            found = _DEFAULTS.setdefault(type_, type_())
        assert isinstance(found, type_), "each is kept under its own type"
        return found

    def knowing(self, *installed: object) -> "ObservationMapper":
        """Return a mapper that is given what kinds of job need to know."""
        given = {type(one): one for one in installed}
        return replace(self, of_kinds={**self.of_kinds, **given})


def identify(cluster: str, manifest: Manifest) -> JobIdentity:
    """Return which job an object is."""
    metadata = child(manifest, "metadata")
    uid = text(metadata, "uid")
    created_at = parse_rfc3339(text(metadata, "creationTimestamp")) or EPOCH
    return JobIdentity(
        stream_id=stream_id(cluster, uid, created_at),
        cluster=cluster,
        namespace=intern(text(metadata, "namespace")),
        name=text(metadata, "name"),
        uid=uid,
        created_at=created_at,
    )


def without_copy(annotations: Manifest) -> Manifest:
    """Return the annotations without kubectl's copy of the whole object."""
    copy = "kubectl.kubernetes.io/last-applied-configuration"
    return {key: value for key, value in annotations.items() if key != copy}
