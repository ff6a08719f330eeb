"""Reads the log for rules of notifications, and sends what is to be told: a process of its own.

The log is read from a cursor on; the cursor and what waits to be sent go on together, and what was
sent goes once the target has taken it. So each target is told at least once, and twice if whoever
sent it died before it could say so. No controller waits for any of it.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import NamedTuple, Protocol

from jobledger.adapters.notifying.rules_file import Target
from jobledger.adapters.notifying.sending import NotTaken, send
from jobledger.adapters.process.threads import join_all
from jobledger.adapters.telemetry.logging import get_logger
from jobledger.adapters.telemetry.metrics import NotificationMetrics
from jobledger.adapters.telemetry.repeated import Repeated
from jobledger.core.errors import BrokenChain, JobledgerError
from jobledger.core.forensics.bundles.dossier import Dossier, EvidenceReader
from jobledger.core.jobs.retries.backoff import doubled, shortened
from jobledger.core.log.envelope import StoredEvent
from jobledger.core.notifications.messages import Notice, notice_of
from jobledger.core.notifications.occasions import occasion_of
from jobledger.core.notifications.rules import Occasion, Rule, asks_for
from jobledger.core.notifications.waiting import Notices, NotificationLag, Taken
from jobledger.core.values.ids import StreamId
from jobledger.core.values.instants import Instant

log = get_logger(__name__)

BATCH_EVENTS = 500
PAUSE_SECONDS = 2.0
"""Between two looks at the log, and at what is due."""

TROUBLE_SECONDS = 5.0
"""Pause after the ledger was out of reach."""

SETTLING_SECONDS = 10.0
"""An event is told so long after it was first seen: what was kept of a failure comes a little
later, and says why it failed."""

SHARE = 10
"""Notices that are taken at once."""

LEASE = timedelta(minutes=5)
"""How long nobody else is given a notice that was taken; longer than a share of them may last."""

FIRST_PAUSE, LONGEST_PAUSE = timedelta(seconds=10), timedelta(hours=1)
"""Before a notice is tried again; it doubles with each try. `take_notifications_v1` sends what is
due later than the longest."""

JITTER_PERCENT = 20


class Log(Protocol):
    """What is asked of the log; see `core.ports.event_store.EventStore`."""

    def read_after(self, position: int, limit: int) -> Sequence[StoredEvent]:
        """Return the next events of the whole log."""

    def read_stream(self, stream: StreamId) -> Sequence[StoredEvent]:
        """Return the events of a job."""


class Asked(NamedTuple):
    """An occasion and the rules that ask for it."""

    occasion: Occasion
    rules: Sequence[Rule]

    @property
    def notices(self) -> Sequence[Notice]:
        """Return what each target is to be told."""
        return [
            notice_of(rule.name, target, self.occasion)
            for rule in self.rules
            for target in rule.targets
        ]


class Reader:
    """Finds what rules ask for in events of the log."""

    def __init__(self, of: Log, evidence: EvidenceReader, rules: Sequence[Rule]) -> None:
        self._log, self._evidence, self._rules = of, evidence, rules
        self._names = frozenset[str]().union(*(rule.names for rule in rules))

    def after(self, position: int, limit: int = BATCH_EVENTS) -> Sequence[StoredEvent]:
        """Return the next events of the log."""
        return self._log.read_after(position, limit)

    def asked(self, events: Sequence[StoredEvent]) -> Iterator[Asked]:
        """Yield those of these events that rules ask for. A job that cannot be read is left out.

        Raises:
            UnknownEventType: an event was written by a newer version.
        """
        for stored in events:
            if stored.record.type not in self._names:
                continue
            stream = stored.record.stream_id
            whole = tuple(self._log.read_stream(stream))
            if not whole:
                continue  # it has left with an archive just now
            dossier = Dossier(events=whole, evidence=self._evidence, origin="the ledger")
            try:
                occasion = occasion_of(dossier, stored)
            except BrokenChain as error:
                log.warning("job_not_told", stream=str(stream), error=str(error))
                continue
            if asking := [rule for rule in self._rules if asks_for(rule, occasion)]:
                yield Asked(occasion, asking)


class Notifier:
    """Reads the log and sends; `look` and `send_due` are what its threads do again and again."""

    def __init__(
        self,
        reader: Reader,
        waiting: Notices,
        targets: Mapping[str, Target],
        metrics: NotificationMetrics,
        now: Callable[[], Instant],
    ) -> None:
        self._reader, self._waiting, self._targets = reader, waiting, targets
        self._metrics, self._now = metrics, now
        self._seen: deque[tuple[float, int]] = deque()
        """When the log was seen to end where, in monotonic seconds; what is not settled yet."""
        self._settled = 0
        self._wait = Repeated(log, "notifications_wait", time.monotonic)
        self._not_taken = Repeated(log, "notice_not_taken", time.monotonic)
        self._told: set[str] = set()
        """Targets of which the metrics have said something."""
        self._stopping = threading.Event()
        self._threads = [
            threading.Thread(target=self._again_and_again, args=(task,), name=name, daemon=True)
            for name, task in (
                ("read", self.look),
                *((f"tell {name}", partial(self.send_due, name)) for name in targets),
            )
        ]

    def start(self) -> None:
        """Start the threads: one that reads, and one for each target, which holds up no other."""
        for thread in self._threads:
            thread.start()

    def stop(self, timeout_seconds: float = 30.0) -> None:
        """Stop after the notice, or the batch, that is under way."""
        self._stopping.set()
        join_all(self._threads, timeout_seconds)

    def is_alive(self) -> bool:
        """Return whether all threads run."""
        return all(thread.is_alive() for thread in self._threads)

    def look(self, settling_seconds: float = SETTLING_SECONDS) -> bool:
        """Read a batch of the log; return whether more is there that may be told now.

        Where nobody was told yet, it begins at the end of the log.
        """
        lag = self._waiting.lag()
        self._tell(lag)
        if lag.position is None:
            self._waiting.put(None, lag.last_position, ())
            return False
        upto = self._settled_at(lag.last_position, settling_seconds)
        if upto <= lag.position:
            return False
        events = [one for one in self._reader.after(lag.position) if one.position <= upto]
        told = [notice for asked in self._reader.asked(events) for notice in asked.notices]
        end = events[-1].position if events else upto  # what is between has left with an archive
        self._waiting.put(lag.position, end, told)
        return end < upto

    def _settled_at(self, last_position: int, settling_seconds: float) -> int:
        """Return up to where the log was seen long enough ago."""
        now = time.monotonic()
        if not self._seen or self._seen[-1][1] != last_position:
            self._seen.append((now, last_position))
        while self._seen and now - self._seen[0][0] >= settling_seconds:
            self._settled = self._seen.popleft()[1]
        return min(self._settled, last_position)

    def send_due(self, name: str) -> bool:
        """Send what is due of a target; return whether there may be more."""
        target = self._targets[name]
        share = max(1, min(SHARE, target.per_minute))
        taken = self._waiting.take(name, share, LEASE)
        for one in taken:
            if self._stopping.is_set():
                break  # they are due again when the lease ends
            self._send(name, target, one)
            self._stopping.wait(60 / target.per_minute)
        return len(taken) == share

    def _send(self, name: str, target: Target, one: Taken) -> None:
        try:
            send(target, one.notice, self._now())
        except NotTaken as error:
            again_in = pause_of(target, one, error)
            self._waiting.not_taken(one, error.trouble, again_in)
            self._metrics.notifications_failed.labels(name).inc()
            if again_in is None:
                rule, notice = one.notice.rule, str(one.notice.id)
                told = {"target": name, "rule": rule, "notice": notice, "tries": one.tries}
                log.warning("notice_given_up", **told, error=error.trouble)
            else:
                self._not_taken.warn(error.trouble, target=name)
        else:
            self._waiting.delivered(one)
            self._metrics.notifications_sent.labels(name).inc()

    def _tell(self, lag: NotificationLag) -> None:
        """Tell the metrics what waits and how far the log was read."""
        self._metrics.notification_lag_events.set(lag.events)
        self._metrics.notification_lag_seconds.set(lag.seconds)
        found = {one.target: one for one in self._waiting.waiting()}
        for name in self._targets.keys() | found.keys() | self._told:
            one = found.get(name)
            self._metrics.notifications_waiting.labels(name).set(one.waiting if one else 0)
            self._metrics.notifications_dead.labels(name).set(one.dead if one else 0)
        self._told |= found.keys()

    def _again_and_again(self, task: Callable[[], bool]) -> None:
        while not self._stopping.is_set():
            pause = PAUSE_SECONDS
            try:
                if task():
                    pause = 0.0
                self._wait.over()
            except JobledgerError as error:
                self._wait.warn(error)
                pause = TROUBLE_SECONDS
            except Exception:
                log.exception("notifications_error")
                pause = TROUBLE_SECONDS
            self._stopping.wait(pause)


def pause_of(target: Target, one: Taken, error: NotTaken) -> timedelta | None:
    """Return when a notice is tried again that was not taken; None: it is given up."""
    if error.for_good or one.tries >= target.tries:
        return None
    pause = doubled(FIRST_PAUSE, one.tries - 1, LONGEST_PAUSE)
    pause = shortened(pause, JITTER_PERCENT, f"{one.notice.id}/{one.tries}")
    return max(pause, min(error.again_in or pause, LONGEST_PAUSE))
