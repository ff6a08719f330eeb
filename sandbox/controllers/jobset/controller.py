"""The simulated JobSet controller: Jobs that start, suspend, restart, fail and succeed together.

One pass looks at the child Jobs, judges, does what is missing and writes the status once. Left out:
exclusive placement, restarts in place, restarts of single Jobs, Kubernetes Events.
Source: JobSet v0.12.0, pkg/controllers/jobset_controller.go (the order of a pass).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from jobledger.adapters.telemetry.clock import SystemClock
from jobledger.core.errors import ObjectChanged, ObjectNotFound
from jobledger.core.ports.cluster import BATCH_JOBS, JOBSETS, SERVICES, Cluster
from jobledger.core.values.documents import Json, Manifest, child, items, number, text
from jobledger.core.values.instants import Instant, parse_rfc3339
from jobledger.sandbox.controllers.jobset.children import (
    Children,
    children_of,
    counts_of,
    group_of,
    is_suspended,
    replicated_jobs_status,
)
from jobledger.sandbox.controllers.jobset.conditions import conditions_of, ended_at
from jobledger.sandbox.controllers.jobset.jobs import child_job, headless_service, wanted_claims
from jobledger.sandbox.controllers.jobset.names import (
    CLAIMS,
    CONTROLLER,
    groups_of,
    has_names,
    job_name,
    replicas_of,
    subdomain_of,
)
from jobledger.sandbox.controllers.jobset.order import (
    all_ready,
    has_started,
    is_in_order,
    may_start,
)
from jobledger.sandbox.controllers.jobset.policies import Failed, is_complete, outcome_of_failure
from jobledger.sandbox.controllers.jobset.resume import resumption
from jobledger.sandbox.controllers.jobset.status import StatusDraft
from jobledger.sandbox.controllers.loop import ControllerLoop
from jobledger.sandbox.controllers.owners import is_still_there
from jobledger.sandbox.controllers.store import (
    Store,
    controller_uid,
    is_being_deleted,
    key_of,
    uid_of,
)

Counts = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSetStores:
    """The watches this controller lives on."""

    jobsets: Store
    jobs: Store
    services: Store


class JobSetController:
    """A reconciler of JobSets."""

    def __init__(self, cluster: Cluster, stores: JobSetStores, loop: ControllerLoop) -> None:
        self._cluster, self._stores, self._loop = cluster, stores, loop
        self._clock = SystemClock()
        self._doomed: set[str] = set()
        """UIDs of Jobs that we have deleted and the watch still shows."""
        self._claimed: set[str] = set()
        """UIDs of JobSets whose claims have been made."""

    def start(self) -> None:
        """Listen to the stores; what they hold already is looked at as well."""
        self._stores.jobsets.tell(self._jobset_told)
        self._stores.jobs.tell(self._part_told)
        self._stores.services.tell(self._part_told)
        for found in self._stores.jobsets.all():
            self._jobset_told(found, False)  # noqa: FBT003  # as the store calls it

    def reconcile(self, namespace: str, name: str) -> float | None:
        """Look at the Jobs, do what is missing, write the status."""
        jobset = self._stores.jobsets.get(namespace, name)
        if jobset is None or is_being_deleted(jobset) or not _is_ours(jobset):
            return None
        status = StatusDraft(jobset, self._clock.now())
        children = children_of(self._stores.jobs.owned_by(uid_of(jobset)), status.restarts)
        counts = counts_of(jobset, children)
        status.count(replicated_jobs_status(counts))
        again = self._advance(jobset, children, counts, status)
        self._write(jobset, status)
        return again

    def _advance(
        self, jobset: Manifest, children: Children, counts: Counts, status: StatusDraft
    ) -> float | None:
        ended = ended_at(conditions_of(status.fields))
        if ended is not None:
            self._delete(children.active)
            return self._expire(jobset, parse_rfc3339(ended))
        self._delete(children.previous)
        if not is_suspended(jobset) and all_ready(jobset, counts):
            status.jobs_ready()
        if children.failed:
            outcome = outcome_of_failure(jobset, children.failed)
            if isinstance(outcome, Failed):
                status.failed(outcome)
            else:
                status.restarted(outcome)
            return None
        if children.succeeded and is_complete(jobset, children.succeeded):
            status.completed()
            return None
        self._connect(jobset)
        self._create_jobs(jobset, children, counts, status)
        if is_suspended(jobset):
            for job in children.active:
                self._change(job, {"suspend": True} if not is_suspended(job) else {})
            status.suspended()
        else:
            self._resume(jobset, children, counts, status)
        return None

    def _connect(self, jobset: Manifest) -> None:
        """See that the Pods get their names, and the claims they share."""
        namespace = text(jobset, "metadata", "namespace")
        if has_names(jobset) and self._stores.services.get(namespace, subdomain_of(jobset)) is None:
            made = self._cluster.create(SERVICES, headless_service(jobset))
            self._stores.services.note(made)
        if uid_of(jobset) in self._claimed:
            return
        for claim in wanted_claims(jobset):
            if self._cluster.get(CLAIMS, *key_of(claim)) is None:
                self._cluster.create(CLAIMS, claim)
        self._claimed.add(uid_of(jobset))

    def _create_jobs(
        self, jobset: Manifest, children: Children, counts: Counts, status: StatusDraft
    ) -> None:
        in_order = is_in_order(jobset) and not is_suspended(jobset)
        blocks = text(jobset, "spec", "failurePolicy", "restartStrategy") == "BlockingRecreate"
        known = {text(job, "metadata", "name") for job in children.all()}
        for group in groups_of(jobset):
            if not may_start(jobset, group, counts) or (in_order and has_started(group, counts)):
                continue
            for index in range(replicas_of(group)):
                if job_name(jobset, group, index) in known or (blocks and children.previous):
                    continue
                if child(jobset, "status") and not is_still_there(self._cluster, JOBSETS, jobset):
                    return
                made = child_job(jobset, group, index, status.restarts)
                self._stores.jobs.note(self._cluster.create(BATCH_JOBS, made))
            if in_order:
                status.starting()
                return
        if in_order:
            status.started()

    def _resume(
        self, jobset: Manifest, children: Children, counts: Counts, status: StatusDraft
    ) -> None:
        in_order = is_in_order(jobset)
        for group in groups_of(jobset):
            if not may_start(jobset, group, counts) or (in_order and has_started(group, counts)):
                continue
            for job in children.active:
                if group_of(job) == text(group, "name") and is_suspended(job):
                    self._resume_job(job, group)
            if in_order:
                status.starting()
                return
        status.resumed()

    def _resume_job(self, job: Manifest, group: Json) -> None:
        """Let a Job run; its template may change only while the Job has no start."""
        if text(job, "status", "startTime"):
            self._change(job, {"startTime": None}, "status")
        self._change(job, resumption(job, child(group, "template", "spec", "template")))

    def _change(self, job: Manifest, fields: Manifest, part: str = "") -> None:
        if not fields:
            return
        patch = {"metadata": {"uid": uid_of(job)}, part or "spec": fields}
        try:
            changed = self._cluster.merge_patch(BATCH_JOBS, *key_of(job), patch, subresource=part)
        except (ObjectNotFound, ObjectChanged):
            return  # the Job is gone, or another has its name: the watch will say so
        self._stores.jobs.note(changed)

    def _delete(self, jobs: Iterable[Manifest]) -> None:
        for job in jobs:
            if is_being_deleted(job) or uid_of(job) in self._doomed:
                continue
            self._doomed.add(uid_of(job))
            try:
                self._cluster.delete(
                    BATCH_JOBS, *key_of(job), uid=uid_of(job), propagation="Foreground"
                )
            except ObjectChanged:
                continue  # another Job has its name: ours is gone

    def _expire(self, jobset: Manifest, ended: Instant | None) -> float | None:
        lifetime = number(jobset, "spec", "ttlSecondsAfterFinished")
        if lifetime is None or ended is None:
            return None
        left = (ended + timedelta(seconds=lifetime) - self._clock.now()).total_seconds()
        if left > 0:
            return left
        self._cluster.delete(JOBSETS, *key_of(jobset), uid=uid_of(jobset), propagation="Foreground")
        return None

    def _write(self, jobset: Manifest, status: StatusDraft) -> None:
        if not status.differs_from(child(jobset, "status")):
            return
        whole = {**jobset, "status": status.fields}
        try:
            written = self._cluster.replace(JOBSETS, whole, subresource="status")
        except (ObjectNotFound, ObjectChanged):
            return  # it has changed or gone: the watch will say so
        self._stores.jobsets.note(written)
        self._loop.add((self, *key_of(jobset)))

    def _jobset_told(self, jobset: Manifest, is_gone: bool) -> None:  # noqa: FBT001  # as the store calls it
        if is_gone:
            self._claimed.discard(uid_of(jobset))
            return
        self._loop.add((self, *key_of(jobset)))

    def _part_told(self, part: Manifest, is_gone: bool) -> None:  # noqa: FBT001  # as the store calls it
        if is_gone:
            self._doomed.discard(uid_of(part))
        owner = controller_uid(part)
        for reference in items(part, "metadata", "ownerReferences"):
            if text(reference, "uid") == owner and text(reference, "kind") == JOBSETS.kind:
                self._loop.add((self, key_of(part)[0], text(reference, "name")))


def _is_ours(jobset: Manifest) -> bool:
    return text(jobset, "spec", "managedBy") in ("", CONTROLLER)
