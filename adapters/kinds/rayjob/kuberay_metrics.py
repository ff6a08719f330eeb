"""Metrics about RayJobs under KubeRay's names, so that existing dashboards keep working.

Source: KubeRay's rayjob metrics collector; names, labels and help texts are upstream's.
"""

import threading
from collections.abc import Iterator, Sequence

from prometheus_client import CollectorRegistry, Gauge
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from jobledger.adapters.service.loop.handover import Announce
from jobledger.adapters.service.objects.object_cache import CachedJob, ObjectCache
from jobledger.core.catalogue import JobEvent
from jobledger.core.jobs.identity import JobIdentity
from jobledger.core.kinds import AnyKind, JobState
from jobledger.core.ports.cluster import RAYJOBS
from jobledger.core.rayjob.events import lifecycle as happened
from jobledger.core.rayjob.state import RayJobState
from jobledger.core.values.instants import Instant

LABELS = ("name", "namespace", "uid")

_TOLD = frozenset(
    (
        *(happened.AttemptStarted, happened.AttemptFailed, happened.RetryGranted),
        *(happened.JobFailed, happened.JobCompleted, happened.JobDeleted),
    )
)


class KubeRayMetrics(Collector):
    """What upstream's operator would tell of the RayJobs that are there, whoever controls them.

    How long attempts took is told by the replica that saw them end, as long as the RayJob is there
    and nobody else drives it; another replica that works on it by then has not seen it. When they
    began and how many failed before is the log's: what a status shows may be old, or forged.
    """

    def __init__(self, registry: CollectorRegistry, live: ObjectCache) -> None:
        self._live = live
        self._lock = threading.Lock()
        self._begun: dict[str, tuple[int, Instant]] = {}
        """UID -> the attempt that began last, and when."""
        self._failed: dict[str, tuple[int, int]] = {}
        """UID -> an attempt, and how many had failed before it."""
        self._ended: dict[str, set[tuple[str, ...]]] = {}
        self._durations = Gauge(
            "kuberay_job_execution_duration_seconds",
            "Duration from when the RayJob CR’s JobDeploymentStatus transitions from Initializing "  # noqa: RUF001 upstream's text
            "to either the Retrying state or a terminal state, such as Complete or Failed. The "
            "Retrying state indicates that the CR previously failed and that spec.backoffLimit is "
            "enabled.",
            [*LABELS, "job_deployment_status", "retry_count"],
            registry=None,
        )
        registry.register(self)

    def announce(self, identity: JobIdentity, events: Sequence[object], before: JobState) -> None:
        """Take note of what happened to a job, in order, after that state; from one thread."""
        if not isinstance(before, RayJobState):
            return
        with self._lock:
            for event in events:
                if type(event) in _TOLD:
                    self._take_note(identity, event, before)

    def collect(self) -> Iterator[Metric]:
        """Yield one series per RayJob that is there, and those of the attempts that ended here."""
        jobs = self._keep_only_what_is_there()
        yield from self._durations.collect()
        info = GaugeMetricFamily(
            "kuberay_job_info", "Metadata information about RayJob custom resources", labels=LABELS
        )
        status = GaugeMetricFamily(
            "kuberay_job_deployment_status",
            "The RayJob's current deployment status",
            labels=(*LABELS, "deployment_status"),
        )
        for job in jobs:
            if job.kind == RAYJOBS.kind:
                who = (job.identity.name, job.identity.namespace, job.identity.uid)
                info.add_metric(who, 1)
                status.add_metric((*who, job.phase), 1)
        yield info
        yield status

    def _take_note(self, identity: JobIdentity, event: object, before: RayJobState) -> None:
        uid = identity.uid
        if isinstance(event, happened.AttemptStarted):
            self._begun[uid] = event.attempt, event.at
        elif isinstance(event, happened.AttemptFailed):
            self._failed[uid] = event.attempt, self._failures_before(uid, event.attempt, before)
        elif isinstance(event, happened.RetryGranted):
            self._took(identity, event.attempt, event.at, "Retrying", before)
            self._failed[uid] = event.attempt + 1, event.failed
        elif isinstance(event, happened.JobFailed) and not self._is_told(uid, event.attempt):
            self._took(identity, event.attempt, event.at, "Failed", before)
        elif isinstance(event, happened.JobCompleted):
            self._took(identity, event.attempt, event.at, "Complete", before)
        elif isinstance(event, happened.JobDeleted):
            self._forget(uid)

    def _is_told(self, uid: str, attempt: int) -> bool:
        """Return whether an attempt was told as Retrying: its job failed in the pause after it."""
        return self._failed.get(uid, (0, 0))[0] > attempt

    def _took(
        self, identity: JobIdentity, attempt: int, at: Instant, phase: str, before: RayJobState
    ) -> None:
        last, begun = self._begun.pop(identity.uid, (None, None))
        if last != attempt:  # another process saw this one begin
            known = before.attempt
            begun = known.started_at if known is not None and known.number == attempt else None
        if begun is None:
            return
        failed = str(self._failures_before(identity.uid, attempt, before))
        labels = (identity.name, identity.namespace, identity.uid, phase, failed)
        self._durations.labels(*labels).set((at - begun).total_seconds())
        self._ended.setdefault(identity.uid, set()).add(labels)

    def _failures_before(self, uid: str, attempt: int, before: RayJobState) -> int:
        """Return how many attempts had failed before one; by the log, if not seen here."""
        counted_for, failed = self._failed.get(uid, (None, 0))
        return failed if counted_for == attempt else before.failed

    def _keep_only_what_is_there(self) -> list[CachedJob]:
        """Forget what is gone and what another controller drives; return the jobs that are there.

        The end of either is announced to nobody, or to the replica that works on it by then.
        """
        with self._lock:
            jobs = self._live.jobs()
            kept = {job.identity.uid for job in jobs if not job.recorded}
            for uid in {*self._begun, *self._failed, *self._ended} - kept:
                self._forget(uid)
        return jobs

    def _forget(self, uid: str) -> None:
        self._begun.pop(uid, None)
        self._failed.pop(uid, None)
        for labels in self._ended.pop(uid, ()):
            self._durations.remove(*labels)


def announcing(event_recorder: Announce, metrics: KubeRayMetrics) -> Announce:
    """Return what tells users of what happened, and KubeRay's dashboards as well."""

    def announce(
        identity: JobIdentity, events: Sequence[JobEvent], kind: AnyKind, before: JobState
    ) -> None:
        event_recorder(identity, events, kind, before)
        metrics.announce(identity, events, before)

    return announce
