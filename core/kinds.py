"""The kinds of job: one description of each, so that other code need not ask for the kind.

What handles jobs of any kind (turns, slots, projections, publishing) looks up the description of a
state and calls what it names. The casts stand here and nowhere else: a state of one kind never
meets an observation or an event of another, because a stream is one job.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias, cast

from jobledger.core.catalogue import JobEvent
from jobledger.core.jobs.identity import JobIdentity
from jobledger.core.jobs.observations import DecisionDue, StatusWritten
from jobledger.core.jobs.status.kubernetes_events import KubernetesEvent
from jobledger.core.ports.cluster import RAYJOBS, TRAINJOBS, Resource
from jobledger.core.rayjob import ending as rayjob_ending
from jobledger.core.rayjob import state as rayjob_state
from jobledger.core.rayjob.decide.decider import RAYJOB
from jobledger.core.rayjob.observations.observations import (
    ClusterGone,
    ClusterSeen,
    HeadPodGone,
    HeadPodSeen,
    ManifestGone,
    ManifestSeen,
    RayJobObservation,
    SubmitterGone,
    SubmitterSeen,
)
from jobledger.core.rayjob.state import RayJobState
from jobledger.core.rayjob.status import kubernetes_events as rayjob_events
from jobledger.core.rayjob.status import status as rayjob_status
from jobledger.core.trainjob import state as trainjob_state
from jobledger.core.trainjob.decide.decider import TRAINJOB
from jobledger.core.trainjob.events import TrainJobDiscovered
from jobledger.core.trainjob.observations import (
    BelongingGone,
    JobSetGone,
    JobSetSeen,
    ProgressSeen,
    RuntimeSeen,
    TrainJobGone,
    TrainJobObservation,
    TrainJobSeen,
)
from jobledger.core.trainjob.state import TrainJobState
from jobledger.core.trainjob.status import kubernetes_events as trainjob_events
from jobledger.core.trainjob.status import status as trainjob_status
from jobledger.core.values.documents import Manifest
from jobledger.core.values.ids import StreamId, observation_id

JobState: TypeAlias = RayJobState | TrainJobState
JobObservation: TypeAlias = RayJobObservation | TrainJobObservation

Decide: TypeAlias = Callable[[JobState, JobObservation], tuple[JobEvent, ...]]
Evolve: TypeAlias = Callable[[JobState, JobEvent], JobState]
Announce: TypeAlias = Callable[[JobIdentity, JobEvent], tuple[KubernetesEvent, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobKind:
    """What is different about one kind of job, as far as it is pure."""

    name: str
    """As in the table `job`."""
    resource: Resource
    initial: JobState
    decide: Decide
    evolve: Evolve
    is_open: Callable[[JobState], bool]
    is_final: Callable[[JobState], bool]
    status: Callable[[JobState], Manifest]
    """What users are to see; empty: nothing is written."""
    milestone: Callable[[JobState], str]
    """What users must not miss: statuses of one milestone may be merged into one write."""
    kubernetes_events: Announce
    reporting_controller: str
    """As upstream names itself, so that dashboards and filters keep working."""
    is_told_in_core_events: bool = False
    """Whether its Kubernetes Events are of the older form: its clients pass over the newer."""


def _rayjob_milestone(state: RayJobState) -> str:
    return state.phase.value


RAYJOB_KIND = JobKind(
    name="RayJob",
    resource=RAYJOBS,
    initial=RAYJOB.initial,
    decide=cast("Decide", RAYJOB.decide),
    evolve=cast("Evolve", RAYJOB.evolve),
    is_open=cast("Callable[[JobState], bool]", rayjob_ending.is_open),
    is_final=cast("Callable[[JobState], bool]", rayjob_state.is_final),
    status=cast("Callable[[JobState], Manifest]", rayjob_status.status),
    milestone=cast("Callable[[JobState], str]", _rayjob_milestone),
    kubernetes_events=cast("Announce", rayjob_events.kubernetes_events),
    reporting_controller="rayjob-controller",
)
TRAINJOB_KIND = JobKind(
    name="TrainJob",
    resource=TRAINJOBS,
    initial=TRAINJOB.initial,
    decide=cast("Decide", TRAINJOB.decide),
    evolve=cast("Evolve", TRAINJOB.evolve),
    is_open=cast("Callable[[JobState], bool]", trainjob_state.is_open),
    is_final=cast("Callable[[JobState], bool]", trainjob_state.is_final),
    status=cast("Callable[[JobState], Manifest]", trainjob_status.status),
    milestone=cast("Callable[[JobState], str]", trainjob_status.milestone),
    kubernetes_events=cast("Announce", trainjob_events.kubernetes_events),
    reporting_controller="trainer-trainjob-controller",
    is_told_in_core_events=True,
)
KINDS = {kind.name: kind for kind in (RAYJOB_KIND, TRAINJOB_KIND)}

_OF_TRAINJOBS = (TrainJobGone, RuntimeSeen, BelongingGone, JobSetSeen, JobSetGone)
"""What means nothing to a job that was not seen yet."""

NOTHING: JobState = RAYJOB_KIND.initial
"""The state of a job of which nothing is known, not even its kind."""


def kind_of(state: JobState) -> JobKind:
    """Return the description of a job's kind; of one that is not known yet, any."""
    return TRAINJOB_KIND if isinstance(state, TrainJobState) else RAYJOB_KIND


def decide(state: JobState, observation: JobObservation) -> tuple[JobEvent, ...]:
    """Return what happens because of `observation`; the first look at a job tells its kind."""
    if state.identity is None and isinstance(observation, TrainJobSeen):
        return TRAINJOB_KIND.decide(TRAINJOB_KIND.initial, observation)
    if state.identity is None and isinstance(observation, _OF_TRAINJOBS):
        return ()
    return kind_of(state).decide(state, observation)


def evolve(state: JobState, event: JobEvent) -> JobState:
    """Return the state after `event`; the first event of a stream tells the kind of its job."""
    if state.identity is None and isinstance(event, TrainJobDiscovered):
        return TRAINJOB_KIND.evolve(TRAINJOB_KIND.initial, event)
    return kind_of(state).evolve(state, event)


def status(state: JobState) -> Manifest:
    """Return what users are to see of a job; of one that is only recorded others tell them."""
    if state.recorded is not None:
        return {}
    return kind_of(state).status(state)


def is_open(state: JobState) -> bool:
    """Return whether anything is left to do or to wait for."""
    return kind_of(state).is_open(state)


RECURRING = (
    ManifestSeen,
    ManifestGone,
    ClusterSeen,
    ClusterGone,
    SubmitterSeen,
    SubmitterGone,
    HeadPodSeen,
    HeadPodGone,
    TrainJobSeen,
    TrainJobGone,
    RuntimeSeen,
    BelongingGone,
    JobSetSeen,
    JobSetGone,
    ProgressSeen,
    StatusWritten,
    DecisionDue,
)
"""Observations whose ids say what was seen, which may be so once more: of an object that is as it
was before, that lost its label and has it again, or that a restored etcd shows under an earlier
version."""


def identified(stream: StreamId, version: int, seen: JobObservation) -> JobObservation:
    """Return an observation under an id that no other of its job has whose events differ.

    What may be so once more has the length of the stream, `version`, in its id: if it is news then,
    its events are none of those that it brought before. Told again while it is no news it brings
    nothing, and what was appended is sent again as it was, so nothing needs the first id.
    """
    if not isinstance(seen, RECURRING):
        return seen
    return replace(seen, id=observation_id(stream, "seen", str(seen.id), str(version)))
