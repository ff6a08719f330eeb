"""Watches the log and the API server while the service works, and objects to what must not be.

It folds every event as it is appended, so it knows at each moment what every status has been, and
which phases users are owed.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from jobledger.core.catalogue import read_event
from jobledger.core.jobs.events import EffectRequested, RecoveredFromCluster
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.log.chain import canonical
from jobledger.core.log.envelope import EventRecord
from jobledger.core.ports.cluster import BATCH_JOBS, RAYCLUSTERS, TRAINJOBS
from jobledger.core.ports.event_store import AppendOutcome, AppendResult, EventStore, StreamAppend
from jobledger.core.rayjob.decide.decide import RAYJOB
from jobledger.core.rayjob.events.lifecycle import RayJobEvent
from jobledger.core.rayjob.names import ATTEMPT_ANNOTATION
from jobledger.core.rayjob.observations.children import owner_uid
from jobledger.core.rayjob.phases import FINAL, Phase
from jobledger.core.rayjob.state import RayJobState
from jobledger.core.rayjob.status.status import status
from jobledger.core.values.documents import Manifest, child, text
from jobledger.core.values.ids import StreamId
from tests.simulation.batch_users import is_batch
from tests.simulation.batch_witness import BatchWitness, begins_to_go
from tests.simulation.follower import Follower, Violation, require
from tests.simulation.kubernetes import Change, SimulatedApi
from tests.simulation.train_witness import TrainWitness
from tests.simulation.users import SHARED

DELETIONS = {
    RAYCLUSTERS: EffectKind.DELETE_CLUSTER,
    BATCH_JOBS: EffectKind.DELETE_SUBMITTER,
}


@dataclass(slots=True)
class Story:
    """One job, as its stream tells it."""

    state: RayJobState = RAYJOB.initial
    history: list[RayJobEvent] = field(default_factory=list)
    shown: set[bytes] = field(default_factory=set)
    """Every status that the job has ever had, in canonical form."""
    follower: Follower = field(default_factory=Follower)
    """Which phases users are owed."""
    lost: list[RayJobEvent] = field(default_factory=list)
    """What the log has lost of it: it was so all the same."""


@dataclass
class Witness:
    """Sees every append and every change of an object."""

    api: SimulatedApi
    stories: dict[StreamId, Story] = field(default_factory=dict)
    streams: dict[str, StreamId] = field(default_factory=dict)
    """UID of a RayJob -> its stream."""
    news: list[tuple[str, str]] = field(default_factory=list)
    """Job and event since somebody last looked."""
    is_late: bool = False
    """Whether the write under way was sent long ago: nothing could have held it up."""
    created: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """(plural, name, owner) -> how often the controller has made it."""
    late_uids: set[str] = field(default_factory=set)
    """Objects that came into being by requests that arrived late, or that somebody else made."""
    trains: TrainWitness = field(default_factory=TrainWitness)
    batches: BatchWitness = field(init=False)
    ended: dict[str, str] = field(default_factory=dict)
    """UID of a RayJob -> the final phase that was shown to users."""

    unaware: set[str] = field(default_factory=set)
    """Processes that have not noticed yet that the ledger was set back under them."""
    aside: dict[StreamId, Story] = field(default_factory=dict)
    """Jobs whose whole stream was lost, until they are found again."""

    def __post_init__(self) -> None:
        self.api.told.append(self._on_change)
        self.api.on_status = self._on_status
        self.batches = BatchWitness(self.api)
        self.trains.unaware = self.batches.unaware = self.unaware

    def on_appended(self, batch: Sequence[StreamAppend], results: Sequence[AppendResult]) -> None:
        """Fold what was appended."""
        for part, result in zip(batch, results, strict=True):
            if result.outcome is AppendOutcome.APPENDED:
                for record in part.events:
                    self._take_in(part.stream_id, record)

    def on_resumed(self, actor: str, stream: StreamId) -> None:
        """Take note that a process begins anew with a job: it owes the newest status only."""
        if stream in self.stories:
            self.stories[stream].follower.resumed(actor)
        if stream in self.trains.stories:
            self.trains.stories[stream].follower.resumed(actor)
        if stream in self.batches.stories:
            self.batches.stories[stream].follower.resumed(actor)

    def on_begun_anew(self, actor: str) -> None:
        """Take note that a process begins anew with all jobs: it found the ledger set back."""
        for stream in (*self.stories, *self.trains.stories, *self.batches.stories):
            self.on_resumed(actor, stream)

    def set_back(self, cut: frozenset[StreamId], actors: set[str], log: EventStore) -> None:
        """Go back to what the log still has of some streams."""
        self.unaware |= actors
        self.trains.set_back(cut, log)
        self.batches.set_back(cut, log)
        for stream in cut & self.stories.keys():
            story = self.stories.pop(stream)
            rest = len(log.read_stream(stream))
            story.lost += story.history[rest:]
            story.history = story.history[:rest]
            states = list(accumulate(story.history, RAYJOB.evolve, initial=RAYJOB.initial))
            story.state = states[-1]
            story.follower.set_back(state.phase.value for state in states[1:])
            (self.stories if rest else self.aside)[stream] = story

    def story(self, stream: StreamId) -> Story:
        """Return a job, be it in the log or lost with its whole stream."""
        return self.stories[stream] if stream in self.stories else self.aside[stream]

    def _take_in(self, stream: StreamId, record: EventRecord) -> None:
        if record.type == "TrainJobDiscovered" or stream in self.trains.stories:
            self.news.append(self.trains.fold(record))
        elif record.type == "BatchJobDiscovered" or stream in self.batches.stories:
            self.news.append(self.batches.fold(record))
        else:
            if stream not in self.stories:
                self.stories[stream] = self.aside.pop(stream, Story())
            self._fold(self.stories[stream], record)

    def _fold(self, story: Story, record: EventRecord) -> None:
        event = read_event(record)
        assert isinstance(event, RayJobEvent)
        story.state = RAYJOB.evolve(story.state, event)
        story.history.append(event)
        identity, phase = story.state.identity, story.state.phase.value
        assert identity is not None, "the first event names the job"
        self.streams.setdefault(identity.uid, record.stream_id)
        story.shown.add(canonical(status(story.state)))
        story.follower.note(phase, record.actor)
        if isinstance(event, RecoveredFromCluster):
            story.follower.resumed(record.actor)
        self.news.append((identity.name, type(event).__name__))

    def _on_change(self, change: Change) -> None:
        self.trains.on_change(change, is_late=self.is_late)
        self.batches.on_change(change, is_late=self.is_late)
        is_new = change.kind == "seen" and change.before is None
        if is_new and not change.by:
            self.late_uids.add(text(change.document, "metadata", "uid"))
        if not change.by or change.resource not in DELETIONS or is_batch(change.document):
            return
        if is_new:
            self._on_created(change)
        elif change.kind == "gone" or begins_to_go(change):
            self._on_deleted(change)
        else:
            self._on_edited(change)

    def _on_edited(self, change: Change) -> None:
        """Only what deletionStrategy asks for is changed about an object that is there."""
        story = self.story(self.streams[owner_uid(change.document)])
        name = text(change.document, "metadata", "name")
        asked = any(
            isinstance(event, EffectRequested)
            and event.kind is EffectKind.SUSPEND_WORKERS
            and event.name == name
            for event in (*story.history, *story.lost)
        )
        require(asked, f"{name} is changed, and was not meant")

    def _on_deleted(self, change: Change) -> None:
        """Invariants 5 and 6: only the very object that was meant, never the users' own."""
        name, uid = (text(change.document, "metadata", key) for key in ("name", "uid"))
        require(name != SHARED, "the RayCluster that jobs select is deleted")
        owner, kind = owner_uid(change.document), DELETIONS[change.resource]
        if not owner:  # orphaned since it was looked at
            return
        story = self.story(self.streams[owner])
        self._check_known(story, change)
        meant = [
            event.uid
            for event in (*story.history, *story.lost)
            if isinstance(event, EffectRequested) and event.kind is kind and event.name == name
        ]
        require(uid in meant or "" in meant, f"{name} is deleted, and was not meant: {meant}")

    def _check_known(self, story: Story, change: Change) -> None:
        """Nothing is deleted for being unknown: the log knows the attempt it was made for."""
        made_for = text(change.document, "metadata", "annotations", ATTEMPT_ANNOTATION)
        newest = story.state.attempt.number if story.state.attempt is not None else 0
        if made_for and change.by not in self.unaware and not self.is_late and story.lost:
            name = text(change.document, "metadata", "name")
            what = f"{name} of attempt {made_for} is deleted, and the log knows {newest} attempts"
            require(int(made_for) <= newest, what)

    def _on_status(self, actor: str, job: Manifest, sent: Manifest) -> None:
        """Invariants 1 and 4: what is shown was so, phases are not left out, the end stays."""
        if text(job, "kind") == TRAINJOBS.kind:
            self.trains.on_status(actor, job, sent, is_late=self.is_late)
            return
        if text(job, "kind") == BATCH_JOBS.kind:
            self.batches.on_status(actor, job, sent, is_late=self.is_late)
            return
        name, uid = (text(job, "metadata", key) for key in ("name", "uid"))
        require(uid in self.streams, f"{name} shows the status of another, and is not in the log")
        story, phase = self.story(self.streams[uid]), text(sent, "jobDeploymentStatus")
        require(canonical(sent) in story.shown, f"{name} shows what never was so: {sent}")
        was = self.ended.get(uid, phase)
        require(phase == was, f"{name} has ended as {was} and now shows {phase}")
        if phase in (Phase.COMPLETE, Phase.FAILED):
            self.ended[uid] = phase
        if phase and not self.is_late and actor not in self.unaware:
            story.follower.follow(actor, name, phase)

    def _on_created(self, change: Change) -> None:
        """Invariant 3: nothing of an earlier attempt is there when the next one's is made."""
        made = change.document
        uid, owner = text(made, "metadata", "uid"), owner_uid(made)
        if self.is_late:
            self.late_uids.add(uid)
            return
        self.created[change.resource.plural, text(made, "metadata", "name"), owner] += 1
        require(owner not in self.ended, f"{text(made, 'metadata', 'name')} is made after the end")
        if change.resource is not RAYCLUSTERS:
            return
        attempt = text(made, "metadata", "annotations", ATTEMPT_ANNOTATION)
        for other in self._children_of(owner):
            its_attempt = text(other, "metadata", "annotations", ATTEMPT_ANNOTATION)
            what = f"{text(other, 'metadata', 'name')} of attempt {its_attempt}"
            require(its_attempt == attempt, f"attempt {attempt} begins while {what} is there")

    def _children_of(self, owner: str) -> list[Manifest]:
        children = [*self.api.all(RAYCLUSTERS), *self.api.all(BATCH_JOBS)]
        return [
            item
            for item in children
            if owner_uid(item) == owner and text(item, "metadata", "uid") not in self.late_uids
        ]

    def check_one_cluster(self) -> None:
        """Invariant 3: a job has at most one RayCluster that is not on its way out."""
        seen: dict[str, str] = {}
        for cluster in self.api.all(RAYCLUSTERS):
            owner, metadata = owner_uid(cluster), child(cluster, "metadata")
            leaves = metadata.get("deletionTimestamp") or metadata["uid"] in self.late_uids
            if not owner or leaves:
                continue
            name = text(metadata, "name")
            require(owner not in seen, f"{name} and {seen.get(owner)} are there together")
            seen[owner] = name

    def jobs(self) -> int:
        """Return how many jobs there have been."""
        return len(self.stories) + len(self.trains.stories) + len(self.batches.stories)

    def pending(self) -> int:
        """Return how many decisions are pending."""
        kinds = (self.stories, self.trains.stories, self.batches.stories)
        return sum(len(story.state.decisions) for kind in kinds for story in kind.values())

    def check_asked_for(self, removed: dict[tuple[str, str], int]) -> None:
        """Invariant 5: nothing was made more often than asked for, and removed by others."""
        plurals = {
            EffectKind.CREATE_CLUSTER: RAYCLUSTERS.plural,
            EffectKind.CREATE_SUBMITTER: BATCH_JOBS.plural,
        }
        asked: Counter[tuple[str, str, str]] = Counter()
        for owner, stream in self.streams.items():
            story = self.story(stream)
            for event in (*story.history, *story.lost):
                if isinstance(event, EffectRequested) and event.kind in plurals:
                    asked[plurals[event.kind], event.name, owner] += 1
        for key, count in self.created.items():
            most = asked[key] + removed.get(key[:2], 0)
            require(count <= most, f"{key[0]} {key[1]}: made {count} times, asked for {most} times")


class WatchedStore:
    """An event store whose appends are witnessed, whatever the writer gets to hear of them."""

    def __init__(
        self, store: EventStore, witness: Witness, noted: Callable[[], None] = lambda: None
    ) -> None:
        """`noted` is called after each append."""
        self._witness, self._noted = witness, noted
        self._store = store
        self.read_stream = store.read_stream
        self.read_streams = store.read_streams
        self.read_rest = store.read_rest
        self.read_after = store.read_after
        self.has = store.has
        self.last_position = store.last_position

    def append(self, batch: Sequence[StreamAppend]) -> Sequence[AppendResult]:
        """See `core.ports.event_store.EventStore.append`."""
        results = self._store.append(batch)
        self._witness.on_appended(batch, results)
        self._noted()
        return results


__all__ = ["FINAL", "Story", "Violation", "WatchedStore", "Witness", "require"]
