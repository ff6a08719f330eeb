"""What a kind of job brings: everything that other code asks of it, in one description.

A kind fills it in its own folder (`core.rayjob.kind`, `core.trainjob.kind`, `core.batchjob.kind`),
and `core.kinds` lists the kinds. Nothing else in the core asks which kind a job is.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Generic, TypeVar

from jobledger.core.decider import Decided
from jobledger.core.jobs.control.controller_fields import ControllerFields
from jobledger.core.jobs.control.observation_rules import ObservationRules
from jobledger.core.jobs.evidence.scene import EvidenceRules
from jobledger.core.jobs.history.attempt_facts import ClusterVerdict, FactsSoFar
from jobledger.core.jobs.history.event_roles import EventRoles
from jobledger.core.jobs.history.holdings import Pods, SeenHolding
from jobledger.core.jobs.history.progress import ProgressReports
from jobledger.core.jobs.history.report_news import (
    AttemptCluster,
    ClusterNews,
    FailureNews,
    Found,
    Workload,
)
from jobledger.core.jobs.history.signs import Clue
from jobledger.core.jobs.identity import JobIdentity
from jobledger.core.jobs.retries.failures import FailureClass
from jobledger.core.jobs.rows import AttemptRow, PlatformColumns
from jobledger.core.jobs.status.kubernetes_events import KubernetesEvent
from jobledger.core.jobs.status.status_format import StatusFormat
from jobledger.core.ports.cluster import Resource
from jobledger.core.values.documents import Manifest
from jobledger.core.values.ids import StreamId
from jobledger.core.values.instants import Instant

State = TypeVar("State")
Observation = TypeVar("Observation")
Event = TypeVar("Event")
"""An event of the kind's own, or one that every kind has."""
OwnEvent = TypeVar("OwnEvent")


@dataclass(frozen=True, slots=True, kw_only=True)
class LogReaders(Generic[State, Event, OwnEvent]):
    """How the log of a kind is read. What has a default is left out by kinds without such things.

    Those are clusters, objects that are built, retries, programs that tell how far they are.
    """

    roles: EventRoles
    words: Callable[[OwnEvent], str]
    """What an event of its own says, in a sentence or less."""
    completion_words: Callable[[OwnEvent], str] = lambda _: "is complete since"
    """What became of a job, by the event of its completion: `is complete since`."""
    attempt_end_words: Callable[[OwnEvent], str]
    """What became of an attempt, by the event of its end: `failed`."""
    retry_words: Callable[[OwnEvent], str] = lambda _: ""
    """A sentence on what was decided about a retry; empty of any other event."""
    standing: Callable[[Sequence[tuple[int, object]]], Iterable[tuple[str, int]]] = lambda _: ()
    """What else holds of a job, from its events with their versions: sentences, each with the
    version of the event that says so."""
    clues: Callable[[OwnEvent], Iterator[Clue]]
    """Why an attempt may fail, by an event of its own."""
    parts: Mapping[type, str]
    """Event of its own -> the part of the job that it tells of, as confirmations and gaps name
    it."""
    details_told: Callable[[Sequence[Event]], Manifest] = lambda _: {}
    """What the events of a turn say of `EffectEnded.details`, under names of their own."""
    take_facts: Callable[[OwnEvent, FactsSoFar], None]
    """What an event of its own says of the attempts."""
    cluster_verdict: Callable[[State, Event], ClusterVerdict | None] = lambda _state, _event: None
    """What an event that follows on a state says of whether the cluster of an attempt that failed
    could have stayed for the next, whatever the job asks for."""
    begun: Callable[[StreamId, State], AttemptRow]
    """The row of the current attempt, which has just begun, or was found."""
    project_attempt: Callable[[AttemptRow, Event], AttemptRow]
    """That row after an event; the same row if the event does not concern it."""
    end_told: Callable[[State], Instant | None] = lambda _: None
    """When the current attempt ended at the latest, by what it ran as; None: nothing says."""
    columns: Callable[[State], PlatformColumns] = lambda _: PlatformColumns()
    """What only the platform beneath has, for the row of the job."""
    failure_news: Callable[[Event], FailureNews | None]
    cluster_news: Callable[[Event], ClusterNews | None] = lambda _: None
    shows_ready_pods: Callable[[Event, str], bool]
    """Whether an event shows that Pods of the attempt do not wait any more: of what it runs as, or
    of the object of that kind beside it."""
    shows_step: Callable[[Event], bool] = lambda _: False
    """Whether an event shows that the attempt's own program is at work, beyond Pods that run."""
    attempt_cluster: Callable[[State], AttemptCluster] = lambda _: AttemptCluster()
    found: Callable[[State], Found | None]
    """How a job was found that was just adopted; None: as if from its beginning."""
    failure_class: Callable[[str], FailureClass] = lambda _: FailureClass.OTHER
    """The class of a failure by upstream's reason for it, where that names a cause."""
    workload: Callable[[Manifest], Workload]
    """What a manifest says that the job runs."""
    built_image: Callable[[Manifest], str] = lambda _: ""
    """The image in the objects that were applied for the job; empty where that says nothing."""
    pods: Callable[[Manifest], Sequence[Pods]]
    """The Pods that a manifest asks for at once, as far as it says what they request."""
    built_pods: Callable[[Manifest], Sequence[Pods]] = lambda _: ()
    """The Pods in the objects that were applied for the job; none where that says nothing."""
    holding_seen: Callable[[Event], SeenHolding | None] = lambda _: None
    """What an event says of how much the attempt's Pods request; None: nothing."""
    grants_retries: bool
    """Whether an event of its own grants a retry; else an attempt that ends may be followed by
    another at once."""
    pauses_attempts: bool = False
    """Whether an attempt goes on while its job is suspended, and holds nothing then."""
    runs_when_seen: bool
    """Whether an attempt that is seen for the first time runs since then at the latest."""
    progress: ProgressReports | None = None
    """How far jobs have said that they are; None: their Pods report no such thing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiNeeds:
    """What the API server has to serve, keep and allow so that a kind of job can be controlled."""

    served: tuple[Resource, ...]
    """The kind's own resource, then those of what is made for its jobs as a rule."""
    indispensable: tuple[Resource, ...] = ()
    """Of these, what no job of the kind runs without."""
    made: tuple[Resource, ...]
    """What is made for a job, with the job for its controller."""
    kept: Mapping[Resource, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    """Fields, as `spec` or `status` and a name, that older definitions of a resource prune."""
    admitted: tuple[Resource, ...]
    """What cannot be created or changed while nobody answers for a webhook that it passes."""
    rights: str
    """Label of the part of `ops/rbac.yaml` without which no job of the kind is controlled."""
    rights_of_some: Mapping[str, str] = field(default_factory=dict)
    """Label of a part -> which jobs need it; it is bound in their namespaces."""
    origin_labels: tuple[str, str] | None = None
    """Labels of what is made for a job: its kind (empty: the name's label tells), then its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobKind(Generic[State, Observation, Event, OwnEvent]):
    """What is different about one kind of job, as far as it is pure."""

    name: str
    """As in the table `job`."""
    resource: Resource
    is_default: bool = True
    """Whether it is controlled where the settings name no kinds."""
    api: ApiNeeds
    phases: type[StrEnum]
    """What a job may be at, in one word; empty at first."""
    initial: State
    decide: Callable[[State, Observation], Decided[State, Event]]
    evolve: Callable[[State, Event], State]
    event_types: Mapping[str, type[OwnEvent]]
    """Stored name -> class, of the events of its own; a name stays for ever."""
    discovered: type[OwnEvent]
    """The first event of every job of this kind."""
    observations: Mapping[str, type]
    """Stored name -> class, of the observations of its own; a name stays for ever. The first says
    that there is such a job."""
    recurring: tuple[type, ...]
    """Those of them whose ids say what was seen, which may be so once more."""
    is_open: Callable[[State], bool]
    is_final: Callable[[State], bool]
    status: Callable[[State], Manifest]
    """What users are to see; empty: nothing is written."""
    milestone: Callable[[State], str]
    """What users must not miss: statuses of one milestone may be merged into one write."""
    status_format: StatusFormat
    controller: ControllerFields
    observing: ObservationRules[State, Observation]
    evidence: EvidenceRules[State]
    managed_by: frozenset[str]
    """Values of spec.managedBy that leave a job to this controller."""
    kubernetes_events: Callable[[JobIdentity, Event], tuple[KubernetesEvent, ...]]
    reporting_controller: str
    """As upstream names itself, so that dashboards and filters keep working."""
    is_told_in_core_events: bool = False
    """Whether its Kubernetes Events are of the older form: its clients pass over the newer."""
    log: LogReaders[State, Event, OwnEvent]
