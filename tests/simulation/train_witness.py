"""Watches the TrainJobs: what the log says of them, what users see, what is made in their name."""

from collections import Counter
from dataclasses import dataclass, field
from itertools import accumulate

from jobledger.core.catalogue import read_event
from jobledger.core.jobs.events import EffectRequested, RecoveredFromCluster
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.log.chain import canonical
from jobledger.core.log.envelope import EventRecord
from jobledger.core.ports.cluster import JOBSETS
from jobledger.core.ports.event_store import EventStore
from jobledger.core.trainjob.building.runtimes import trainjob_owner
from jobledger.core.trainjob.decide.decide import TRAINJOB
from jobledger.core.trainjob.events import TrainJobEvent
from jobledger.core.trainjob.phases import CREATED, TERMINAL
from jobledger.core.trainjob.state import TrainJobState
from jobledger.core.trainjob.status.status import status
from jobledger.core.trainjob.status.status_format import TRAINJOB_STATUS
from jobledger.core.values.documents import Manifest, items, text
from jobledger.core.values.ids import StreamId
from tests.simulation.follower import Follower, require
from tests.simulation.kubernetes import Change

MILESTONE = TRAINJOB_STATUS.milestone
CONDITIONS_MAX = 8


def milestone(state: TrainJobState) -> str:
    """Return what users are shown one after the other; empty while they are shown nothing."""
    shown = status(state)
    return MILESTONE(shown) if shown else ""


@dataclass(slots=True)
class TrainStory:
    """One TrainJob, as its stream tells it."""

    state: TrainJobState = TRAINJOB.initial
    history: list[TrainJobEvent] = field(default_factory=list)
    shown: set[bytes] = field(default_factory=set)
    """Every status that the job has ever had, in canonical form."""
    follower: Follower = field(default_factory=Follower)
    """Which milestones users are owed."""
    lost: list[TrainJobEvent] = field(default_factory=list)
    """What the log has lost of it: it was so all the same."""


@dataclass
class TrainWitness:
    """Sees every event of a TrainJob and every change of what belongs to one."""

    stories: dict[StreamId, TrainStory] = field(default_factory=dict)
    streams: dict[str, StreamId] = field(default_factory=dict)
    """UID of a TrainJob -> its stream."""
    ended: dict[str, str] = field(default_factory=dict)
    """UID of a TrainJob -> the final condition that was shown to users."""
    created: Counter[str] = field(default_factory=Counter)
    """UID of a TrainJob -> how often the controller has made its JobSet."""
    removed: Counter[str] = field(default_factory=Counter)
    """UID of a TrainJob -> how often somebody else than the controller deleted its JobSet."""

    unaware: set[str] = field(default_factory=set)
    """Processes that have not noticed yet that the ledger was set back under them."""
    aside: dict[StreamId, TrainStory] = field(default_factory=dict)
    """Jobs whose whole stream was lost, until they are found again."""

    def set_back(self, cut: frozenset[StreamId], log: EventStore) -> None:
        """Go back to what the log still has of some streams."""
        for stream in cut & self.stories.keys():
            story = self.stories.pop(stream)
            rest = len(log.read_stream(stream))
            story.lost += story.history[rest:]
            story.history = story.history[:rest]
            states = list(accumulate(story.history, TRAINJOB.evolve, initial=TRAINJOB.initial))
            story.state = states[-1]
            story.follower.set_back(map(milestone, states[1:]))
            (self.stories if rest else self.aside)[stream] = story

    def story(self, stream: StreamId) -> TrainStory:
        """Return a job, be it in the log or lost with its whole stream."""
        return self.stories[stream] if stream in self.stories else self.aside[stream]

    def fold(self, record: EventRecord) -> tuple[str, str]:
        """Fold what was appended; return job and event, in words."""
        if record.stream_id not in self.stories:
            self.stories[record.stream_id] = self.aside.pop(record.stream_id, TrainStory())
        story = self.stories[record.stream_id]
        event: TrainJobEvent = read_event(record)  # type: ignore[assignment] # a stream is one job
        story.state = TRAINJOB.evolve(story.state, event)
        story.history.append(event)
        identity = story.state.identity
        assert identity is not None, "the first event names the job"
        self.streams.setdefault(identity.uid, record.stream_id)
        story.shown.add(canonical(status(story.state)))
        story.follower.note(milestone(story.state), record.actor)
        if isinstance(event, RecoveredFromCluster):
            story.follower.resumed(record.actor)
        return identity.name, type(event).__name__

    def on_change(self, change: Change, *, is_late: bool) -> None:
        """Invariants 3 to 5: what ends stays ended, and only what was asked for is made or goes."""
        if change.resource is not JOBSETS:
            return
        owner, name = trainjob_owner(change.document), text(change.document, "metadata", "name")
        if change.kind == "gone" and not change.by:
            self.removed[owner] += 1
        if not change.by or is_late or not owner:  # or orphaned since it was looked at
            return
        story = self.story(self.streams[owner])
        if change.kind == "seen" and change.before is None:
            self.created[owner] += 1
            require(owner not in self.ended, f"JobSet {name} is made after the end of its job")
        elif _leaves(change) and not text(change.before, "metadata", "deletionTimestamp"):
            asked = _asked(story, EffectKind.DELETE_JOBSET)
            require(asked > 0, f"JobSet {name} is deleted, and was not meant")

    def on_status(self, actor: str, job: Manifest, sent: Manifest, *, is_late: bool) -> None:
        """Invariants 1 and 4: what is shown was so, nothing is left out, the first end stays."""
        name, uid = (text(job, "metadata", key) for key in ("name", "uid"))
        require(uid in self.streams, f"{name} shows the status of another, and is not in the log")
        story = self.story(self.streams[uid])
        require(canonical(sent) in story.shown, f"{name} shows what never was so: {sent}")
        conditions = items(sent, "conditions")
        require(bool(sent) and len(conditions) <= CONDITIONS_MAX, f"{name} shows {sent}")
        kinds = [text(item, "type") for item in conditions]
        require(CREATED not in kinds[1:], f"Created is not the first condition of {name}: {kinds}")
        if "conditions" not in sent:  # the patch leaves them as they are
            kinds = [text(item, "type") for item in items(job, "status", "conditions")]
        ends = [kind for kind in kinds if kind in TERMINAL]
        was = self.ended.get(uid, "")
        require(len(ends) < 2 and was in ("", *ends), f"{name} has ended as {was}, shows {ends}")
        if ends:
            self.ended[uid] = ends[0]
        phase = MILESTONE(sent)  # empty: no condition, and a JobSet that tells of no Jobs yet
        if phase and not is_late and actor not in self.unaware:
            story.follower.follow(actor, name, phase)

    def check_asked_for(self) -> None:
        """Invariant 5: no JobSet was made more often than asked for, and removed by others."""
        for owner, count in self.created.items():
            asked = _asked(self.story(self.streams[owner]), EffectKind.APPLY_OBJECTS)
            most = asked + self.removed[owner]
            require(count <= most, f"a JobSet was made {count} times, asked for {most} times")


def _leaves(change: Change) -> bool:
    deleting = text(change.document, "metadata", "deletionTimestamp") != ""
    return change.kind == "gone" or deleting


def _asked(story: TrainStory, kind: EffectKind) -> int:
    return sum(
        isinstance(item, EffectRequested) and item.kind is kind
        for item in (*story.history, *story.lost)
    )
