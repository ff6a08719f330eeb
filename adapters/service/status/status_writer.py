"""Writes `.status` level-triggered: the newest state first, without skipping awaited phases.

States that follow each other go out as one write if they are of the same phase. A write is made
only if the status differs from the last one written; what an older CRD prunes is noticed in the
answer and not sent again. A refusal is final only once the watch says that the object is gone:
until then it is tried again, because what an API server answers while it restarts means nothing.

Each write names the resourceVersion it is made for. So one that was held up on its way cannot undo
a newer one, and none reaches another object of the same name: an API server takes no notice of the
UID in what is applied to a status.
"""

import functools
import itertools
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from jobledger.adapters.service.objects.object_cache import CachedJob, ObjectCache
from jobledger.adapters.service.status.applying import StatusWrite
from jobledger.adapters.service.status.company import Company, without_progress
from jobledger.adapters.service.status.drift import Ends, Kept, digest_of
from jobledger.adapters.service.status.shown import Shown, shown_by, shows, tells_no_more
from jobledger.adapters.service.status.undeclared import UndeclaredFields
from jobledger.adapters.service.status.unwritten import Failing, Unwritten
from jobledger.adapters.service.work.inbox import Inbox
from jobledger.adapters.service.work.workers import Task
from jobledger.adapters.telemetry.logging import get_logger
from jobledger.adapters.telemetry.metrics import Metrics
from jobledger.core.errors import ClusterError, ObjectChanged, RequestInvalid, RequestThrottled
from jobledger.core.jobs.control.status_writers import is_driven_here
from jobledger.core.jobs.identity import JobIdentity
from jobledger.core.jobs.observations import StatusWritten
from jobledger.core.kinds import KINDS, AnyKind
from jobledger.core.log.chain import data_sha
from jobledger.core.ports.clock import Clock
from jobledger.core.ports.cluster import Cluster
from jobledger.core.values.documents import Manifest, child, text
from jobledger.core.values.ids import StreamId, observation_id

log = get_logger(__name__)

PAUSE_FIRST_SECONDS, PAUSE_MAX_SECONDS = 0.25, 30.0
CONFLICT_PAUSE_SECONDS = 0.02
"""Pause after a conflict, at first: the watch tells of the newer version within moments."""
LEASE_PAUSE_SECONDS = 1.0
"""Pause while this process does not trust its lease, has met another controller, or must not write
over what a job shows."""

LEFT_MAX = 10_000
"""So many jobs are remembered that may show what no watch has told yet."""


@dataclass(slots=True)
class _Outbox:
    """What is still to be written for one job."""

    identity: JobIdentity
    kind: AnyKind
    waiting: list[Manifest] = field(default_factory=list)
    company: Company = field(default_factory=Company)
    """What the last of them may wait for."""
    shown: Manifest | None = None
    """The last status written by this process."""
    written: bytes = b""
    """Its digest; empty: it is to be written, whatever it is."""
    kept: Kept = field(default_factory=Kept)
    failures: int = 0
    failing: Failing = field(default_factory=Failing)
    task: int = 0
    """Number of the task that is under way; 0: none."""
    resting: bool = False
    """Whether that task waits for company."""
    retired: bool = False
    """Whether it is to be dropped once nothing waits in it."""
    waits_for_watch: bool = False
    """Whether the job may show what an earlier outbox has written and no watch has told yet."""

    def note_written(self, status: Manifest, meant: bytes) -> None:
        """Take note that a status of that digest is there; the caller locks."""
        self.shown, self.written, self.failures = status, meant, 0
        self.failing = Failing()
        if self.waiting and self.waiting[0] is status:
            del self.waiting[0]

    @property
    def is_as_found(self) -> bool:
        """Return whether nothing was written yet, and nobody has changed what was kept before."""
        return not self.written and not self.failures and not self.kept.is_drifted()


@dataclass(frozen=True, slots=True)
class Publisher:
    """Keeps the outboxes. `offer` is called by the turn, what it returns by the workers."""

    cluster: Cluster
    live: ObjectCache
    inbox: Inbox
    clock: Clock
    metrics: Metrics
    may_act: Callable[[StreamId], bool]
    is_refused: Callable[[str, str], bool] = lambda *_: False
    """Whether another controller was met among the jobs of a kind in a namespace."""
    is_ahead: Callable[[StreamId], bool] = lambda _: False
    """Whether a job shows a status of ours that is ahead of the log."""
    is_behind: Callable[[], bool] = lambda: False
    """Whether other work waits for the workers."""
    outboxes: dict[StreamId, _Outbox] = field(default_factory=dict)
    ends: Ends = field(default_factory=Ends)
    left: dict[StreamId, None] = field(default_factory=dict)
    """Jobs whose outbox was dropped though a write may have been on its way; oldest first."""
    lock: threading.Lock = field(default_factory=threading.Lock)
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    undeclared: UndeclaredFields = field(default_factory=UndeclaredFields)
    unwritten: Unwritten = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "unwritten", Unwritten(self.clock, self.inbox, self.live))

    def offer(self, identity: JobIdentity, statuses: list[Manifest], kind: str) -> Task | None:
        """Take statuses to be written, in order; return a task for the workers that does it.

        None, if nothing is to be written or an earlier task will do: it is under way, or waits
        after a failure.
        """
        with self.lock:
            box = self._box(identity, kind)
            box.retired = False
            rests_until = box.company.not_before if box.resting else 0.0
            for status in statuses:
                now, is_awaited = self.clock.monotonic(), bool(box.waiting)
                box.company.offer(status, now, is_awaited=is_awaited)
                last = box.waiting[-1] if box.waiting else None
                if last is not None and self._may_skip(box, last, status):
                    box.waiting.pop()
                box.waiting.append(status)
            self._drop_written(box)
            self._drop_first(box)
            in_haste = box.company.not_before < rests_until
            if not box.waiting or (box.task and not in_haste):
                return None
            box.task, box.resting = next(self.numbers), False  # one that rests is not waited for
            return functools.partial(self._publish, identity.stream_id, box.task)

    def _box(self, identity: JobIdentity, kind: str) -> _Outbox:
        box = self.outboxes.get(identity.stream_id)
        if box is None:
            stream = identity.stream_id
            box = _Outbox(identity, KINDS[kind], kept=self.ends.take_out(stream))
            box.waits_for_watch = stream in self.left
            self.left.pop(stream, None)
            self.outboxes[stream] = box
        return box

    def seen(
        self, stream: StreamId, version: str, status: Manifest, *, went_back: bool = False
    ) -> Task | None:
        """Return a task that writes a status anew if others have changed it, or it went back."""
        with self.lock:
            box = self.outboxes.get(stream)
            if box is None:
                self.ends.see(
                    (stream, version), status, self.clock.monotonic(), went_back=went_back
                )
                return None
            box.kept.see(version, status, went_back=went_back)
            if box.task or not self._written_anew(box):  # what is under way looks when it is done
                return None
            box.task = next(self.numbers)
            return functools.partial(self._publish, stream, box.task)

    def is_own(self, stream: StreamId, status: Manifest) -> bool:
        """Return whether this run has written a status, or is just about to."""
        with self.lock:
            box = self.outboxes.get(stream)
            return box.kept.is_own(status) if box else self.ends.is_own(stream, status)

    def take_drifted(self) -> list[StreamId]:
        """Take the jobs without an outbox whose status is to be looked at, and may be now."""
        with self.lock:
            return self.ends.take_due(self.clock.monotonic())

    def give_back(self, streams: Iterable[StreamId]) -> None:
        """Let jobs that were taken be looked at later: it was not possible now."""
        with self.lock:
            self.ends.give_back(streams, self.clock.monotonic())

    def _written_anew(self, box: _Outbox) -> bool:
        """Let the newest status wait to be written again, if others have changed it."""
        offered = box.company.offered
        if offered is None or box.waiting or not box.kept.is_drifted():
            return False
        now = self.clock.monotonic()
        box.company.put_off(now + box.kept.pause(now))
        box.waiting.append(offered)
        box.written, box.shown = b"", None
        self.metrics.status_writes.labels("overwritten").inc()
        log.warning("status_overwritten", job=f"{box.identity.namespace}/{box.identity.name}")
        return True

    def _may_skip(self, box: _Outbox, last: Manifest, status: Manifest) -> bool:
        """Return whether `last` need not be written, because `status` comes right after it.

        It is of the same phase, or differs from what users see by mere progress only. What users
        see is no measure for it while another waits before it.
        """
        if box.kind.status_format.milestone(last) in ("", box.kind.status_format.milestone(status)):
            return True
        if len(box.waiting) > 1:
            return False
        shown = box.shown if not box.failures else None
        return shown is not None and without_progress(shown) == without_progress(last)

    def _drop_written(self, box: _Outbox) -> None:
        """Drop what is there already; after a failure nobody knows what is."""
        if not box.written or box.failures:
            return
        while box.waiting and digest_of(box.waiting[0]) == box.written:
            del box.waiting[0]

    def _drop_first(self, box: _Outbox) -> None:
        """Drop the first status of an outbox if the job shows exactly that, as after a start most.

        It costs no task then. What such a job shows is of no event that the log has lost.
        """
        is_first = box.shown is None and box.is_as_found and not box.waits_for_watch
        if not is_first or box.task or len(box.waiting) != 1:
            return
        shown, status = shown_by(box.kind, self.live.job(box.identity.uid)), box.waiting[0]
        if shown is not None and status and shown.is_just(status, self.clock.now()):
            box.note_written(status, digest_of(status))
            box.kept.note(shown.job.version, status, box.written)

    def _drop_before_end(self, box: _Outbox) -> None:
        """Drop what came before an end if users see an end of ours: none is ever taken back.

        So it is where a write from before the ledger was set back has arrived late.
        """
        job = self.live.job(box.identity.uid) if len(box.waiting) > 1 else None
        if job is None:
            return
        newest, fields = job.newest, box.kind.controller
        if fields.has_ended(newest) and is_driven_here(fields, newest):
            while len(box.waiting) > 1 and not fields.has_ended({"status": box.waiting[0]}):
                del box.waiting[0]

    def _early(self, box: _Outbox) -> float:
        """Return for how many seconds the one that waits may still wait for company."""
        if len(box.waiting) > 1:
            return 0.0
        return box.company.early(self.clock.monotonic(), is_behind=self.is_behind())

    def forget(self, stream: StreamId) -> None:
        """Drop all that is known of a job that is gone, or somebody else's now."""
        with self.lock:
            box = self.outboxes.pop(stream, None)
            self.ends.forget(stream)
            if box is not None and (box.task or box.kept.version):
                self.left[stream] = None
                if len(self.left) > LEFT_MAX:
                    del self.left[next(iter(self.left))]

    def retire(self, stream: StreamId) -> None:
        """Drop the outbox of a job in which nothing is left to do, once it is empty."""
        with self.lock:
            box = self.outboxes.get(stream)
            if box is not None:
                box.retired = True
                self._drop_if_done(box)

    def streams(self) -> list[StreamId]:
        """Return the jobs that have an outbox."""
        with self.lock:
            return list(self.outboxes)

    def remembered(self) -> list[StreamId]:
        """Return all jobs of which anything is known here."""
        with self.lock:
            return [*self.outboxes, *self.ends.streams()]

    def _publish(self, stream: StreamId, task: int) -> float | None:
        """Write what waits; return the pause before another try, or None if nothing is left."""
        while True:
            with self.lock:
                box = self.outboxes.get(stream)
                if box is None or box.task != task:
                    return None
                self._drop_written(box)
                self._drop_before_end(box)
                if not box.waiting and not self._written_anew(box):
                    box.task = 0
                    self._drop_if_done(box)
                    return None
                early = self._early(box)
                box.resting = early > 0
                if box.resting:
                    return early
                status = box.waiting[0]
            where = box.kind.name, box.identity.namespace
            if not self.may_act(stream) or self.is_refused(*where):
                return LEASE_PAUSE_SECONDS
            shown = shown_by(box.kind, self.live.job(box.identity.uid))
            if shown is not None and self._is_unknown(box, shown, status):
                return LEASE_PAUSE_SECONDS
            shown = shown_by(box.kind, self.live.job(box.identity.uid), shown)
            pause = self._write(box, shown, status)
            if pause is not None:
                return pause

    def _is_unknown(self, box: _Outbox, shown: Shown, status: Manifest) -> bool:
        """Return whether a job shows a status of lost events: it is held once that is decided.

        Which takes a whole look at it, so a job that shows what is to be written is not asked.
        """
        if shown.job.version == box.kept.version:  # written just now
            return False
        if box.waits_for_watch and shown.job.told not in ("", shown.job.version):
            return True
        return not tells_no_more(shown, status) and self.is_ahead(box.identity.stream_id)

    def _drop_if_done(self, box: _Outbox) -> None:
        stream = box.identity.stream_id
        if box.retired and not box.waiting and self.outboxes.get(stream) is box:
            del self.outboxes[stream]
            self.ends.put(stream, box.kept)

    def _write(self, box: _Outbox, shown: Shown | None, status: Manifest) -> float | None:
        if shown is None:
            self.metrics.status_writes.labels("object_gone").inc()
            with self.lock:
                box.waiting.clear()
            return None
        job = shown.job
        meant = digest_of(status)
        if box.kind.status_format.is_merged and not status:  # it would take nothing away
            self._note_written(box, status, meant)
            return None
        if box.is_as_found and shows(shown, status, self.clock.now()):
            self._note_written(box, status, meant)
            box.kept.note(job.version, status, meant)
            return None
        if box.is_as_found and box.kept.holds(meant):
            self._note_written(box, status, meant)  # an older CRD kept a part of it, and still does
            return None
        try:
            answer = self._apply(box, job, status)
        except RequestInvalid as error:
            return None if self._passed_over(box, status) else self._failed(box, error)
        except ClusterError as error:
            return self._failed(box, error)
        except Exception as error:  # a bug of ours must not end the writing of this status for good
            log.exception("status_broken", stream=str(box.identity.stream_id))
            return self._failed(box, error)
        self.metrics.status_writes.labels("written").inc()
        version = text(answer, "metadata", "resourceVersion")
        self.live.note_version(box.identity.uid, version)
        with self.lock:
            box.kept.note(version, kept := child(answer, "status"), meant)
        self._note_written(box, status, meant)
        written = StatusWritten(
            id=observation_id(box.identity.stream_id, "status written", version),
            at=self.clock.now(),
            phase=box.kind.status_format.words(status),
            resource_version=version,
            status_sha=data_sha(box.kind.status_format.own(kept)).hex(),
        )
        self.inbox.put(box.identity.stream_id, written)
        return None

    def _note_written(self, box: _Outbox, status: Manifest, meant: bytes) -> None:
        with self.lock:
            box.note_written(status, meant)

    def _apply(self, box: _Outbox, job: CachedJob, status: Manifest) -> Manifest:
        def sends(sent: Manifest) -> None:
            with self.lock:
                box.kept.sends(sent)

        about = self.cluster, self.live, job, box.kind, status
        return StatusWrite(*about, sends, self.undeclared, self.clock.monotonic())()

    def _passed_over(self, box: _Outbox, status: Manifest) -> bool:
        """Drop a status that the API server will never take, if a newer one waits behind it."""
        with self.lock:
            if len(box.waiting) < 2 or box.waiting[0] is not status:  # noqa: PLR2004 a newer one
                return False
            del box.waiting[0]
        self.metrics.status_writes.labels("refused").inc()
        return True

    def _failed(self, box: _Outbox, error: Exception) -> float:
        self.metrics.status_writes.labels("failed").inc()
        box.failures += 1
        self.unwritten.tell(box.kind.name, box.identity, error, box.failures, box.failing)
        first = CONFLICT_PAUSE_SECONDS if isinstance(error, ObjectChanged) else PAUSE_FIRST_SECONDS
        pause = min(first * (1 << min(box.failures, 16)), PAUSE_MAX_SECONDS)
        if isinstance(error, RequestThrottled) and error.retry_after_seconds is not None:
            return max(pause, error.retry_after_seconds)
        return pause
