"""The jobs that fail on the node, and what has to be said of each.

What the kubelet, containerd and Ray make of them is nobody's guess here: memory is really used up,
an image is really not to be had, a program is really not there.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Document = dict[str, Any]

RAY, PYTHON = "rayproject/ray:2.52.0", "python:3.12"
"""As samples call them (`tests.node.install.site`)."""
ABSENT = "docker.io/local/nobody-made-this:1"
NO_NODE = {"jobledger.dev/there-is": "no-such-node"}
"""A selector that no node's labels have."""
TOO_MUCH = ["python3", "-c", "len(b'x' * 500_000_000)"]
LITTLE = {"requests": {"cpu": "50m"}, "limits": {"memory": "64Mi"}}
NO_MONITOR = {"name": "RAY_memory_monitor_refresh_ms", "value": "0"}
"""Ray looks after the memory of its node four times a second; without that the kernel does."""
RUNTIME, STARTED_AGAIN = "one-node", "started-again"
NO_ACCOUNT, NO_PROBE = "no-account", "no-probe"
NO_MODULE = ["python3", "-c", "print('epoch 3', flush=True); import no_such_module"]
STEPS = ["python3", "-c", "import time; print('step 7', flush=True); time.sleep(3600)"]
"""As the first process of its container it takes no notice of SIGTERM."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A job, and what has to be said of it."""

    manifest: Document
    outcome: str
    """Of the account: failed, going on, or deleted: by its user, once it runs."""
    cause: str
    group: str
    says: str
    """Stands in the first sentence; of a job that goes on in any."""
    evidence: str
    """Pattern of a piece of evidence that is kept, as `what source`."""

    @property
    def name(self) -> str:
        """Return the name of the job."""
        return str(self.manifest["metadata"]["name"])

    @property
    def resource(self) -> str:
        """Return the job as kubectl names it."""
        return f"{self.manifest['kind'].lower()}/{self.name}"


def ray_job(
    name: str,
    entrypoint: str = "true",
    *,
    image: str = RAY,
    head: Document | None = None,
    pod: Document | None = None,
    **spec: object,
) -> Document:
    """Return a RayJob with a small head.

    Args:
        name: of the job.
        entrypoint: what Ray is to run.
        image: of the head.
        head: fields of its container.
        pod: fields of its Pod.
        spec: more fields of the job.
    """
    container = {"name": "ray-head", "image": image, "resources": {"requests": {"cpu": "100m"}}}
    whole: Document = {"containers": [{**container, **(head or {})}], **(pod or {})}
    group = {"rayStartParams": {"num-cpus": "1"}, "template": {"spec": whole}}
    cluster = {"rayVersion": "2.52.0", "headGroupSpec": group}
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": {"name": name},
        "spec": {"entrypoint": entrypoint, "rayClusterSpec": cluster, **spec},
    }


def with_submitter(name: str, *, pod: Document | None = None, **container: object) -> Document:
    """Return a RayJob whose submitter is tried once; `container` are fields of its container."""
    one = {"name": "ray-job-submitter", "image": RAY, "resources": LITTLE, **container}
    template = {"spec": {"restartPolicy": "Never", "containers": [one], **(pod or {})}}
    once = {"backoffLimit": 0}
    return ray_job(name, submitterPodTemplate=template, submitterConfig=once)


def training(name: str, runtime: str = RUNTIME, **trainer: object) -> Document:
    """Return a TrainJob of one node."""
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": name},
        "spec": {"runtimeRef": {"name": runtime, "kind": "TrainingRuntime"}, "trainer": trainer},
    }


def runtimes() -> Iterator[Document]:
    """Yield what the TrainJobs run on: one node that is started once, or once more in place.

    The node of the third has an account that is not there, that of the fourth a probe.
    """
    yield _runtime(RUNTIME, "Never", 0)
    yield _runtime(STARTED_AGAIN, "OnFailure", 1)
    yield _runtime(NO_ACCOUNT, "Never", 0, account="nobody")
    probe = {"exec": {"command": ["no-such-probe"]}}
    yield _runtime(NO_PROBE, "Never", 0, readinessProbe=probe)


def _runtime(
    name: str, restart_policy: str, backoff_limit: int, account: str = "", **container: object
) -> Document:
    containers = [{"name": "node", "image": PYTHON, **container}]
    whose = {"serviceAccountName": account} if account else {}
    pod = {"restartPolicy": restart_policy, "containers": containers, **whose}
    step = {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}}
    job = {"metadata": step, "spec": {"backoffLimit": backoff_limit, "template": {"spec": pod}}}
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainingRuntime",
        "metadata": {"name": name},
        "spec": {
            "mlPolicy": {"numNodes": 1},
            "template": {"spec": {"replicatedJobs": [{"name": "node", "template": job}]}},
        },
    }


def cases() -> Iterator[Case]:
    """Yield the jobs: those that fail by themselves first, then those that wait for ever."""
    yield from _out_of_memory()
    yield from _not_there()
    yield from _gone_at_once()
    yield from _waiting()
    yield from _waiting_quietly()


def _out_of_memory() -> Iterator[Case]:
    killed = r"OOMKilled \(exit 137\)"
    yield Case(
        manifest=training("training-takes-too-much", command=TOO_MUCH, resourcesPerNode=LITTLE),
        outcome="failed",
        cause="out-of-memory",
        group="application",
        says="OOMKilled",
        evidence=rf"Pod training-takes-too-much-\S+ Failed .*{killed}",
    )
    yield Case(
        manifest=with_submitter("submitter-takes-too-much", command=TOO_MUCH),
        outcome="failed",
        cause="out-of-memory",
        group="application",
        says="OOMKilled",
        evidence=rf"Pod submitter-takes-too-much-\S+ Failed .*{killed}",
    )
    two_gib = {"requests": {"cpu": "100m"}, "limits": {"memory": "2Gi"}}
    yield Case(
        manifest=ray_job(
            "entrypoint-takes-too-much",
            "python3 -c \"len(b'x' * 4_000_000_000)\"",
            head={"resources": two_gib, "env": [NO_MONITOR]},
        ),
        outcome="failed",
        cause="killed",
        group="application",
        says="killed by a signal: exit 137",
        evidence=r"Pod entrypoint-takes-too-much-\S+ Running",
    )


def _not_there() -> Iterator[Case]:
    yield Case(
        manifest=with_submitter("submitter-has-no-program", command=["no-such-program"]),
        outcome="failed",
        cause="missing-file",
        group="application",
        says='exec: "no-such-program": executable file not found',
        evidence=r"Pod submitter-has-no-program-\S+ Failed .*StartError \(exit 128\)",
    )
    yield Case(
        manifest=training("training-has-no-program", command=["no-such-program"]),
        outcome="failed",
        cause="missing-file",
        group="application",
        says='exec: "no-such-program": executable file not found',
        evidence=r"Pod training-has-no-program-\S+ Failed .*StartError \(exit 128\)",
    )
    yield Case(
        manifest=ray_job("head-has-no-image", image=ABSENT, preRunningDeadlineSeconds=90),
        outcome="failed",
        cause="image-pull",
        group="image-pull",
        says="nobody-made-this",
        evidence=r"Kubernetes Event Pod/head-has-no-image-\S+ Failed: .*nobody-made-this",
    )


def _gone_at_once() -> Iterator[Case]:
    """Yield jobs whose Pods go with what they have written.

    Kubernetes removes the Pod of the first, that has failed too often; the user deletes the second.
    """
    yield Case(
        manifest=training("training-is-started-again", STARTED_AGAIN, command=NO_MODULE),
        outcome="failed",
        cause="missing-module",
        group="application",
        says="No module named 'no_such_module'",
        evidence=r"log training-is-started-again-\S+ node",
    )
    yield Case(
        manifest=training("training-is-deleted", command=STEPS),
        outcome="deleted",
        cause="",
        group="",
        says="step 7",
        evidence=r"log training-is-deleted-\S+ node",
    )


def _waiting() -> Iterator[Case]:
    yield Case(
        manifest=ray_job("head-waits-for-an-image", image=ABSENT),
        outcome="going on",
        cause="image-pull",
        group="image-pull",
        says="nobody-made-this",
        evidence=r"Pod head-waits-for-an-image-\S+ Pending .*(ErrImagePull|ImagePullBackOff)",
    )
    yield Case(
        manifest=ray_job("head-waits-for-a-node", pod={"nodeSelector": NO_NODE}),
        outcome="going on",
        cause="unschedulable",
        group="other",
        says="didn't match Pod's node affinity/selector",
        evidence=r"Pod head-waits-for-a-node-\S+ Pending Unschedulable",
    )
    yield Case(
        manifest=with_submitter("submitter-waits-for-a-node", pod={"nodeSelector": NO_NODE}),
        outcome="going on",
        cause="unschedulable",
        group="other",
        says="didn't match Pod's node affinity/selector",
        evidence=r"Pod submitter-waits-for-a-node-\S+ Pending Unschedulable",
    )
    yield Case(
        manifest=with_submitter("submitter-waits-for-an-image", image=ABSENT),
        outcome="going on",
        cause="image-pull",
        group="image-pull",
        says="nobody-made-this",
        evidence=r"Pod submitter-waits-for-an-image-\S+ Pending .*(ErrImagePull|ImagePullBackOff)",
    )


def _waiting_quietly() -> Iterator[Case]:
    """Yield jobs whose Pods are in no trouble by their status: Kubernetes Events say what is wrong.

    One mounts a ConfigMap, one runs a probe, one has an account that is not there.
    """
    mounted = {"volumeMounts": [{"name": "settings", "mountPath": "/settings"}]}
    absent = {"volumes": [{"name": "settings", "configMap": {"name": "no-such-settings"}}]}
    yield Case(
        manifest=ray_job("head-waits-for-a-volume", head=mounted, pod=absent),
        outcome="going on",
        cause="container-config",
        group="other",
        says='configmap "no-such-settings" not found',
        evidence=r"Kubernetes Event Pod/head-waits-for-a-volume-\S+ FailedMount",
    )
    yield Case(
        manifest=training("training-waits-for-its-probe", NO_PROBE, command=STEPS),
        outcome="going on",
        cause="not-ready",
        group="other",
        says="Readiness probe",
        evidence=r"Kubernetes Event Pod/training-waits-for-its-probe-\S+ Unhealthy",
    )
    yield Case(
        manifest=training("training-waits-for-its-account", NO_ACCOUNT),
        outcome="going on",
        cause="container-config",
        group="other",
        says='serviceaccount "nobody" not found',
        evidence=r"Kubernetes Event Job/training-waits-for-its-account-node-0 FailedCreate",
    )
