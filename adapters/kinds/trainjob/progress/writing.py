"""Reports on their way into `status.trainerStatus`: each job's now and then, the newest wins.

A report is answered once it, or a newer one of its job, is in the status: whoever gets an answer
may forget it. What comes within `EVERY_SECONDS` is written together; namespaces take turns.

Several processes may write to one job. What counts is which report is the newest by its own time:
it is compared with the status, which is written only if nobody has changed it since.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass

from jobledger.adapters.serving.pace import Bucket
from jobledger.adapters.telemetry.logging import get_logger
from jobledger.core.errors import ClusterError, ObjectChanged, ObjectNotFound
from jobledger.core.ports.cluster import TRAINJOBS, Cluster
from jobledger.core.trainjob.reports import WRITER, is_outdated
from jobledger.core.values.documents import Manifest, child, text
from jobledger.core.values.instants import Instant

EVERY_SECONDS = 1.0
"""Least time between two writes of one job: as long as an answer takes that had to wait for it."""

WRITES_PER_SECOND, WRITES_AT_ONCE = 20.0, 40.0
"""Writes of all jobs."""

WAITING_MAX = 10_000
"""So many jobs may have a report that waits."""

TRIES = 3
"""Somebody else may write the status between look and write."""

log = get_logger(__name__)


class TooManyReports(Exception):  # named as a sentence, like the core's
    """More jobs report than reports can be kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What one TrainJob is to show."""

    namespace: str
    name: str
    uid: str
    trainer_status: Manifest

    @property
    def key(self) -> tuple[str, str]:
        """Return which job it is of."""
        return self.namespace, self.uid


@dataclass(slots=True)
class Waiting:
    """The newest report of a job, and who waits for it to be written."""

    report: Report
    answers: list[Future[None]]


class Writer:
    """Writes reports. Safe to use from many threads."""

    def __init__(
        self, cluster: Cluster, monotonic: Callable[[], float], now: Callable[[], Instant]
    ) -> None:
        """Take the API server, a clock for pauses, and one to judge the times of reports by."""
        self._cluster, self._monotonic, self._now = cluster, monotonic, now
        self._changed = threading.Condition()
        self._waiting: dict[tuple[str, str], Waiting] = {}
        self._writing: set[tuple[str, str]] = set()
        """Jobs of which a report is being written: the next has to come after it."""
        self._written: dict[tuple[str, str], float] = {}
        self._served: dict[str, float] = {}
        """Namespace -> when a report of it was written."""
        self._writes = Bucket(WRITES_PER_SECOND, WRITES_AT_ONCE, monotonic())

    def take(self, report: Report) -> Future[None]:
        """Keep a report until it is its turn; return what is done once it is in the status.

        The result raises a ClusterError if it could not be written.

        Raises:
            TooManyReports: it cannot be kept.
        """
        answer: Future[None] = Future()
        with self._changed:
            waiting = self._waiting.get(report.key)
            if waiting is None:
                if len(self._waiting) >= WAITING_MAX:
                    raise TooManyReports
                self._waiting[report.key] = Waiting(report, [answer])
            else:
                if not self._is_outdated(report, waiting.report.trainer_status):
                    waiting.report = report
                waiting.answers.append(answer)
            self._changed.notify()
        return answer

    def wait_for_reports(self, seconds: float) -> None:
        """Return once a report waits, or so many seconds have passed."""
        with self._changed:
            self._changed.wait_for(lambda: bool(self._waiting), seconds)

    def write_waiting(self) -> None:
        """Write what waits and whose turn it is."""
        while (waiting := self._next()) is not None:
            self._answer(waiting)
            with self._changed:
                self._writing.discard(waiting.report.key)

    def write_last(self) -> None:
        """Write all that waits, whosever turn it is: nothing is taken any more."""
        with self._changed:
            rest, self._waiting = list(self._waiting.values()), {}
        for waiting in rest:
            self._answer(waiting)

    def _answer(self, waiting: Waiting) -> None:
        failed: Exception | None = None
        try:
            self._write(waiting.report)
        except ClusterError as error:
            failed = error
        except Exception as error:
            log.exception("report_not_written", job=waiting.report.key)
            failed = error
        for answer in waiting.answers:
            if not answer.set_running_or_notify_cancel():
                continue  # nobody waits for it any more
            if failed is None:
                answer.set_result(None)
            else:
                answer.set_exception(failed)

    def _next(self) -> Waiting | None:
        with self._changed:
            now = self._monotonic()
            self._written = {
                key: at for key, at in self._written.items() if now - at < EVERY_SECONDS
            }
            due = [one.report for key, one in self._waiting.items() if self._is_due(key, now)]
            if not due or not self._writes.may_take(now):
                return None
            chosen = min(due, key=lambda one: self._served.get(one.namespace, 0.0))
            waiting = self._waiting.pop(chosen.key)
            here = {one.report.namespace for one in self._waiting.values()} | {chosen.namespace}
            self._served = {name: at for name, at in self._served.items() if name in here}
            self._served[chosen.namespace] = now
            self._written[chosen.key] = now
            self._writing.add(chosen.key)
            return waiting

    def _is_due(self, key: tuple[str, str], now: float) -> bool:
        at = self._written.get(key)
        return key not in self._writing and (at is None or now - at >= EVERY_SECONDS)

    def _write(self, report: Report) -> None:
        for tries_left in reversed(range(TRIES)):
            found = self._cluster.get(TRAINJOBS, report.namespace, report.name)
            if found is None or text(found, "metadata", "uid") != report.uid:
                raise ObjectNotFound(f"trainjobs {report.namespace}/{report.name}: it is gone")
            if self._is_outdated(report, child(found, "status", "trainerStatus")):
                return  # another replica has written a newer one
            try:
                self._apply(report, text(found, "metadata", "resourceVersion"))
            except ObjectChanged:
                if not tries_left:
                    raise
            else:
                return

    def _is_outdated(self, report: Report, shown: Manifest) -> bool:
        return is_outdated(report.trainer_status, shown, self._now())

    def _apply(self, report: Report, version: str) -> None:
        manifest: Manifest = {
            "apiVersion": TRAINJOBS.api_version,
            "kind": TRAINJOBS.kind,
            "metadata": {
                "namespace": report.namespace,
                "name": report.name,
                "resourceVersion": version,
            },
            "status": {"trainerStatus": report.trainer_status},
        }
        self._cluster.apply(
            TRAINJOBS, manifest, field_manager=WRITER, subresource="status", force=True
        )
