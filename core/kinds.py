"""The kinds of job: the list of them, and what is asked of a job without asking for its kind.

What handles jobs of any kind (turns, slots, projections, forensics) calls these functions. A new
kind is a folder beside `core.rayjob` and a line in `KINDS`. The casts stand here and nowhere else:
a state of one kind never meets an observation or an event of another, because a stream is one job.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias, cast

from msgspec.structs import replace

from jobledger.core.batchjob.events import BatchJobEvent
from jobledger.core.batchjob.kind import BATCHJOB_KIND
from jobledger.core.batchjob.observations import BatchJobObservation
from jobledger.core.batchjob.state import BatchJobState
from jobledger.core.decider import Decided
from jobledger.core.errors import BrokenChain
from jobledger.core.job_kind import JobKind
from jobledger.core.jobs.events import SharedEvent
from jobledger.core.jobs.history.attempt_facts import ClusterVerdict, FactsSoFar
from jobledger.core.jobs.history.event_roles import merged
from jobledger.core.jobs.history.holdings import SeenHolding
from jobledger.core.jobs.history.report_news import ClusterNews, FailureNews
from jobledger.core.jobs.history.shared_words import shared_words
from jobledger.core.jobs.history.signs import Clue, shared_clues
from jobledger.core.jobs.manifest.shared_manifest import SharedManifestSeen
from jobledger.core.jobs.observations import (
    AboutStatus,
    DecisionDue,
    EffectEnded,
    EvidenceSeen,
    NothingNew,
    StatusWritten,
)
from jobledger.core.rayjob.events.lifecycle import RayJobEvent
from jobledger.core.rayjob.kind import RAYJOB_KIND
from jobledger.core.rayjob.observations.observations import RayJobObservation
from jobledger.core.rayjob.state import RayJobState
from jobledger.core.trainjob.events import TrainJobEvent
from jobledger.core.trainjob.kind import TRAINJOB_KIND
from jobledger.core.trainjob.observations import TrainJobObservation
from jobledger.core.trainjob.state import TrainJobState
from jobledger.core.values.documents import Manifest
from jobledger.core.values.ids import StreamId, observation_id

JobState: TypeAlias = RayJobState | TrainJobState | BatchJobState
JobObservation: TypeAlias = RayJobObservation | TrainJobObservation | BatchJobObservation
JobEvent: TypeAlias = RayJobEvent | TrainJobEvent | BatchJobEvent
"""An event of any kind of job."""

AnyKind: TypeAlias = JobKind[JobState, JobObservation, JobEvent, JobEvent]

KINDS: Mapping[str, AnyKind] = {
    kind.name: cast("AnyKind", kind) for kind in (RAYJOB_KIND, TRAINJOB_KIND, BATCHJOB_KIND)
}

PHASES = tuple(
    dict.fromkeys(phase.value for kind in KINDS.values() for phase in kind.phases if phase.value)
)
"""The phases that a job of any kind may be in, but for that of one that has none yet."""

NEW = "New"
"""What a job that is in no phase yet is called for people."""

ROLES = merged(kind.log.roles for kind in KINDS.values())
"""The events of all kinds by the role that they play."""

NOTHING: JobState = RAYJOB_KIND.initial
"""The state of a job of which nothing is known, not even its kind."""

_OF_STATE = {type(kind.initial): kind for kind in KINDS.values()}
_OF_EVENT = {cls: kind for kind in KINDS.values() for cls in kind.event_types.values()}
_OF_OBSERVATION = {cls: kind for kind in KINDS.values() for cls in kind.observations.values()}
_DISCOVERED = {kind.discovered: kind for kind in KINDS.values()}
_PARTS = {cls: part for kind in KINDS.values() for cls, part in kind.log.parts.items()}


def kind_of(state: JobState) -> AnyKind:
    """Return the description of a job's kind; of one that is not known yet, any."""
    return _OF_STATE[type(state)]


def is_job_seen(cls: type[JobObservation]) -> bool:
    """Return whether observations of a class are of a job's own object."""
    return issubclass(cls, SharedManifestSeen)


def job_seen(seen: JobObservation) -> tuple[AnyKind, SharedManifestSeen] | None:
    """Return an observation of a job's own object, with the kind of job; None of any other."""
    return (_OF_OBSERVATION[type(seen)], seen) if isinstance(seen, SharedManifestSeen) else None


def altered(seen: JobObservation, **changes: object) -> JobObservation:
    """Return the look at a job with some of its fields changed."""
    assert isinstance(seen, SharedManifestSeen), "it is the look at a job"
    return replace(seen, **changes)


def subject(seen: JobObservation) -> tuple[object, ...] | None:
    """Return what a look is at, where a later look at the same makes it worth nothing."""
    if isinstance(seen, DecisionDue):
        return type(seen), seen.decision_id
    if isinstance(seen, AboutStatus | NothingNew):
        return (type(seen),)
    kind = _OF_OBSERVATION.get(type(seen))
    return None if kind is None else kind.observing.subject(seen)


def marks_of(seen: JobObservation) -> frozenset[str]:
    """Return names and UIDs of the object of a job that is looked at; empty: none is."""
    kind = _OF_OBSERVATION.get(type(seen))
    return frozenset() if kind is None else kind.observing.marks(seen)


def known_marks(state: JobState) -> frozenset[str]:
    """Return names and UIDs of the objects that a job's state knows, or waits for."""
    return kind_of(state).observing.known_marks(state)


def kept(state: JobState) -> str:
    """Return the UID of what is still there of a job that is over; empty: nothing is."""
    return kind_of(state).observing.kept(state)


def reopens(seen: JobObservation, kept: str = "") -> bool:
    """Return whether what is no look at a job itself can mean something after its end.

    `kept` is the UID of what was still there then: only that it goes is news.

    That its last status was written mostly comes after it: without a note of that in the log the
    next run would not know the status as one of ours.
    """
    if isinstance(seen, EffectEnded | DecisionDue | EvidenceSeen | AboutStatus):
        return True
    kind = _OF_OBSERVATION.get(type(seen))
    return kind is not None and kind.observing.reopens(seen, kept)


def kind_of_type(stored: str) -> AnyKind | None:
    """Return the kind of job that has an event of this stored name of its own; None: none has."""
    return next((kind for kind in KINDS.values() if stored in kind.event_types), None)


def decide(state: JobState, observation: JobObservation) -> Decided[JobState, JobEvent]:
    """Return what happens because of `observation`; the first look at a job tells its kind."""
    if state.identity is None:
        kind = _OF_OBSERVATION.get(type(observation))
        if kind is not None and is_job_seen(type(observation)):
            return kind.decide(kind.initial, observation)
        if kind is not None:
            return Decided(state)  # it means nothing to a job that was not seen yet
    return kind_of(state).decide(state, observation)


def evolve(state: JobState, event: JobEvent) -> JobState:
    """Return the state after `event`; the first event of a stream tells the kind of its job.

    Raises `BrokenChain` if it does not: then the first events of the stream are gone.
    """
    if state.identity is None:
        kind = _DISCOVERED.get(type(event))
        if kind is None:
            what = "a stream does not begin with who the job is; run `jobledger verify`"
            raise BrokenChain("the log", what)
        return kind.evolve(kind.initial, event)
    return kind_of(state).evolve(state, event)


def status(state: JobState) -> Manifest:
    """Return what users are to see of a job; of one that is only recorded others tell them."""
    if state.recorded is not None:
        return {}
    return kind_of(state).status(state)


def is_open(state: JobState) -> bool:
    """Return whether anything is left to do or to wait for."""
    return kind_of(state).is_open(state)


def words(event: JobEvent) -> str:
    """Return what an event says, in a sentence or less."""
    kind = _OF_EVENT.get(type(event))
    return shared_words(cast("SharedEvent", event)) if kind is None else kind.log.words(event)


def completion_words(event: JobEvent) -> str:
    """Return what became of a job, by the event of its completion: `is complete since`."""
    return _OF_EVENT[type(event)].log.completion_words(event)


def attempt_end_words(event: JobEvent) -> str:
    """Return what became of an attempt, by the event of its end: `failed`."""
    return _OF_EVENT[type(event)].log.attempt_end_words(event)


def retry_words(event: JobEvent) -> str:
    """Return a sentence on what was decided about a retry; empty of any other event."""
    kind = _OF_EVENT.get(type(event))
    return "" if kind is None else kind.log.retry_words(event)


def standing(events: Sequence[tuple[int, JobEvent]]) -> Iterator[tuple[str, int]]:
    """Yield what else holds of a job: sentences, each with the version of the event for it."""
    for kind in KINDS.values():
        yield from kind.log.standing(events)


def clues(event: JobEvent) -> Iterator[Clue]:
    """Yield the clues of an event to why an attempt may fail; kept evidence is read elsewhere."""
    kind = _OF_EVENT.get(type(event))
    return shared_clues(cast("SharedEvent", event)) if kind is None else kind.log.clues(event)


def take_facts(event: JobEvent, so_far: FactsSoFar) -> None:
    """Take what an event says of the attempts of its job."""
    kind = _OF_EVENT.get(type(event))
    if kind is None:
        so_far.shared(cast("SharedEvent", event))
    else:
        kind.log.take_facts(event, so_far)


def cluster_verdict(state: JobState, event: JobEvent) -> ClusterVerdict | None:
    """Return what an event says of whether a cluster could have stayed for a retry; None: nothing.

    `state` is that on which the event follows.
    """
    return kind_of(state).log.cluster_verdict(state, event)


def part_of(event: JobEvent) -> str | None:
    """Return which part of a job an event tells of, None if of none."""
    return _PARTS.get(type(event))


def failure_news(event: JobEvent) -> FailureNews | None:
    """Return what an event says of a failure; None if nothing."""
    kind = _OF_EVENT.get(type(event))
    return None if kind is None else kind.log.failure_news(event)


def cluster_news(event: JobEvent) -> ClusterNews | None:
    """Return what an event says of a cluster that belongs to an attempt; None if nothing."""
    kind = _OF_EVENT.get(type(event))
    return None if kind is None else kind.log.cluster_news(event)


def holding_seen(event: JobEvent) -> SeenHolding | None:
    """Return what an event says of how much the Pods of an attempt request; None: nothing."""
    kind = _OF_EVENT.get(type(event))
    return None if kind is None else kind.log.holding_seen(event)


def shows_ready_pods(event: JobEvent, beside: str) -> bool:
    """Return whether an event shows that Pods of the attempt do not wait any more.

    `beside` is the kind of the object whose Pods they are; empty: what the attempt runs as.
    """
    kind = _OF_EVENT.get(type(event))
    return kind is not None and kind.log.shows_ready_pods(event, beside)


def shows_step(event: JobEvent) -> bool:
    """Return whether an event shows that the attempt's own program is at work."""
    kind = _OF_EVENT.get(type(event))
    return kind is not None and kind.log.shows_step(event)


TURNING_POINTS = (
    *(cls for kind in KINDS.values() for cls in kind.observing.turning_points),
    DecisionDue,
)
"""Observations that may end an attempt or a job, and so the sums of what was seen until then."""

RECURRING = (
    *(cls for kind in KINDS.values() for cls in kind.recurring),
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
