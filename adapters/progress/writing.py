"""Reports on their way into `status.trainerStatus`: each job's now and then, the newest wins.

The first of a job is written while its Pod waits for the answer. What comes within `EVERY_SECONDS`
is taken, and the newest of it written when its turn has come; namespaces take turns.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass

from jobledger.adapters.serving.pace import Bucket
from jobledger.adapters.telemetry.logging import get_logger
from jobledger.core.errors import ClusterError, ObjectChanged, ObjectNotFound
from jobledger.core.ports.cluster import TRAINJOBS, Cluster
from jobledger.core.trainjob.reports import WRITER
from jobledger.core.values.documents import Manifest, text

EVERY_SECONDS = 5.0
"""Least time between two writes of one job; the Kubeflow SDK reports as often."""

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


class Writer:
    """Writes reports. Safe to use from many threads."""

    def __init__(self, cluster: Cluster, monotonic: Callable[[], float]) -> None:
        self._cluster, self._monotonic = cluster, monotonic
        self._lock = threading.Lock()
        self._waiting: dict[tuple[str, str], Report] = {}
        self._written: dict[tuple[str, str], float] = {}
        self._served: dict[str, float] = {}
        """Namespace -> when a report of it that waited was written."""
        self._writes = Bucket(WRITES_PER_SECOND, WRITES_AT_ONCE, monotonic())

    def take(self, report: Report) -> None:
        """Write a report, or keep it until it is its turn.

        Raises:
            TooManyReports: it cannot be kept.
            ClusterError: it was to be written now, and was not.
        """
        with self._lock:
            now = self._monotonic()
            is_first = self._is_due(report.key, now) and report.key not in self._waiting
            if not (is_first and self._writes.may_take(now)):
                if len(self._waiting) >= WAITING_MAX and report.key not in self._waiting:
                    raise TooManyReports
                self._waiting[report.key] = report
                return
            self._written[report.key] = now
        self._write(report)

    def write_waiting(self) -> None:
        """Write what waits and whose turn it is."""
        while (report := self._next()) is not None:
            self._try_to_write(report)

    def write_last(self) -> None:
        """Write all that waits, whosever turn it is: nothing is taken any more."""
        with self._lock:
            waiting, self._waiting = list(self._waiting.values()), {}
        for report in waiting:
            self._try_to_write(report)

    def _try_to_write(self, report: Report) -> None:
        try:
            self._write(report)
        except ClusterError as error:
            log.warning("report_not_written", job=report.key, why=str(error))

    def _next(self) -> Report | None:
        with self._lock:
            now = self._monotonic()
            self._written = {
                key: at for key, at in self._written.items() if now - at < EVERY_SECONDS
            }
            due = [one for one in self._waiting.values() if self._is_due(one.key, now)]
            if not due or not self._writes.may_take(now):
                return None
            chosen = min(due, key=lambda one: self._served.get(one.namespace, 0.0))
            del self._waiting[chosen.key]
            here = {one.namespace for one in self._waiting.values()} | {chosen.namespace}
            self._served = {name: at for name, at in self._served.items() if name in here}
            self._served[chosen.namespace] = now
            self._written[chosen.key] = now
            return chosen

    def _is_due(self, key: tuple[str, str], now: float) -> bool:
        at = self._written.get(key)
        return at is None or now - at >= EVERY_SECONDS

    def _write(self, report: Report) -> None:
        for tries_left in reversed(range(TRIES)):
            found = self._cluster.get(TRAINJOBS, report.namespace, report.name)
            if found is None or text(found, "metadata", "uid") != report.uid:
                raise ObjectNotFound(f"trainjobs {report.namespace}/{report.name}: it is gone")
            try:
                self._apply(report, text(found, "metadata", "resourceVersion"))
            except ObjectChanged:
                if not tries_left:
                    raise
            else:
                return

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
