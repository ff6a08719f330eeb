"""A queue of one's own under Kueue: its quota, its jobs, and what Kueue says of them."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.acceptance.jobs import cluster_spec, rayjob, with_metadata
from tests.acceptance.real_site import leave_nothing
from tests.acceptance.trainjobs import torch_runtime, trainjob
from tests.acceptance.witness import (
    BATCH_JOBS,
    JOBSETS,
    RAYCLUSTERS,
    RAYJOBS,
    TRAINJOBS,
    Told,
    Witness,
)
from tests.operators.stage import SEEN_SECONDS, Stage
from tests.support.waiting import wait_until

WORKLOADS = "kueue.x-k8s.io/v1beta2/workloads"
LOCAL_QUEUES = "kueue.x-k8s.io/v1beta2/localqueues"
CLUSTER = "/apis/kueue.x-k8s.io/v1beta2"
API_VERSION = "kueue.x-k8s.io/v1beta2"
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
PRIORITY_LABEL = "kueue.x-k8s.io/priority-class"
NAME = "research"
FLAVOR_LABEL = "tests.jobledger.dev/flavor"
CPUS = "1500m"
"""The quota: a head or a node of one CPU, and KubeRay's submitter, which asks for 500m."""

TOLD = ("QuotaReserved", "Admitted", "Evicted", "Requeued", "Finished")
"""Conditions of a Workload that tell its story; when others change is a matter of chance."""

TOLERATION = {"key": "tests.jobledger.dev/spot", "operator": "Exists", "effect": "NoSchedule"}

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Queue:
    """A LocalQueue with a ClusterQueue that has the quota for one job."""

    stage: Stage
    witness: Witness
    by: str
    """Who runs the jobs: jobledger, kuberay or trainer."""

    @property
    def is_ours(self) -> bool:
        """Return whether Jobledger runs the jobs."""
        return self.by == "jobledger"

    @property
    def flavor(self) -> str:
        """The name of the flavor, which is also its nodes' label."""
        return self.stage.site.api.namespace

    @property
    def urgent(self) -> str:
        """The name of the higher priority."""
        return f"urgent-{self.flavor}"

    def rayjob(self, name: str, entrypoint: str, **spec: Any) -> Document:  # noqa: ANN401  # any JSON
        """Return a RayJob of this queue that takes all of its quota."""
        cluster = cluster_spec(resources={"requests": {"cpu": "1"}})
        given = {"rayClusterSpec": cluster, "shutdownAfterJobFinishes": True, **spec}
        return self.queued(rayjob(name, entrypoint, **given))

    def trainjob(self, name: str, *command: str, **spec: Any) -> Document:  # noqa: ANN401  # any JSON
        """Return a TrainJob of this queue that takes all of its quota."""
        document = trainjob(name, *command, runtime="torch", **spec)
        document["spec"]["trainer"]["resourcesPerNode"] = {"requests": {"cpu": "1"}}
        return self.queued(document)

    def queued(self, document: Document) -> Document:
        """Return a job as its user submits it to the queue."""
        return with_metadata(document, labels={QUEUE_LABEL: NAME})

    def urgently(self, document: Document) -> Document:
        """Return a job with the higher priority."""
        labels = {**document["metadata"]["labels"], PRIORITY_LABEL: self.urgent}
        return with_metadata(document, labels=labels)

    def make_runtime(self, **container: object) -> None:
        """Create the runtime of the TrainJobs; `container` is merged into that of its nodes."""
        runtime = torch_runtime("torch")
        (group,) = runtime["spec"]["template"]["spec"]["replicatedJobs"]
        group["template"]["spec"]["template"]["spec"]["containers"][0] |= container
        path = self.stage.admin.path("trainer.kubeflow.org/v1alpha1/trainingruntimes")
        reply = self.stage.admin.request("POST", path, runtime)
        assert reply.code == 201, reply.message  # Created

    def submit(self, document: Document) -> Document:
        """Create a job; return it as Kueue's webhook let it in."""
        resource = {"RayJob": RAYJOBS, "TrainJob": TRAINJOBS}[document["kind"]]
        reply = self.stage.site.api.create(resource, document)
        assert reply.code == 201, reply.message  # Created
        return dict(reply.body)

    def workload(self, job: str) -> Document | None:
        """Return the Workload of a job as it is, or None if there is none."""
        found = [
            item
            for item in self.stage.admin.list(WORKLOADS).body["items"]
            if any(owner["name"] == job for owner in item["metadata"].get("ownerReferences", []))
        ]
        return found[-1] if found else None

    def conditions(self, job: str) -> dict[str, Document]:
        """Return the conditions of a job's Workload by type."""
        found = self.workload(job) or {}
        return {one["type"]: one for one in found.get("status", {}).get("conditions") or []}

    def wait_for(self, job: str, condition: str, value: str = "True") -> Document:
        """Return a condition of a job's Workload once it is so."""

        def shows() -> bool:
            return self.conditions(job).get(condition, {}).get("status") == value

        try:
            wait_until(shows, f"the Workload of {job} has {condition}={value}", SEEN_SECONDS)
        except AssertionError as error:
            error.add_note(json.dumps(self.workload(job), indent=1))
            error.add_note(json.dumps(self.stage.status(job), indent=1))
            raise
        found = self.conditions(job)[condition]
        if condition in TOLD and value == "True":  # the watch may be behind what was just read
            told = condition, found["reason"]
            wait_until(lambda: told in self.told_by_kueue(job), f"{told} is told", SEEN_SECONDS)
        return found

    def waits(self, job: str) -> None:
        """Return once Kueue has looked at a job and has no quota for it."""

        def has_none() -> bool:
            found = self.conditions(job).get("QuotaReserved", {})
            return found.get("status") == "False"

        wait_until(has_none, f"{job} waits for quota", SEEN_SECONDS)

    def change_workload(self, job: str, **spec: object) -> None:
        """Merge something into the specification of a job's Workload."""
        found = self.workload(job)
        assert found is not None, f"{job} has no Workload"
        name = found["metadata"]["name"]
        reply = self.stage.admin.merge(WORKLOADS, name, {"spec": spec})
        assert reply.code == 200, reply.message  # OK

    def delete_workload(self, job: str) -> None:
        """Delete a job's Workload, as somebody does who wants it queued anew."""
        found = self.workload(job)
        assert found is not None, f"{job} has no Workload"
        reply = self.stage.admin.delete(WORKLOADS, found["metadata"]["name"])
        assert reply.code == 200, reply.message  # OK

    def generation(self, job: str, resource: str = RAYJOBS) -> int:
        """Return how often the specification of a job was written."""
        return int(self.stage.admin.get(resource, job).body["metadata"]["generation"])

    def told_by_kueue(self, job: str) -> list[tuple[str, str]]:
        """Return the conditions that the Workloads of a job came to have: type and reason."""
        shown: list[tuple[str, str]] = []
        last: dict[tuple[str, str], str] = {}
        for told in self._told(job):
            for one in told.document.get("status", {}).get("conditions") or []:
                before = last.get((told.uid, one["type"]))
                last[told.uid, one["type"]] = one["status"]
                if one["type"] in TOLD and one["status"] == "True" and before != "True":
                    shown.append((one["type"], one["reason"]))
        return shown

    def readiness(self, job: str) -> list[str]:
        """Return the reasons that PodsReady of a job's Workloads came to have, from the first."""
        shown: list[str] = []
        for told in self._told(job):
            for one in told.document.get("status", {}).get("conditions") or []:
                if one["type"] == "PodsReady" and [one["reason"]] != shown[-1:]:
                    shown.append(one["reason"])
        return shown

    def _told(self, job: str) -> list[Told]:
        return [
            told
            for told in self.witness.told(WORKLOADS)
            if any(
                owner["name"] == job
                for owner in told.document["metadata"].get("ownerReferences", [])
            )
        ]


@contextmanager
def queue(stage: Stage, by: str) -> Iterator[Queue]:
    """Give a namespace its queue, and take it away with all Workloads.

    Args:
        stage: where.
        by: who runs the jobs.
    """
    namespace, admin = stage.site.api.namespace, stage.admin
    made = [
        ("resourceflavors", _flavor(namespace)),
        ("workloadpriorityclasses", _priority(f"urgent-{namespace}")),
        ("clusterqueues", _cluster_queue(namespace)),
    ]
    for kind, document in made:
        reply = admin.request("POST", f"{CLUSTER}/{kind}", document)
        assert reply.code == 201, reply.message  # Created
    local = _object("LocalQueue", NAME, spec={"clusterQueue": namespace})
    reply = admin.create(LOCAL_QUEUES, local)
    assert reply.code == 201, reply.message  # Created
    kinds = (RAYJOBS, TRAINJOBS, WORKLOADS, RAYCLUSTERS, BATCH_JOBS, JOBSETS)
    with Witness(admin, kinds) as witness:
        try:
            yield Queue(stage, witness, by)
        except BaseException as error:
            error.add_note(_as_it_is(stage))
            raise
        finally:
            _leave(stage, [f"{CLUSTER}/{kind}/{one['metadata']['name']}" for kind, one in made])


def _as_it_is(stage: Stage) -> str:
    """Return what helps to understand a story that went wrong: log and objects at its end."""
    lines = [
        f"{row['at']} {row['name']} {row['type']} {row['data']}"[:400]
        for row in stage.site.rows(
            "SELECT e.recorded_at AS at, j.name, e.type, e.data FROM event e "
            "JOIN job j USING (stream_id) ORDER BY e.position"
        )
    ]
    for kind in (RAYJOBS, TRAINJOBS, JOBSETS, WORKLOADS):
        for item in stage.admin.list(kind).body["items"]:
            item["metadata"].pop("managedFields", None)
            lines.append(json.dumps(item))
    return "\n".join(lines)


def _leave(stage: Stage, paths: list[str]) -> None:
    """Delete the jobs, then their Workloads, then the queue, while Kueue still runs."""
    admin = stage.admin
    leave_nothing(admin)
    for item in admin.list(WORKLOADS).body["items"]:
        admin.delete(WORKLOADS, item["metadata"]["name"])
        admin.merge(WORKLOADS, item["metadata"]["name"], {"metadata": {"finalizers": None}})
    admin.delete(LOCAL_QUEUES, NAME)
    for path in reversed(paths):
        admin.request("DELETE", path)


def _object(kind: str, name: str, **more: object) -> Document:
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": name}, **more}


def _flavor(name: str) -> Document:
    """Return nodes that have a label, and are tolerated by what is admitted to them."""
    spec = {"nodeLabels": {FLAVOR_LABEL: name}, "tolerations": [TOLERATION]}
    return _object("ResourceFlavor", name, spec=spec)


def _priority(name: str) -> Document:
    return _object("WorkloadPriorityClass", name, value=1000, description="of tests")


def _cluster_queue(name: str) -> Document:
    """Return a ClusterQueue of one namespace, where higher priorities preempt lower ones."""
    quotas = [{"name": "cpu", "nominalQuota": CPUS}, {"name": "memory", "nominalQuota": "100Gi"}]
    group = {
        "coveredResources": ["cpu", "memory"],
        "flavors": [{"name": name, "resources": quotas}],
    }
    here = {"matchLabels": {"kubernetes.io/metadata.name": name}}
    preemption = {"withinClusterQueue": "LowerPriority"}
    spec = {"namespaceSelector": here, "resourceGroups": [group], "preemption": preemption}
    return _object("ClusterQueue", name, spec=spec)
