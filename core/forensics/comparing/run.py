"""One run, as far as it is compared: what was asked for, what came of it, when, and where."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from jobledger.core.forensics.attempts import facts
from jobledger.core.forensics.bundles.dossier import Dossier, ReadEvent
from jobledger.core.forensics.comparing.documents import without
from jobledger.core.forensics.story.explain import explain
from jobledger.core.jobs import events as shared
from jobledger.core.jobs.history.attempt_facts import AttemptFacts, JobFacts
from jobledger.core.jobs.identity import JobIdentity
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.kinds import KINDS, ROLES
from jobledger.core.values.documents import Json, Manifest, child
from jobledger.core.values.instants import Instant

BY_KUBERNETES = re.compile(
    r"^(batch\.kubernetes\.io/.*|controller-uid|job-name|"
    r"kubectl\.kubernetes\.io/last-applied-configuration)$"
)
"""Labels and annotations that differ between any two objects, or repeat the rest of theirs."""

OWN_NAME = "<job>"
"""Stands for a run's own name in what was built for it: that differs wherever it is part of one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One job, looked at as a run of something that may be run again."""

    kind: str
    identity: JobIdentity
    outcome: str
    """As `Account.outcome` has it."""
    failure_class: str
    manifest: Manifest
    """As it was for the last attempt: spec, labels, annotations."""
    manifest_version: int
    """The event that brought it."""
    image: str
    """Of the head or the trainer, else of the first container; empty if nothing says it."""
    image_version: int
    built: Manifest
    """What was applied for the job beside what its manifest says, by kind: a JobSet."""
    built_version: int
    facts: JobFacts
    nodes: Mapping[str, tuple[int, ...]]
    """Node -> the events that saw a Pod of the last attempt there."""
    instants: Mapping[Instant, int]
    """When something was true -> the first event that says so."""

    @property
    def last(self) -> AttemptFacts | None:
        """Return its last attempt; None before the first."""
        return self.facts.attempts[-1] if self.facts.attempts else None


def run_of(dossier: Dossier) -> Run:
    """Return a job as a run. Raises as `Dossier.read` does."""
    events, account, identity = dossier.read(), explain(dossier), dossier.identity
    manifest, manifest_version = _manifest(events)
    sent, built_version = _applied(events)
    log = KINDS[dossier.kind].log
    said, built_image = log.workload(manifest).image, log.built_image(sent)
    instants: dict[Instant, int] = {}
    for read in events:
        instants.setdefault(read.occurred_at, read.version)
    return Run(
        kind=dossier.kind,
        identity=identity,
        outcome=account.outcome,
        failure_class=account.failure_class,
        manifest=_without_marks(manifest),
        manifest_version=manifest_version,
        image=said or built_image,
        image_version=manifest_version if said else built_version,
        built=dict(_anonymous(sent, identity.name)),
        built_version=built_version,
        facts=facts(read.event for read in events),
        nodes=_nodes(events),
        instants=instants,
    )


def _manifest(events: Sequence[ReadEvent]) -> tuple[Manifest, int]:
    """Return the manifest that the last attempt was started on, else the last that came."""
    found: tuple[Manifest, int] = ({}, 1)
    started = [read.version for read in events if isinstance(read.event, ROLES.attempt_started)]
    for read in events:
        if found[0] and started and read.version > started[-1]:
            break
        if isinstance(read.event, ROLES.manifest_received) and read.event.document:
            found = read.event.document, read.version
    return found


def _without_marks(manifest: Manifest) -> Manifest:
    """Return a manifest without the labels and annotations that only tell objects apart.

    An API server puts some into the selector and the template of a batch Job as well.
    """
    return {name: _unmarked(value, name) for name, value in manifest.items()}


def _unmarked(value: Json, place: str) -> Json:
    if isinstance(value, Mapping):
        is_marked = place in ("labels", "annotations", "matchLabels")
        return {
            name: _unmarked(one, name)
            for name, one in value.items()
            if not (is_marked and BY_KUBERNETES.match(name))
        }
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_unmarked(one, place) for one in value]
    return value


def _applied(events: Sequence[ReadEvent]) -> tuple[Manifest, int]:
    """Return the objects that were applied last, by `Kind/name`, and the event that tells it."""
    found: tuple[Manifest, int] = ({}, 1)
    for read in events:
        event = read.event
        if isinstance(event, shared.EffectSucceeded) and event.kind is EffectKind.APPLY_OBJECTS:
            found = (event.sent, read.version) if event.sent else found
    return found


def _anonymous(sent: Manifest, name: str) -> Iterator[tuple[str, Json]]:
    """Yield what is asked of each object that was applied, by its kind, without the job's name."""
    for key, applied in sent.items():
        kind = key.partition("/")[0]
        content = child({"of": applied}, "of")
        yield kind, anonymous(without(content, "metadata", "apiVersion", "kind", "status"), name)


def anonymous(value: Json, name: str) -> Json:
    """Return a value in which `OWN_NAME` stands for the name of its job; not in images."""
    return _renamed(value, re.compile(rf"(?<![a-z0-9-]){re.escape(name)}(?![a-z0-9])"))


def _renamed(value: Json, own: re.Pattern[str]) -> Json:
    if isinstance(value, str):
        return own.sub(OWN_NAME, value)
    if isinstance(value, Mapping):
        return {key: _renamed(item, own) if key != "image" else item for key, item in value.items()}
    if isinstance(value, Sequence):
        return [_renamed(item, own) for item in value]
    return value


def _nodes(events: Sequence[ReadEvent]) -> Mapping[str, tuple[int, ...]]:
    captured = [(read.version, read.event) for read in events]
    last = max(
        (event.attempt for _, event in captured if isinstance(event, shared.EvidenceCaptured)),
        default=0,
    )
    nodes: dict[str, tuple[int, ...]] = {}
    for version, event in captured:
        if isinstance(event, shared.EvidenceCaptured) and event.attempt == last:
            for node in sorted({pod.node for pod in event.pods if pod.node}):
                nodes[node] = (*nodes.get(node, ()), version)
    return nodes
