"""Watches the Jobs: what the log says of them, what users see, what is made in their name."""

from collections import Counter
from dataclasses import dataclass, field
from itertools import accumulate

from jobledger.core.batchjob.decide.decide import BATCHJOB
from jobledger.core.batchjob.events import BatchJobEvent
from jobledger.core.batchjob.names import ATTEMPT_LABEL
from jobledger.core.batchjob.state import BatchJobState
from jobledger.core.batchjob.status.status import LASTING, RISING, status
from jobledger.core.catalogue import read_event
from jobledger.core.jobs.events import EffectRequested, RecoveredFromCluster
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.log.chain import canonical
from jobledger.core.log.envelope import EventRecord
from jobledger.core.ports.cluster import BATCH_JOBS
from jobledger.core.ports.event_store import EventStore
from jobledger.core.values.documents import Manifest, child, items, number, text
from jobledger.core.values.ids import StreamId
from tests.simulation.batch_users import attempts_jobs, users_job_of
from tests.simulation.follower import Follower, require
from tests.simulation.kubernetes import Change, SimulatedApi

SUSPENSIONS = (EffectKind.SUSPEND_ATTEMPT_JOB, EffectKind.RESUME_ATTEMPT_JOB)
ENDS = ("Complete", "Failed")


def milestone(state: BatchJobState) -> str:
    """Return what users are shown one after the other; empty while they are shown nothing."""
    return _milestone(status(state))


def begins_to_go(change: Change) -> bool:
    """Return whether a change marks an object as to be deleted."""
    before, after = (
        text(one, "metadata", "deletionTimestamp") for one in (change.before, change.document)
    )
    return after != "" and before == ""


def _changing(shown: Manifest) -> bytes:
    """Return a status without the fields in which what a lost past has shown stays."""
    return canonical({key: shown[key] for key in shown if key not in RISING | LASTING})


def _milestone(shown: Manifest) -> str:
    conditions = [f"{text(one, 'type')}={text(one, 'status')}" for one in _conditions(shown)]
    pods = [name for name in ("active", "ready") if number(shown, name)]
    return " ".join([*conditions, *pods, "shown"]) if shown else ""


def _conditions(shown: Manifest) -> list[Manifest]:
    return [child(one) for one in items(shown, "conditions")]


@dataclass(slots=True)
class BatchStory:
    """One Job, as its stream tells it."""

    state: BatchJobState = BATCHJOB.initial
    history: list[BatchJobEvent] = field(default_factory=list)
    shown: set[bytes] = field(default_factory=set)
    """Every status that the job has ever had, in canonical form; and each as `_changing` has it."""
    follower: Follower = field(default_factory=Follower)
    """Which milestones users are owed."""
    lost: list[BatchJobEvent] = field(default_factory=list)
    """What the log has lost of it: it was so all the same."""

    restored: bool = False
    """Whether it was put back with a status of before, of which some may not change."""

    def note_shown(self) -> None:
        """Take note of the status of now."""
        self.shown |= {canonical(now := status(self.state)), _changing(now)}

    def was_so(self, sent: Manifest) -> bool:
        """Return whether the job had a status, as far as the log knows how it was."""
        unknown = bool(self.lost) or self.restored
        return canonical(sent) in self.shown or (unknown and _changing(sent) in self.shown)

    def asked(self, name: str, *kinds: EffectKind) -> list[str]:
        """Return the UIDs for which effects of some kinds were asked for; empty: for any."""
        return [
            event.uid
            for event in (*self.history, *self.lost)
            if isinstance(event, EffectRequested) and event.kind in kinds and event.name == name
        ]


@dataclass
class BatchWitness:
    """Sees every event of a Job and every change of the Jobs of its attempts."""

    api: SimulatedApi
    stories: dict[StreamId, BatchStory] = field(default_factory=dict)
    streams: dict[str, StreamId] = field(default_factory=dict)
    """UID of a user's Job -> its stream."""
    ended: dict[str, str] = field(default_factory=dict)
    """UID of a user's Job -> the final condition that was shown to users."""
    created: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(UID of a user's Job, name) -> how often the controller has made that Job of an attempt."""
    removed: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(UID of a user's Job, name) -> how often somebody else deleted that Job of an attempt."""
    late_uids: set[str] = field(default_factory=set)
    """Jobs that came into being by requests that arrived late, or that somebody put back."""
    restored: set[str] = field(default_factory=set)
    """UIDs of Jobs that were put back with a status of before."""
    unaware: set[str] = field(default_factory=set)
    """Processes that have not noticed yet that the ledger was set back under them."""
    aside: dict[StreamId, BatchStory] = field(default_factory=dict)
    """Jobs whose whole stream was lost, until they are found again."""

    def set_back(self, cut: frozenset[StreamId], log: EventStore) -> None:
        """Go back to what the log still has of some streams."""
        for stream in cut & self.stories.keys():
            story = self.stories.pop(stream)
            rest = len(log.read_stream(stream))
            story.lost += story.history[rest:]
            story.history = story.history[:rest]
            states = list(accumulate(story.history, BATCHJOB.evolve, initial=BATCHJOB.initial))
            story.state = states[-1]
            story.follower.set_back(map(milestone, states[1:]))
            (self.stories if rest else self.aside)[stream] = story

    def story(self, stream: StreamId) -> BatchStory:
        """Return a job, be it in the log or lost with its whole stream."""
        return self.stories[stream] if stream in self.stories else self.aside[stream]

    def fold(self, record: EventRecord) -> tuple[str, str]:
        """Fold what was appended; return job and event, in words."""
        if record.stream_id not in self.stories:
            self.stories[record.stream_id] = self.aside.pop(record.stream_id, BatchStory())
        story = self.stories[record.stream_id]
        event: BatchJobEvent = read_event(record)  # type: ignore[assignment] # a stream is one job
        story.state = BATCHJOB.evolve(story.state, event)
        story.history.append(event)
        identity = story.state.identity
        assert identity is not None, "the first event names the job"
        self.streams.setdefault(identity.uid, record.stream_id)
        story.restored = identity.uid in self.restored
        story.note_shown()
        story.follower.note(milestone(story.state), record.actor)
        if isinstance(event, RecoveredFromCluster):
            story.follower.resumed(record.actor)
        return identity.name, type(event).__name__

    def on_change(self, change: Change, *, is_late: bool) -> None:
        """Invariants 3 to 5: only what was asked for is made, changed or deleted."""
        owner, name = users_job_of(change.document), text(change.document, "metadata", "name")
        if change.resource is not BATCH_JOBS or not owner:
            return
        leaves = change.kind == "gone" or begins_to_go(change)
        if change.kind == "gone" and not change.by:
            self.removed[owner, name] += 1
        if not change.by:
            if change.before is None and change.kind == "seen":
                self.late_uids.add(text(change.document, "metadata", "uid"))  # put back by somebody
            return
        story = self.story(self.streams[owner])
        if change.kind == "seen" and change.before is None:
            self._on_created(owner, change.document, is_late=is_late)
        elif leaves:
            self._on_deleted(story, change, name, is_late=is_late)
        else:
            asked = story.asked(name, *SUSPENSIONS)
            require(bool(asked), f"Job {name} is changed, and was not meant")

    def _on_created(self, owner: str, made: Manifest, *, is_late: bool) -> None:
        """Invariant 3: no other Job of an attempt is there, and the job has not ended."""
        name, uid = (text(made, "metadata", key) for key in ("name", "uid"))
        if is_late:
            self.late_uids.add(uid)
            return
        self.created[owner, name] += 1
        require(owner not in self.ended, f"Job {name} is made after the end of its job")
        for other in attempts_jobs(self.api):
            is_known = text(other, "metadata", "uid") not in {uid, *self.late_uids}
            others = users_job_of(other) == owner and is_known
            require(not others, f"{name} is made while {text(other, 'metadata', 'name')} is there")

    def _on_deleted(self, story: BatchStory, change: Change, name: str, *, is_late: bool) -> None:
        """Invariants 5 and 6: only the very Job that was meant, and none for being unknown."""
        meant = story.asked(name, EffectKind.DELETE_ATTEMPT_JOB)
        uid = text(change.document, "metadata", "uid")
        require(uid in meant, f"Job {name} is deleted, and was not meant: {meant}")
        if change.by in self.unaware or is_late or not story.lost:
            return
        number_of = int(text(change.document, "metadata", "labels", ATTEMPT_LABEL))
        newest = story.state.attempt.number if story.state.attempt is not None else 0
        what = f"Job {name} of attempt {number_of} is deleted, and the log knows {newest}"
        require(number_of <= newest, what)

    def on_status(self, actor: str, job: Manifest, sent: Manifest, *, is_late: bool) -> None:
        """Invariants 1 and 4: what is shown was so, nothing is left out, the first end stays."""
        name, uid = (text(job, "metadata", key) for key in ("name", "uid"))
        require(uid in self.streams, f"{name} shows the status of another, and is not in the log")
        story = self.story(self.streams[uid])
        require(story.was_so(sent), f"{name} shows what never was so: {sent}")
        shown = sent if "conditions" in sent else child(job, "status")  # else left as they are
        ends = [text(one, "type") for one in _conditions(shown) if text(one, "type") in ENDS]
        was = self.ended.get(uid, "")
        require(len(ends) < 2 and was in ("", *ends), f"{name} has ended as {was}, shows {ends}")
        if ends:
            self.ended[uid] = ends[0]
        if not is_late and actor not in self.unaware:
            story.follower.follow(actor, name, _milestone(sent))

    def check_asked_for(self) -> None:
        """Invariant 5: no Job was made more often than asked for, and removed by others."""
        for (owner, name), count in self.created.items():
            asked = self.story(self.streams[owner]).asked(name, EffectKind.CREATE_ATTEMPT_JOB)
            most = len(asked) + self.removed[owner, name]
            require(count <= most, f"Job {name} was made {count} times, asked for {most} times")
