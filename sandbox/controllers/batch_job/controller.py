"""The simulated batch Job controller: Pods until enough have succeeded or too many failed.

Not started beside a real kube-controller-manager, which does this itself. Left out: limits per
index, pod failure policies, success policies. The Pods of a deleted Job go by the API server's
garbage collection.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from jobledger.adapters.telemetry.clock import SystemClock
from jobledger.core.errors import ObjectChanged, ObjectExists, ObjectNotFound
from jobledger.core.ports.cluster import BATCH_JOBS, PODS, Cluster
from jobledger.core.values.documents import Json, Manifest, child, items, number, text
from jobledger.core.values.instants import Instant, rfc3339
from jobledger.sandbox.controllers.batch_job.indexes import (
    MAX_HOSTNAME_CHARS,
    from_intervals,
    index_of,
    intervals,
    is_indexed,
    numbered,
    wanted_indexes,
)
from jobledger.sandbox.controllers.batch_job.verdict import (
    Verdict,
    completions_of,
    ended_at,
    parallelism_of,
    pod_ended_at,
    started_at,
    verdict_of,
)
from jobledger.sandbox.controllers.conditions import condition
from jobledger.sandbox.controllers.loop import ControllerLoop
from jobledger.sandbox.controllers.names import controlled_by, derived_name
from jobledger.sandbox.controllers.owners import is_still_there
from jobledger.sandbox.controllers.raycluster.status import is_running_and_ready
from jobledger.sandbox.controllers.store import (
    Store,
    controller_uid,
    is_being_deleted,
    key_of,
    uid_of,
)

FIRST_BACKOFF_SECONDS = 1.0
LAST_BACKOFF_SECONDS = 60.0
"""After a failed Pod the next one waits for the first.

Then twice as long each time up to the last (kube-controller-manager: 10 and 600).
"""

EXISTS_RETRY_SECONDS = 0.2
"""Until a Job is looked at again when the watch lags behind our own writes."""

ITSELF = "kubernetes.io/job-controller"
"""What `spec.managedBy` says of a Job that this controller runs; so does its absence."""


@dataclass(slots=True)
class _Memory:
    """What is remembered of one Job between reconciles, so that vanished Pods stay counted."""

    succeeded: set[str] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)
    dismissed: set[str] = field(default_factory=set)
    """Pods that were ended by a suspension: they neither succeed nor fail."""
    earlier: tuple[int, int] = (0, 0)
    """Succeeded and failed Pods that were gone before this controller started."""
    indexes: set[int] = field(default_factory=set)
    """Completion indexes that are done, of an Indexed Job."""
    created: int = 0
    last_failure: Instant | None = None

    def has_judged(self, uid: str) -> bool:
        """Tell whether it is known already what a Pod counts as."""
        return uid in self.succeeded or uid in self.failed or uid in self.dismissed


class BatchJobController:
    """A reconciler of batch/v1 Jobs."""

    def __init__(
        self,
        cluster: Cluster,
        jobs: Store,
        pods: Store,
        loop: ControllerLoop,
        *,
        first_backoff_seconds: float = FIRST_BACKOFF_SECONDS,
    ) -> None:
        self._cluster, self._jobs, self._pods, self._loop = cluster, jobs, pods, loop
        self._first_backoff = first_backoff_seconds
        self._clock = SystemClock()
        self._memory: dict[str, _Memory] = {}

    def start(self) -> None:
        """Listen to the stores; what they hold already is looked at as well."""
        self._jobs.tell(self._job_told)
        self._pods.tell(self._pod_told)
        for found in self._jobs.all():
            self._job_told(found, False)  # noqa: FBT003  # as the store calls it

    def reconcile(self, namespace: str, name: str) -> float | None:
        """Count, judge, create and delete Pods, write the status."""
        job = self._jobs.get(namespace, name)
        if job is None or is_being_deleted(job):
            return None
        if ended_at(job) is not None:
            return self._expire(job)  # of every Job: Source: KEP-4368
        if text(job, "spec", "managedBy") not in ("", ITSELF):
            return None
        pods = self._pods.owned_by(uid_of(job))
        memory = self._remembered(job, pods)
        now = self._clock.now()
        counts = _count(memory, pods, indexed=is_indexed(job))
        verdict = verdict_of(job, pods, counts, now)
        active = [pod for pod in pods if _is_active(pod)]
        again = None
        if verdict is not None or child(job, "spec").get("suspend") is True:
            if verdict is None:
                memory.dismissed |= {uid_of(pod) for pod in active}
            for pod in active:
                self._delete(pod)
        else:
            try:
                again = self._replenish(job, memory, active, counts)
            except ObjectExists:
                again = EXISTS_RETRY_SECONDS  # created by us, and not told yet
        status = _status(job, self._pods.owned_by(uid_of(job)), counts, verdict, now)
        if is_indexed(job):
            status["completedIndexes"] = intervals(memory.indexes) or None
        self._write(job, status)
        return _sooner(again, _until_deadline(job, now))

    def _job_told(self, job: Manifest, is_gone: bool) -> None:  # noqa: FBT001  # as the store calls it
        if is_gone:
            self._memory.pop(uid_of(job), None)
            return
        self._loop.add((self, *key_of(job)))

    def _pod_told(self, pod: Manifest, is_gone: bool) -> None:  # noqa: FBT001  # as the store calls it
        owner = controller_uid(pod)
        for reference in items(pod, "metadata", "ownerReferences"):
            if text(reference, "uid") == owner and text(reference, "kind") == BATCH_JOBS.kind:
                memory = self._memory.get(owner)
                uid = uid_of(pod)
                if is_gone and memory is not None and not memory.has_judged(uid):
                    memory.failed.add(uid)  # a Pod that was taken away has failed
                    memory.last_failure = self._clock.now()
                self._loop.add((self, key_of(pod)[0], text(reference, "name")))

    def _remembered(self, job: Manifest, pods: Sequence[Manifest]) -> _Memory:
        memory = self._memory.get(uid_of(job))
        if memory is None:
            ended = [text(pod, "status", "phase") for pod in pods]
            memory = _Memory(
                earlier=(
                    max(0, (number(job, "status", "succeeded") or 0) - ended.count("Succeeded")),
                    max(0, (number(job, "status", "failed") or 0) - ended.count("Failed")),
                )
            )
            memory.created = sum(memory.earlier) + len(pods)
            memory.indexes = from_intervals(text(job, "status", "completedIndexes"))
            self._memory[uid_of(job)] = memory
        return memory

    def _replenish(
        self,
        job: Manifest,
        memory: _Memory,
        active: Sequence[Manifest],
        counts: tuple[int, int],
    ) -> float | None:
        """Create what is missing; return in how many seconds more may be created."""
        succeeded, failed = counts
        open_ended = number(job, "spec", "completions") is None
        left = parallelism_of(job) if open_ended else completions_of(job) - succeeded
        missing = min(parallelism_of(job), left) - len(active)
        if missing <= 0 or (open_ended and succeeded):
            return None
        if failed and memory.last_failure is not None:
            delay = min(LAST_BACKOFF_SECONDS, self._first_backoff * 2 ** min(failed - 1, 16))
            due = memory.last_failure + timedelta(seconds=delay)
            wait = (due - self._clock.now()).total_seconds()
            if wait > 0:
                return wait
        if memory.created and not is_still_there(self._cluster, BATCH_JOBS, job):
            return None
        wanted: list[int] | list[None] = [None] * missing
        if is_indexed(job):
            wanted = wanted_indexes(job, active, memory.indexes, missing)
        for index in wanted:
            made = job_pod(job, memory.created, index)
            memory.created += (
                1  # also after AlreadyExists: a name that is taken is not wanted again
            )
            self._pods.note(self._cluster.create(PODS, made))
        return None

    def _delete(self, pod: Manifest) -> None:
        try:
            self._cluster.delete(PODS, *key_of(pod), uid=uid_of(pod))
        except ObjectChanged:
            return  # another Pod has its name: ours is gone

    def _write(self, job: Manifest, status: dict[str, Json]) -> None:
        known = child(job, "status")
        if all(known.get(name) == value for name, value in status.items()):
            return
        metadata: dict[str, Json] = {"uid": uid_of(job)}
        try:
            written = self._cluster.merge_patch(
                BATCH_JOBS,
                *key_of(job),
                {"metadata": metadata, "status": status},
                subresource="status",
            )
        except (ObjectNotFound, ObjectChanged):
            return  # the Job is gone, or another has its name: the watch will say so
        self._jobs.note(written)
        if text(status, "startTime") != text(known, "startTime"):
            self._loop.add((self, *key_of(job)))  # the deadline counts from now

    def _expire(self, job: Manifest) -> float | None:
        lifetime, ended = number(job, "spec", "ttlSecondsAfterFinished"), ended_at(job)
        if lifetime is None or ended is None:
            return None
        left = (ended + timedelta(seconds=lifetime) - self._clock.now()).total_seconds()
        if left > 0:
            return left
        self._cluster.delete(BATCH_JOBS, *key_of(job), uid=uid_of(job))
        return None


def job_pod(job: Manifest, number_of_pod: int, index: int | None = None) -> Manifest:
    """Return the nth Pod of a Job (from 0); `index` is its completion index, if it has one."""
    name, uid = text(job, "metadata", "name"), uid_of(job)
    prefix = name if index is None else f"{name}-{index}"
    template = child(job, "spec", "template")
    labels: dict[str, Json] = {
        **child(template, "metadata", "labels"),
        "job-name": name,
        "batch.kubernetes.io/job-name": name,
        "controller-uid": uid,
        "batch.kubernetes.io/controller-uid": uid,
    }
    owner = controlled_by({**job, "apiVersion": "batch/v1", "kind": "Job"})
    pod: Manifest = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": derived_name(prefix, uid, str(number_of_pod)),
            "generateName": f"{prefix}-",
            "namespace": text(job, "metadata", "namespace"),
            "labels": labels,
            "annotations": {**child(template, "metadata", "annotations")},
            "ownerReferences": [owner],
        },
        "spec": {"restartPolicy": "Never", **child(template, "spec")},
    }
    if index is None:
        return pod
    hostname: dict[str, Json] = {"hostname": prefix} if len(prefix) <= MAX_HOSTNAME_CHARS else {}
    return numbered({**pod, "spec": {**hostname, **child(pod, "spec")}}, index)


def _count(memory: _Memory, pods: Sequence[Manifest], *, indexed: bool) -> tuple[int, int]:
    for pod in pods:
        phase, uid = text(pod, "status", "phase"), uid_of(pod)
        if phase == "Succeeded":
            memory.succeeded.add(uid)
            index = index_of(pod)
            if index is not None:
                memory.indexes.add(index)
        elif phase == "Failed" and not memory.has_judged(uid):
            memory.failed.add(uid)
            memory.last_failure = pod_ended_at(pod)
    succeeded, failed = memory.earlier
    failed += len(memory.failed)
    if indexed:
        return len(memory.indexes), failed
    return succeeded + len(memory.succeeded), failed


def _status(
    job: Manifest,
    pods: Sequence[Manifest],
    counts: tuple[int, int],
    verdict: Verdict | None,
    now: Instant,
) -> dict[str, Json]:
    active = [pod for pod in pods if _is_active(pod)]
    is_suspended = child(job, "spec").get("suspend") is True
    known = items(job, "status", "conditions")
    conditions: list[Json] = []
    if is_suspended or any(text(entry, "type") == "Suspended" for entry in known):
        reason = "JobSuspended" if is_suspended else "JobResumed"
        said = "Job suspended" if is_suspended else "Job resumed"
        conditions.append(
            condition(
                "Suspended", is_true=is_suspended, reason=reason, message=said, known=known, at=now
            )
        )
    started = text(job, "status", "startTime") or rfc3339(now)
    status: dict[str, Json] = {
        "startTime": None if is_suspended else started,
        "active": len(active) or None,  # a count of nought is left out, as Go's omitempty does
        "ready": sum(1 for pod in active if is_running_and_ready(pod)),
        "terminating": 0,
        "succeeded": counts[0] or None,
        "failed": counts[1] or None,
        "uncountedTerminatedPods": {},
    }
    if verdict is not None:
        ends = not active
        first, last = (
            ("SuccessCriteriaMet", "Complete")
            if verdict.is_success
            else ("FailureTarget", "Failed")
        )
        kinds = (first, last) if ends else (first,)
        conditions += [_ending(kind, verdict, known, now) for kind in kinds]
        if ends and verdict.is_success:
            status["completionTime"] = rfc3339(now)
    if conditions:
        status["conditions"] = conditions
    return status


def _ending(kind: str, verdict: Verdict, known: Sequence[Json], now: Instant) -> Json:
    found = condition(
        kind, is_true=True, reason=verdict.reason, message=verdict.message, known=known, at=now
    )
    return {**found, "lastProbeTime": found["lastTransitionTime"]}


def _until_deadline(job: Manifest, now: Instant) -> float | None:
    deadline, started = number(job, "spec", "activeDeadlineSeconds"), started_at(job)
    if deadline is None or started is None:
        return None
    return max(0.05, (started + timedelta(seconds=deadline) - now).total_seconds())


def _is_active(pod: Manifest) -> bool:
    is_over = text(pod, "status", "phase") in ("Succeeded", "Failed")
    return not is_over and not is_being_deleted(pod)


def _sooner(one: float | None, other: float | None) -> float | None:
    found = [value for value in (one, other) if value is not None]
    return min(found, default=None)
