"""The schedule of polls for running attempts, in memory, and polls on demand.

A poll is no decision: it needs no memory, a restart begins anew. What answers as before is only
counted, and so is silence that goes on: while the ledger is away the inbox does not fill with it.
A look is a poll that somebody waits for: the submitter has ended, or a decision that would end the
attempt is due.

Namespaces take turns, and none of them holds all threads: a tenant whose heads never answer keeps
nobody else's end from being noticed.
"""

import heapq
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field

from jobledger.adapters.kinds.rayjob.heads.answers import see_answer
from jobledger.adapters.kinds.rayjob.heads.following import Follower
from jobledger.adapters.kinds.rayjob.heads.poll_pace import Pace
from jobledger.adapters.kinds.rayjob.heads.reach import Reach
from jobledger.adapters.service.objects.object_cache import CachedJob, ObjectCache
from jobledger.adapters.service.observing.confirmations import Confirmations
from jobledger.adapters.service.work.inbox import Inbox
from jobledger.adapters.service.work.thread_pool import STOP_SECONDS_MAX, ThreadPool
from jobledger.adapters.telemetry.dice import dice
from jobledger.adapters.telemetry.logging import get_logger
from jobledger.adapters.telemetry.metrics import Metrics
from jobledger.core.errors import RayApiError, RayJobNotFound
from jobledger.core.kinds import JobObservation
from jobledger.core.log.redaction.redact import Redactor
from jobledger.core.ports.clock import Clock
from jobledger.core.ports.job_ends import JobEnds
from jobledger.core.ports.ray_jobs import RayJobInfo, RayJobs
from jobledger.core.rayjob.observations.observations import PollNotFound, PollUnanswered
from jobledger.core.rayjob.phases import JobStatus
from jobledger.core.rayjob.state import RayJobState, awaits_submitter, wants_poll
from jobledger.core.values.ids import StreamId, observation_id

log = get_logger(__name__)

TROUBLE_CHARACTERS_MAX = 300

TOLD_AGAIN_AFTER = 20
"""After so many answers that said the same, or none of them came, it is told once more: should the
first have been lost on its way, the job would wait for ever."""

SPREAD_MAX = 3.0
"""The first question comes within a quarter of so many seconds, whatever the interval."""

Afterwards = Callable[[], None]


@dataclass(slots=True)
class _Target:
    """A Ray job that is asked about."""

    namespace: str
    uid: str
    address: str
    job_id: str
    due: float
    last: RayJobInfo | None = None
    trouble: str = ""
    """Why there was no such answer, as it was told last; empty if there was one, or if the state
    has changed since: what meant nothing to the state before may mean something now."""
    same: int = 0
    """How often the last answer, or trouble, has come again without having been told."""
    in_flight: bool = False
    look: bool = False
    """Somebody waits for the next answer, even if it is the same as before."""
    is_ahead: bool = False
    """It was asked when the end of its submitter was seen: the state need not have it asked."""
    afterwards: list[Afterwards] = field(default_factory=list)
    pace: Pace = field(default_factory=Pace)
    follower: Follower | None = None


@dataclass(frozen=True, slots=True)
class PollParts:
    """What asking needs."""

    ray: RayJobs
    live: ObjectCache
    inbox: Inbox
    confirmations: Confirmations
    clock: Clock
    metrics: Metrics
    interval_seconds: float
    threads: int
    token: Callable[[CachedJob, str], str] = lambda _job, _address: ""
    """Returns the token that the head at an address asks for; raises `RayApiError`."""
    ends: JobEnds | None = None
    """Follows the logs of jobs whose end nobody else tells; None: they are only asked about."""
    dice: Callable[[], float] = dice
    """Spreads the first questions, so that not all are asked at once."""


class Polls(ThreadPool[tuple[float, StreamId], tuple[StreamId, _Target]]):
    """The schedule and the threads that ask."""

    def __init__(self, parts: PollParts) -> None:
        super().__init__(parts.clock, parts.threads, "poll")
        self._parts = parts
        self._targets: dict[StreamId, _Target] = {}
        self._queue: list[tuple[float, int, StreamId]] = []
        self._ordinals = itertools.count()
        self._reach = Reach()

    def stop(self, timeout_seconds: float = STOP_SECONDS_MAX) -> None:
        """End; answers under way are still told."""
        super().stop(timeout_seconds)
        with self._lock:
            targets = list(self._targets.values())
        for target in targets:
            if target.follower is not None:
                target.follower.stop()
        if self._parts.ends is not None:
            self._parts.ends.close()

    def update(self, stream: StreamId, state: RayJobState) -> None:
        """Ask from now on what the state calls for; a wanted look is due at once."""
        attempt, identity = state.attempt, state.identity
        if attempt is None or identity is None or not wants_poll(state):
            self.forget(stream)
            return
        with self._lock:
            target = self._targets.get(stream)
            asked = (attempt.job_id, attempt.address)
            if target is None or (target.job_id, target.address) != asked:
                spread = min(self._parts.interval_seconds, SPREAD_MAX) * self._parts.dice() / 4
                waiting = target.afterwards if target is not None else []
                target = _Target(
                    namespace=identity.namespace,
                    uid=identity.uid,
                    address=attempt.address,
                    job_id=attempt.job_id,
                    due=self._parts.clock.monotonic() + (0 if waiting else spread),
                    look=bool(waiting),
                    afterwards=waiting,
                    pace=Pace(is_hinted=not awaits_submitter(state)),
                )
                target.follower = self._follower(stream, target)
                replaced = self._targets.get(stream)
                if replaced is not None and replaced.follower is not None:
                    replaced.follower.stop()
                self._targets[stream] = target
                self._push(stream, target)
                self._timekeeper.leave(target.due)
            target.trouble = ""
            if not attempt.look_wanted:
                target.is_ahead = target.is_ahead and (target.look or target.in_flight)
            elif not target.look and not target.is_ahead:
                target.look = True
                self._hurry(stream, target)

    def tell_with_answer(self, stream: StreamId, end: JobObservation) -> bool:
        """Tell of a submitter's end, and have the head asked at once: they are decided on together.

        Return whether it is asked; if not, nothing was told.
        """
        with self._lock:
            target = self._targets.get(stream)
            if target is None or target.in_flight:  # that answer may be from before the end
                return False
            self._parts.inbox.put_accompanied(stream, end)
            target.look = target.is_ahead = True
            self._hurry(stream, target)
            return True

    def look(self, stream: StreamId, afterwards: Afterwards) -> bool:
        """Ask at once and call `afterwards` when the answer has been told.

        Return whether anybody is to be asked; if not, `afterwards` is never called. Nor is it if
        the service stops before.
        """
        with self._lock:
            target = self._targets.get(stream)
            if target is None:
                return False
            target.look = True
            target.afterwards.append(afterwards)
            self._hurry(stream, target)
            return True

    def streams(self) -> list[StreamId]:
        """Return the jobs whose heads are asked."""
        with self._lock:
            return list(self._targets)

    def forget(self, stream: StreamId) -> None:
        """Ask no more; whoever waits for a look is called."""
        with self._lock:
            target = self._targets.pop(stream, None)
        if target is not None:
            if target.follower is not None:
                target.follower.stop()
            for afterwards in target.afterwards:
                afterwards()

    def _follower(self, stream: StreamId, target: _Target) -> Follower | None:
        """Return what follows a job, if nobody but Ray tells of its end."""
        parts = self._parts
        if parts.ends is None or not target.pace.is_hinted:
            return None
        return Follower(parts.ends, parts.clock, lambda: self._hinted(stream, target))

    def _hinted(self, stream: StreamId, target: _Target) -> None:
        """Ask at once: the job may have ended."""
        self._parts.metrics.hints.inc()
        with self._lock:
            target.pace.hint()
            if self._targets.get(stream) is target:
                self._hurry(stream, target)

    def __len__(self) -> int:
        return len(self._targets)

    def _push(self, stream: StreamId, target: _Target) -> None:
        heapq.heappush(self._queue, (target.due, next(self._ordinals), stream))

    def _hurry(self, stream: StreamId, target: _Target) -> None:
        if not target.in_flight:
            target.due = self._parts.clock.monotonic()
            self._push(stream, target)
            self._timekeeper.leave(target.due)

    def _do(self, taken: tuple[StreamId, _Target]) -> None:
        stream, target = taken
        try:
            self._ask(stream, target)
        except Exception:  # a bug must not end the asking of all others
            log.exception("poll_broken", stream=str(stream))
        self._release(stream, target)

    def _next_instant(self) -> float:
        return self._queue[0][0] if self._queue and self._open else math.inf

    def _take(self) -> tuple[StreamId, _Target] | None:
        self._bring_due()
        while (taken := self._ready.pop(self._shares.may)) is not None:
            due, stream = taken[1]
            target = self._targets.get(stream)
            # Else it is an entry that a later one has replaced.
            if target is not None and not target.in_flight and target.due == due:
                target.in_flight = True
                self._shares.take(target.namespace)
                return stream, target
        return None

    def _bring_due(self) -> None:
        now = self._parts.clock.monotonic()
        while self._open and self._queue and self._queue[0][0] <= now:
            due, _, stream = heapq.heappop(self._queue)
            target = self._targets.get(stream)
            if target is not None:
                self._ready.append(target.namespace, (due, stream))

    def _ask(self, stream: StreamId, target: _Target) -> None:
        with self._lock:
            looked, waiting = target.look, target.afterwards
            target.look, target.afterwards = False, []
        job = self._parts.live.job(target.uid)
        if job is not None:  # what is said of an object that is gone could not be redacted
            self._inquire(stream, target, job, looked=looked)
        for afterwards in waiting:
            afterwards()

    def _inquire(self, stream: StreamId, target: _Target, job: CachedJob, *, looked: bool) -> None:
        """Ask, and tell what came back; what came back before is only counted, mostly."""
        parts, redactor = self._parts, job.redactor
        try:
            token = parts.token(job, target.address)
            info = parts.ray.info(target.address, target.job_id, token)
            self._answered(stream, target, info, redactor, looked)
            if target.follower is not None and info.status == JobStatus.RUNNING:
                target.follower.begin(target.address, target.job_id, token)
                is_gone = self._targets.get(stream) is not target
                if is_gone:
                    target.follower.stop()
        except RayJobNotFound:
            parts.metrics.polls.labels("not_found").inc()
            self._reach.answered()
            if self._is_news(stream, target, "not found", looked=looked):
                self._tell_not_found(stream, target)
        except RayApiError as error:
            trouble = redactor.text(str(error), TROUBLE_CHARACTERS_MAX)
            self._unanswered(stream, target, trouble, looked=looked)
        except Exception as error:  # an adapter's bug, or an answer that nobody foresaw
            log.exception("poll_broken", stream=str(stream))
            trouble = f"an unusable answer ({type(error).__name__})"
            self._unanswered(stream, target, trouble, looked=looked)

    def _answered(
        self,
        stream: StreamId,
        target: _Target,
        info: RayJobInfo,
        redactor: Redactor,
        looked: bool,  # noqa: FBT001 private, one caller
    ) -> None:
        parts, at = self._parts, self._parts.clock.now()
        parts.metrics.polls.labels(info.status.lower()).inc()
        self._reach.answered()
        if info == target.last and not looked:
            parts.confirmations.count(stream, "Ray job", at)
            target.same += 1
            if not self._is_told_again(stream, target):
                return
        seen = see_answer(stream, target.job_id, info, redactor, at)
        target.last, target.trouble, target.same = info, "", 0
        parts.inbox.put(stream, seen)

    def _is_news(self, stream: StreamId, target: _Target, trouble: str, *, looked: bool) -> bool:
        """Take note of why there was no answer; return whether it is to be told."""
        target.last = None
        target.same += 1
        is_same = trouble == target.trouble and not looked
        if is_same and not self._is_told_again(stream, target):
            return False
        target.trouble, target.same = trouble, 0
        return True

    def _is_told_again(self, stream: StreamId, target: _Target) -> bool:
        """Return whether the same is told once more: not while news of the job still waits."""
        return target.same >= TOLD_AGAIN_AFTER and self._parts.inbox.is_settled(stream)

    def _unanswered(self, stream: StreamId, target: _Target, trouble: str, *, looked: bool) -> None:
        self._parts.metrics.polls.labels("unanswered").inc()
        self._reach.unanswered(trouble)
        if self._is_news(stream, target, f"unanswered: {trouble}", looked=looked):
            self._tell_unanswered(stream, target, trouble)

    def _tell_not_found(self, stream: StreamId, target: _Target) -> None:
        at = self._parts.clock.now()
        mark = observation_id(stream, "poll", target.job_id, "not found", at.isoformat())
        self._parts.inbox.put(stream, PollNotFound(id=mark, at=at, job_id=target.job_id))

    def _tell_unanswered(self, stream: StreamId, target: _Target, trouble: str) -> None:
        at = self._parts.clock.now()
        mark = observation_id(stream, "poll", target.job_id, "unanswered", at.isoformat())
        silent = PollUnanswered(id=mark, at=at, job_id=target.job_id, trouble=trouble)
        self._parts.inbox.put(stream, silent)

    def _release(self, stream: StreamId, target: _Target) -> None:
        with self._lock:
            target.in_flight = False
            self._shares.give_back(target.namespace)
            if self._targets.get(stream) is not target:
                return
            now, interval = self._parts.clock.monotonic(), self._parts.interval_seconds
            is_followed = target.follower is not None and target.follower.is_on
            pause = target.pace.pause(now, interval, is_followed=is_followed)
            target.due = now if target.look else now + pause
            self._push(stream, target)  # this thread waits for it, or has another wait
