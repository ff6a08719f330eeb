"""Asks anew for jobs before anything is decided about them that another process may have driven.

A watch may lag: what it shows of a job may be from before another process drove it to its end. If
that was written into a log that is lost since (a promoted replica), nothing else tells of it, and
the job would run again: be it that it is in no log, or that its stream has lost its end. A job that
was created, or listed, while its shard was held here has had no other process; nor is one asked for
that another controller drives, or that is only recorded.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial

from jobledger.adapters.service.resync.apart import apart
from jobledger.adapters.service.watches.event_handlers import EventHandlers
from jobledger.adapters.service.watches.job_listener import JobListener, retell_job
from jobledger.adapters.service.watches.kind_watches import SyncedKinds
from jobledger.adapters.service.work.questions import Questions
from jobledger.adapters.service.work.slots import Slot, Slots
from jobledger.adapters.telemetry.logging import get_logger
from jobledger.adapters.telemetry.repeated import Repeated
from jobledger.core.errors import ClusterError
from jobledger.core.jobs.identity import JobIdentity
from jobledger.core.kinds import JobObservation, job_seen, kind_of
from jobledger.core.ports.clock import Clock
from jobledger.core.ports.cluster import Cluster
from jobledger.core.values.documents import Manifest, text
from jobledger.core.values.ids import StreamId, shard_of
from jobledger.core.values.instants import EPOCH, Instant

log = get_logger(__name__)

CLOCKS_APART_MAX = timedelta(seconds=5)
"""So far the API server's clock, which dates a job, may be from this one."""

LOOKING_SECONDS_MAX = 5.0
"""How long everything else waits while the jobs of shards are asked for that are gained at once."""


@dataclass(slots=True)
class FirstLooks:
    """Knows which unknown jobs were asked for since their shards are held here."""

    cluster: Cluster
    around: EventHandlers
    clock: Clock
    questions: Questions
    synced: SyncedKinds
    unanswered: Repeated
    """Tells of looks that had no answer."""
    _since: dict[int, tuple[int, Instant]] = field(default_factory=dict)
    """Shard -> the epoch under which it is held, and since when."""
    _fresh: set[tuple[int, str]] = field(default_factory=set)
    """Shards and kinds of job whose list was still to come then: nothing is older than that."""
    _seconds_left: float = LOOKING_SECONDS_MAX
    """How long everything else may still wait."""
    _looked: dict[StreamId, Instant] = field(default_factory=dict)
    """Unknown job -> when it was asked for."""

    def begin(self, epochs: Mapping[int, int]) -> None:
        """Take note under which epochs shards are held; a new one begins now."""
        now = self.clock.now()
        self._seconds_left = LOOKING_SECONDS_MAX
        for shard, epoch in epochs.items():
            if self._since.get(shard, (0, now))[0] != epoch:
                self._since[shard] = epoch, now
                self._fresh = {item for item in self._fresh if item[0] != shard}
                self._fresh |= {(shard, kind) for kind in self.synced.unlisted()}
        looked = list(self._looked.items())  # in one step: the workers add to it
        for stream in [stream for stream, at in looked if at < self._from(stream)]:
            del self._looked[stream]

    def forget(self) -> None:
        """Begin anew with every shard: the ledger was set back."""
        self._since.clear()

    def _from(self, stream: StreamId) -> Instant:
        """Return from when on nobody else has driven a job; now, if its shard is just gained."""
        shard = shard_of(stream)
        epoch, since = self._since.get(shard, (0, EPOCH))
        return since if epoch == self.questions.epoch(shard) else self.clock.now()

    def _is_listed_since(self, stream: StreamId, kind: str) -> bool:
        shard = shard_of(stream)
        is_begun = self._since.get(shard, (0, EPOCH))[0] == self.questions.epoch(shard)
        return is_begun and (shard, kind) in self._fresh

    def look_anew(self, slots: Slots, shards: Collection[int]) -> None:
        """Ask for the jobs of gained shards that go on by the log, and take them in as they are.

        So are those that are held: they are taken over by what they show.

        Others wait meanwhile, so not for ever: those that are not asked for go on by what their
        watch shows, and nothing is written over what it tells later.
        """
        until = self.clock.monotonic() + self._seconds_left
        for slot in slots.of(shards):
            if not self._look_at(slot, until):
                break
        self._seconds_left = max(0.0, until - self.clock.monotonic())

    def _look_at(self, slot: Slot, until: float) -> bool:
        """Ask for a job that goes on, if it is to be; return whether more may be asked for."""
        state = slot.view.state
        identity, kind = state.identity, kind_of(state)
        is_ours = state.recorded is None or state.recorded.behind
        goes_on = is_ours and not kind.is_final(state)
        if identity is None or not goes_on or self.around.live.job(identity.uid) is None:
            return True
        if self._is_listed_since(slot.stream_id, kind.name):
            return True
        if self.clock.monotonic() > until:
            log.warning("jobs_not_looked_at", first=identity.name, because="of their number")
            return False
        at = self.clock.now()
        try:
            found = self._found(identity, kind.name)
        except ClusterError as error:
            log.warning("jobs_not_looked_at", first=identity.name, because=str(error))
            return False
        if found is not None:
            with apart(identity):
                JobListener(self.around, kind.name).seen(found, at)
        return True

    def is_premature(self, stream: StreamId, seen: JobObservation) -> bool:
        """Return whether a sighting of a job in no log may be too old to decide on.

        The job is asked for then, and told as it is. Called by the turn's thread.
        """
        found = job_seen(seen)
        if found is None or not found[0].observing.may_be_old(seen):
            return False
        kind, its = found
        if self._is_listed_since(stream, kind.name):
            return False
        if its.identity.created_at > self._from(stream) + CLOCKS_APART_MAX:
            return False
        looked = self._looked.get(stream)
        if looked is not None and its.at >= looked:
            return False
        look = partial(self._look, its.identity, kind.name)
        self.questions.ask(stream, "first look", look, lambda: True)
        return True

    def _look(self, identity: JobIdentity, kind: str) -> bool:
        """Ask for a job and tell it as it is; return whether there was an answer."""
        at = self.clock.now()
        try:
            found = self._found(identity, kind)
        except ClusterError as error:
            self.unanswered.warn_of_one(error, name=identity.name)
            return False
        if found is None:
            return True  # it is gone, as its watch tells
        with self.around.telling:
            JobListener(self.around, kind).seen(found, at)
            self._looked[identity.stream_id] = at
            retell_job(self.around, identity.uid, at)
        return True

    def _found(self, identity: JobIdentity, kind: str) -> Manifest | None:
        """Return a job as it is now, None if it is gone; raises as the cluster does."""
        resource = self.around.kinds[kind].resource
        found = self.cluster.get(resource, identity.namespace, identity.name)
        is_it = found is not None and text(found, "metadata", "uid") == identity.uid
        return found if is_it else None
