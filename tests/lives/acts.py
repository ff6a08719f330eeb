"""What may happen next in a life that is drawn; each act tells whether it was possible."""

from collections.abc import Callable

from tests.lives import acting as a
from tests.lives.acting import Actor
from tests.lives.heads import ENDED
from tests.lives.life import HTTP, K8S, SIDECAR, share
from tests.lives.world import RAYCLUSTERS, Document
from tests.support.api import JOBS, RAYJOBS

HEARD = 40.0
"""Limit until a controller goes on; upstream's pauses grow where something went wrong."""
UNSHARED = ("backoffLimit", "deletionStrategy")
"""Fields that no job on a shared RayCluster may have."""
SILENT_HEARD = 170.0
"""The same where no head answers: a dozen passes of upstream's have failed by then."""
HOLDER = "example.com/job"
"""Somebody's finalizer."""


def phase(actor: Actor) -> str:
    """Return what the status says last."""
    return str(actor.status().get("jobDeploymentStatus") or "")


def there(actor: Actor, resource: str) -> list[Document]:
    """Return what there is of the objects that were made for the RayJob."""
    return [one for one in actor.world.made_for(resource, actor.name) if not one["gone"]]


def _start_head(actor: Actor) -> bool:
    for made in there(actor, RAYCLUSTERS):
        name = made["metadata"]["name"]
        if (made.get("status") or {}).get("state") != "ready" and not made["metadata"].get(
            "deletionTimestamp"
        ):
            actor.cluster = name
            a.make_ready(actor)
            return True
    return False


def _is_handed_in(actor: Actor) -> bool:
    """Tell whether somebody has handed the Ray job of the attempt in."""
    status = actor.status()
    submission, cluster = str(status.get("jobId") or ""), str(status.get("rayClusterName") or "")
    if phase(actor) != "Running" or not submission or is_leaving(newest(actor)):
        return False
    if actor.mode == K8S and not there(actor, JOBS):
        return False
    if actor.mode == HTTP and (cluster, submission) not in actor.world.heads.submissions:
        return False
    actor.submission, actor.cluster = submission, cluster
    return True


def _ray(status: str, message: str = "") -> Callable[[Actor], bool]:
    def act(actor: Actor) -> bool:
        if not _is_handed_in(actor):
            return False
        known = actor.world.heads.known.get((actor.cluster, actor.submission), {})
        if known.get("status") in ENDED:
            return False
        a.ray(status, message)(actor)
        is_asked = actor.cluster not in actor.world.heads.silent and not is_left_alone(actor)
        limit = SILENT_HEARD  # upstream's pauses grow while the head does not know the Ray job
        actor.world.wait(lambda: not is_asked or actor.status().get("jobStatus") == status, limit)
        return True

    return act


def is_left_alone(actor: Actor) -> bool:
    """Tell whether the job is another controller's, or is being deleted."""
    document = newest(actor)
    return bool(document["spec"].get("managedBy") or is_leaving(document))


def newest(actor: Actor) -> Document:
    """Return the RayJob as a watch has told of it last."""
    return actor.world.history(RAYJOBS, actor.name)[-1][1]


def is_leaving(document: Document) -> bool:
    """Tell whether it is being deleted, which a finalizer keeps waiting."""
    return "deletionTimestamp" in document["metadata"]


def _submitter(ended: str) -> Callable[[Actor], bool]:
    def act(actor: Actor) -> bool:
        if not _is_handed_in(actor) or actor.mode not in (K8S, SIDECAR):
            return False
        if is_left_alone(actor):
            return False  # both give its Ray job 30 s, from when it ended or from when that is seen
        if (one := f"{actor.cluster}/{actor.submission}") in actor.ended:
            return False
        is_silent = actor.cluster in actor.world.heads.silent
        if is_silent and actor.status().get("jobStatus") in ENDED:
            return False  # an end that was told before counts here
        actor.ended.add(one)
        a.submitter(ended)(actor)
        limit = SILENT_HEARD if is_silent else HEARD
        actor.world.wait(lambda: phase(actor) != "Running", limit)
        return True

    return act


def _edit(but: tuple[str, ...] = (), **spec: object) -> Callable[[Actor], bool]:
    def act(actor: Actor) -> bool:
        here = phase(actor)
        asks = any(spec.get(name) for name in ("suspend", *UNSHARED))
        if here in (*but, "ValidationFailed") or (actor.selected and "rayClusterSpec" in spec):
            return False
        own = newest(actor)["spec"].get("rayClusterSpec", {})
        if spec.get("deletionStrategy") and own.get("enableInTreeAutoscaling"):
            return False  # neither suspends workers then; the end is final here
        if here in ("Complete", "Failed") and actor.selected and asks:
            return False  # it would be invalid, and the end is final here
        a.edit(**spec)(actor)
        return True

    return act


def _deadline(actor: Actor) -> bool:
    """Set a deadline that passes at once, unless the Ray job has ended: its end counts here."""
    status = actor.status().get("jobStatus")
    is_over = phase(actor) == "Running" and status in ENDED
    return not is_over and _edit(("Waiting",), activeDeadlineSeconds=4)(actor)


def _delete_cluster(actor: Actor) -> bool:
    if phase(actor) in ("Running", "Waiting") or not there(actor, RAYCLUSTERS):
        return False
    actor.cluster = there(actor, RAYCLUSTERS)[0]["metadata"]["name"]
    a.delete("cluster")(actor)
    return True


def _delete_job(how: str) -> Callable[[Actor], bool]:
    def act(actor: Actor) -> bool:
        if is_leaving(newest(actor)):
            return False
        reply = actor.world.api.delete(RAYJOBS, actor.name, {"propagationPolicy": how})
        return reply.code in (200, 202)  # OK, Accepted

    return act


def _again(actor: Actor) -> bool:
    """Create the RayJob anew, once it is gone."""
    told = actor.world.history(RAYJOBS, actor.name)
    if told[-1][0] != "DELETED":
        return False
    first = told[0][1]
    named = {key: first["metadata"].get(key) for key in ("name", "labels", "annotations")}
    reply = actor.world.api.create(RAYJOBS, {**first, "metadata": named, "status": None})
    assert reply.code == 201, reply.message  # Created
    actor.mode = first["spec"].get("submissionMode", K8S)
    actor.selected = (first["spec"].get("clusterSelector") or {}).get("ray.io/cluster", "")
    actor.until(lambda: not is_leaving(newest(actor)), "the RayJob is seen")
    return True


def _label(actor: Actor) -> bool:
    """Change labels and annotations: the next RayCluster has them."""
    told = {"labels": {"a": f"b{len(actor.done)}"}, "annotations": {"c": f"d{len(actor.done)}"}}
    actor.patch(RAYJOBS, actor.name, {"metadata": told})
    return True


def _hold_job(actor: Actor) -> bool:
    """Have somebody's finalizer hold the RayJob, or let it go."""
    names = newest(actor)["metadata"].get("finalizers", [])
    others = [name for name in names if name != HOLDER]
    if others == names and is_leaving(newest(actor)):
        return False
    kept = [*names, HOLDER] if others == names else others
    actor.patch(RAYJOBS, actor.name, {"metadata": {"finalizers": kept}})
    return True


def _hold_submitter(actor: Actor) -> bool:
    """The same with the submitter."""
    for made in there(actor, JOBS):
        held = None if made["metadata"].get("finalizers") else [HOLDER]
        actor.patch(JOBS, actor.name, {"metadata": {"finalizers": held}})
        return True
    return False


def _delete_submitter(actor: Actor) -> bool:
    if phase(actor) not in ("Complete", "Failed") or not there(actor, JOBS):
        return False
    a.delete("submitter")(actor)
    return True


def _cluster_fails(actor: Actor) -> bool:
    for made in there(actor, RAYCLUSTERS):
        if (made.get("status") or {}).get("state") != "ready":
            status = {"status": {"state": "failed", "reason": "no room for its Pods"}}
            return (
                actor.world.api.merge(RAYCLUSTERS, made["metadata"]["name"], status, "status").code
                == 200
            )  # OK
    return False


def _mode(actor: Actor) -> bool:
    """Have the next attempt handed in otherwise."""
    if phase(actor) != "Suspended":
        return False
    actor.mode = HTTP if actor.mode != HTTP else K8S
    a.edit(submissionMode=actor.mode)(actor)
    return True


def _select(actor: Actor) -> bool:
    """Go on on a shared RayCluster."""
    if phase(actor) != "Suspended" or actor.mode == SIDECAR:
        return False
    if not actor.selected:
        actor.selected = f"{actor.name}-shared"
        share(actor.world, actor.selected, {})
    a.edit(
        suspend=False,
        clusterSelector={"ray.io/cluster": actor.selected},
        **dict.fromkeys(UNSHARED),
    )(actor)
    return True


def _silence(actor: Actor) -> bool:
    if not _is_handed_in(actor):
        return False
    (a.answer if actor.cluster in actor.world.heads.silent else a.silence)(actor)
    return True


def _hold(actor: Actor) -> bool:
    for made in there(actor, RAYCLUSTERS):
        actor.cluster = made["metadata"]["name"]
        (a.let_go if made["metadata"].get("finalizers") else a.hold)(actor)
        return True
    return False


def _unready(actor: Actor) -> bool:
    """Have the RayCluster say that it is not ready any more; the head answers nevertheless."""
    if not _is_handed_in(actor) or actor.cluster in actor.world.heads.silent:
        return False  # upstream tells of it with the head's next answer
    status = {"state": "suspended", "reason": "somebody has suspended it"}
    reply = actor.world.api.merge(RAYCLUSTERS, actor.cluster, {"status": status}, "status")
    return reply.code == 200  # OK


def _service(actor: Actor) -> bool:
    if phase(actor) == "Running":
        return False
    name = f"{actor.name}-head-svc"
    return actor.world.api.delete("v1/services", name).code == 200  # OK


ACTS: dict[str, tuple[int, Callable[[Actor], bool]]] = {
    "ready": (10, _start_head),
    "ray-pending": (2, _ray("PENDING")),
    "ray-running": (7, _ray("RUNNING")),
    "ray-succeeded": (5, _ray("SUCCEEDED")),
    "ray-failed": (6, _ray("FAILED")),
    "ray-failed-in-lines": (1, _ray("FAILED", "Traceback:\n\tat x\u00e9 \u4e2d\n")),
    "ray-stopped": (2, _ray("STOPPED")),
    "submitter-complete": (5, _submitter("Complete")),
    "submitter-failed": (5, _submitter("Failed")),
    "suspend": (5, _edit(suspend=True, shutdownAfterJobFinishes=True, deletionStrategy=None)),
    "resume": (5, _edit(suspend=False)),
    "delete-cluster": (3, _delete_cluster),
    "delete-job": (1, _delete_job("Background")),
    "delete-job-foreground": (1, _delete_job("Foreground")),
    "again": (9, _again),
    "label": (2, _label),
    "hold-job": (1, _hold_job),
    "hold-submitter": (1, _hold_submitter),
    "delete-submitter": (1, _delete_submitter),
    "cluster-fails": (1, _cluster_fails),
    "mode": (3, _mode),
    "select": (2, _select),
    "silence": (2, _silence),
    "hold": (2, _hold),
    "delete-service": (1, _service),
    "backoff-2": (2, _edit(("Waiting",), backoffLimit=2)),
    "backoff-0": (1, _edit(backoffLimit=0)),
    "deadline": (1, _deadline),
    "late-deadline": (1, _edit(activeDeadlineSeconds=900)),
    "no-deadline": (1, _edit(activeDeadlineSeconds=None)),
    "pre-running": (1, _edit(preRunningDeadlineSeconds=4)),
    "no-pre-running": (1, _edit(preRunningDeadlineSeconds=None)),
    "shutdown": (2, _edit(shutdownAfterJobFinishes=True, deletionStrategy=None)),
    "no-shutdown": (
        1,
        _edit(
            ("Suspended", "Suspending"),
            shutdownAfterJobFinishes=False,
            ttlSecondsAfterFinished=0,
            suspend=False,
        ),
    ),
    "strategy-workers": (
        1,
        _edit(
            suspend=False,
            shutdownAfterJobFinishes=False,
            ttlSecondsAfterFinished=0,
            deletionStrategy={
                "deletionRules": None,
                "onSuccess": {"policy": "DeleteWorkers"},
                "onFailure": {"policy": "DeleteCluster"},
            },
        ),
    ),
    "strategy-rules": (
        1,
        _edit(
            suspend=False,
            shutdownAfterJobFinishes=False,
            ttlSecondsAfterFinished=0,
            deletionStrategy={
                "onSuccess": None,
                "onFailure": None,
                "deletionRules": [
                    {"policy": "DeleteWorkers", "condition": {"jobStatus": "SUCCEEDED"}},
                    {"policy": "DeleteCluster", "condition": {"jobDeploymentStatus": "Failed"}},
                    {"policy": "DeleteSelf", "condition": {"jobStatus": "FAILED"}},
                ],
            },
        ),
    ),
    "strategy-stages": (
        1,
        _edit(
            suspend=False,
            shutdownAfterJobFinishes=False,
            ttlSecondsAfterFinished=0,
            deletionStrategy={
                "onSuccess": None,
                "onFailure": None,
                "deletionRules": [
                    {"policy": policy, "condition": {"jobStatus": status, "ttlSeconds": seconds}}
                    for status in ("SUCCEEDED", "FAILED")
                    for policy, seconds in (
                        ("DeleteWorkers", 0),
                        ("DeleteCluster", 2),
                        ("DeleteSelf", 4),
                    )
                ],
            },
        ),
    ),
    "ttl": (
        1,
        _edit(deletionStrategy=None, shutdownAfterJobFinishes=True, ttlSecondsAfterFinished=2),
    ),
    "long-ttl": (
        1,
        _edit(deletionStrategy=None, shutdownAfterJobFinishes=True, ttlSecondsAfterFinished=900),
    ),
    "elsewhere": (1, _edit(managedBy="kueue.x-k8s.io/multikueue")),
    "here": (3, _edit(managedBy=None)),
    "job-id": (3, _edit(jobId="by-hand")),
    "no-job-id": (1, _edit(jobId=None)),
    "entrypoint": (2, _edit(entrypoint="python y.py")),
    "submission": (
        2,
        _edit(
            entrypointNumCpus=2,
            entrypointNumGpus=0.5,
            entrypointResources='{"a": 1}',
            runtimeEnvYAML="env_vars:\n  A: b\n",
            metadata={"k": "v"},
        ),
    ),
    "resume-otherwise": (
        2,
        _edit(suspend=False, entrypoint="python z.py", activeDeadlineSeconds=800),
    ),
    "no-workers": (1, _edit(rayClusterSpec={"workerGroupSpecs": []})),
    "ray-version": (2, _edit(rayClusterSpec={"rayVersion": "2.53.0"})),
    "unready": (2, _unready),
}
