"""The steps of a life: what users, the Job controller, the kubelet and Ray do with a RayJob."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tests.lives.world import RAYCLUSTERS, SECRETS, Document, World
from tests.support.api import JOBS, PODS, RAYJOBS, SERVICES, eventually

STEP_SECONDS = 60.0
"""Limit of a step; a controller asks again after 3 s, and a busy machine takes its time."""
QUIET_SECONDS = 8.0
"""Nothing was written for so long: the life is over, or waits for somebody."""
QUIET_LIMIT_SECONDS = 90.0


DASHBOARD = {"dashboard": 8265}


class NotReached(Exception):
    """A step waited in vain for a controller."""


@dataclass(slots=True)
class Actor:
    """Plays one life in one world."""

    world: World
    name: str
    mode: str
    selected: str = ""
    """The RayCluster that the RayJob selects, which is nobody's."""
    _mark: int = 0
    """How far the statuses were looked at."""
    _ready: set[str] = field(default_factory=set)
    handed_in: set[str] = field(default_factory=set)
    """Submitters and submissions that a step has waited for."""
    cluster: str = ""
    submission: str = ""
    ended: set[str] = field(default_factory=set)
    """RayCluster and submission id of each submitter that has ended."""
    done: list[str] = field(default_factory=list)
    """What was drawn and could be done."""

    def statuses(self) -> list[Document]:
        """Return all statuses that a watch has told of the RayJob, in order."""
        told = self.world.history(RAYJOBS, self.name)
        return [document.get("status") or {} for _, document in told]

    def status(self) -> Document:
        """Return the last of them."""
        return (self.statuses() or [{}])[-1]

    def until(self, condition: Callable[[], Any], what: str, seconds: float = STEP_SECONDS) -> Any:  # noqa: ANN401 whatever the condition returns
        """Return what a condition says once it says anything."""
        found = self.world.wait(condition, seconds)
        if not found:
            raise NotReached(what)
        return found

    def patch(self, resource: str, name: str, patch: object, subresource: str = "") -> None:
        """Change an object."""
        reply = self.world.api.merge(resource, name, patch, subresource)
        assert reply.code == 200, (name, patch, reply.message)  # OK

    def look(self, wanted: Document) -> bool:
        """Tell whether a status since the last that was found has these values."""
        told = self.statuses()
        for index in range(min(self._mark, max(len(told) - 1, 0)), len(told)):
            if all((told[index].get(key) or "") == value for key, value in wanted.items()):
                self._mark = index
                return True
        return False

    def newest_cluster(self) -> str:
        """Return a RayCluster of the job that is not ready yet."""
        for made in self.world.made_for(RAYCLUSTERS, self.name):
            if not made["gone"] and made["metadata"]["uid"] not in self._ready:
                self._ready.add(made["metadata"]["uid"])
                return str(made["metadata"]["name"])
        return ""

    def newest_submitter(self) -> Document:
        """Return a submitter that has not been seen yet."""
        for made in self.world.made_for(JOBS, self.name):
            if not made["gone"] and made["metadata"]["uid"] not in self.handed_in:
                self.handed_in.add(made["metadata"]["uid"])
                return made
        return {}


Step = Callable[[Actor], None]


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def see(phase: str | None = None, seconds: float = STEP_SECONDS, **more: object) -> Step:
    """Wait until the status has a jobDeploymentStatus, and other values."""
    wanted = {**({} if phase is None else {"jobDeploymentStatus": phase}), **more}

    def step(actor: Actor) -> None:
        actor.until(lambda: actor.look(wanted), f"status {wanted}", seconds)

    return step


def begin_cluster(actor: Actor) -> None:
    """Wait for the RayCluster of the attempt; it is not ready."""
    actor.cluster = actor.until(actor.newest_cluster, "a RayCluster")


def make_ready(actor: Actor) -> None:
    """Start the head of the RayCluster of the attempt."""
    begin_head(actor.world, actor.cluster, sidecar=actor.mode == "SidecarMode")


def ready(actor: Actor) -> None:
    """Wait for the RayCluster of the attempt, and start its head."""
    if actor.selected:
        actor.cluster = actor.selected
        return
    begin_cluster(actor)
    make_ready(actor)


def _is_free(world: World, service: str, cluster_uid: str) -> bool:
    """Tell whether there is no Service of this name, or the RayCluster's own of an earlier head."""
    found = world.api.get(SERVICES, service)
    owners = found.body.get("metadata", {}).get("ownerReferences", ())
    return found.code == 404 or any(one["uid"] == cluster_uid for one in owners)  # Not Found


def begin_head(world: World, cluster: str, *, sidecar: bool = False) -> None:
    """Start the head of a RayCluster: its Service, its Pod, its status."""
    api = world.api
    document = api.get(RAYCLUSTERS, cluster).body
    owner = document["metadata"]
    owners = [
        {"apiVersion": "ray.io/v1", "kind": "RayCluster", "name": cluster, "uid": owner["uid"]}
        | {"controller": True}
    ]
    labels = {"ray.io/cluster": cluster, "ray.io/node-type": "head"}
    metadata = {"labels": labels, "ownerReferences": owners}
    own = document["spec"]["headGroupSpec"].get("headService", {}).get("metadata", {}).get("name")
    service = own or f"{cluster}-head-svc"
    if own:  # that of the attempt before goes first
        world.heads.named[own] = cluster
        eventually(lambda: _is_free(world, own, owner["uid"]), f"{own} is gone")
    named = {"metadata": {**metadata, "name": service}}
    api.create(SERVICES, {**named, "spec": {"ports": _ports(document)}})
    _share_token(world, document, metadata)
    names = ["ray-head", *(["ray-job-submitter"] if sidecar else [])]
    made = api.create(
        PODS,
        {
            "metadata": {**metadata, "name": f"{cluster}-head"},
            "spec": {"containers": [{"name": name, "image": "ray"} for name in names]},
        },
    )
    assert made.code in (201, 409), made.message  # Created, Conflict
    running = [container(name) for name in names]
    status = {"phase": "Running", "podIP": "10.1.1.1", "containerStatuses": running}
    api.merge(PODS, f"{cluster}-head", {"status": status}, "status")
    head = {"podIP": "10.1.1.1", "podName": f"{cluster}-head", "serviceName": service}
    reply = api.merge(RAYCLUSTERS, cluster, {"status": {"state": "ready", "head": head}}, "status")
    assert reply.code == 200, reply.message  # OK


def _share_token(world: World, document: Document, metadata: Document) -> None:
    """Make the Secret with the token of a RayCluster that asks for one; its head asks for it."""
    options, cluster = document["spec"].get("authOptions") or {}, document["metadata"]["name"]
    if options.get("mode") != "token" or options.get("enableK8sTokenAuth"):
        return
    token = world.heads.tokens[cluster] = f"of-{options.get('secretName') or cluster}"
    secret = {"metadata": {"name": token.removeprefix("of-")}, "stringData": {"auth_token": token}}
    if not options.get("secretName"):
        secret["metadata"] |= metadata
    world.api.create(SECRETS, secret)


def _ports(cluster: Document) -> list[Document]:
    """Return the ports of a head's Service: those of its container, or the dashboard's."""
    (ray, *_) = cluster["spec"]["headGroupSpec"]["template"]["spec"]["containers"]
    named = {port.get("name") or "unnamed": port["containerPort"] for port in ray.get("ports", ())}
    return [{"name": name, "port": port} for name, port in (named or DASHBOARD).items()]


def container(name: str, code: int | None = None) -> Document:
    state: Document = {"running": {"startedAt": now()}}
    if code is not None:
        reason = "Error" if code else "Completed"
        state = {"terminated": {"exitCode": code, "reason": reason, "finishedAt": now()}}
    more = {"image": "ray", "imageID": "ray", "ready": code is None, "restartCount": 0}
    return {"name": name, "state": state, **more}


def submitted(actor: Actor) -> None:
    """Wait until the Ray job is handed in, as its mode does it."""
    if actor.mode == "K8sJobMode":
        job = actor.until(actor.newest_submitter, "a submitter")
        (one, *_) = job["spec"]["template"]["spec"]["containers"]
        environment = {item["name"]: item.get("value", "") for item in one["env"]}
        actor.submission = environment["RAY_JOB_SUBMISSION_ID"]
    elif actor.mode == "HTTPMode":

        def posted() -> str:
            submission = str(actor.status().get("jobId") or "")
            made = actor.world.heads.submissions.count((actor.cluster, submission))
            key = f"{actor.cluster}/{submission}/{made}"
            if not made or key in actor.handed_in:
                return ""
            actor.handed_in.add(key)
            return submission

        actor.submission = actor.until(posted, "a submission")
    elif actor.mode == "SidecarMode":
        actor.submission = actor.until(lambda: actor.status().get("jobId"), "a jobId")
    else:
        actor.submission = "by-hand"


def ray(status: str, message: str = "") -> Step:
    """Have the head say that the Ray job has a status."""

    def step(actor: Actor) -> None:
        actor.world.heads.says(actor.cluster, actor.submission, status, message)

    return step


def pause(seconds: float) -> Step:
    """Let time pass, in which a controller may do what it should not."""

    def step(actor: Actor) -> None:
        actor.world.wait(lambda: False, seconds)

    return step


def submitter(ended: str) -> Step:
    """End the submitter, Complete or Failed."""

    def step(actor: Actor) -> None:
        if actor.mode == "SidecarMode":
            code = int(ended == "Failed")
            statuses = [container("ray-head"), container("ray-job-submitter", code)]
            pod = {"status": {"containerStatuses": statuses}}
            actor.patch(PODS, f"{actor.cluster}-head", pod, "status")
            looked = {"status": {"lastUpdateTime": now()}}  # without it upstream may hear too late
            actor.patch(RAYCLUSTERS, actor.cluster, looked, "status")
            return
        if actor.mode != "K8sJobMode":
            return
        first = "FailureTarget" if ended == "Failed" else "SuccessCriteriaMet"
        reason = "BackoffLimitExceeded" if ended == "Failed" else "CompletionsReached"
        message = "Job has reached the specified backoff limit" if ended == "Failed" else "done"
        conditions = [
            {"type": kind, "status": "True", "lastTransitionTime": now(), "lastProbeTime": now()}
            | {"reason": reason, "message": message}
            for kind in (first, ended)
        ]
        status: Document = {"startTime": now(), "conditions": conditions}
        status |= {"completionTime": now(), "succeeded": 1} if ended == "Complete" else {}
        actor.patch(JOBS, actor.name, {"status": status}, "status")

    return step


def edit(**spec: object) -> Step:
    """Change the specification; None takes a field away."""

    def step(actor: Actor) -> None:
        actor.patch(RAYJOBS, actor.name, {"spec": spec})

    return step


def delete(what: str) -> Step:
    """Delete the RayJob, its RayCluster, its submitter, the head's Pod or the Service."""

    def step(actor: Actor) -> None:
        resource, name = {
            "rayjob": (RAYJOBS, actor.name),
            "cluster": (RAYCLUSTERS, actor.cluster),
            "submitter": (JOBS, actor.name),
            "head": (PODS, f"{actor.cluster}-head"),
            "service": (SERVICES, f"{actor.name}-head-svc"),
        }[what]
        body = {"propagationPolicy": "Background"}
        reply = actor.world.api.delete(resource, name, body)
        assert reply.code in (200, 202), reply.message

    return step


def replace_head(actor: Actor) -> None:
    """Start the head anew: it has forgotten its Ray jobs."""
    delete("head")(actor)
    actor.world.heads.forget(actor.cluster)
    actor.until(lambda: actor.world.api.get(PODS, f"{actor.cluster}-head").code == 404, "no head")
    begin_head(actor.world, actor.cluster, sidecar=actor.mode == "SidecarMode")


def forget(actor: Actor) -> None:
    """Have the head forget its Ray jobs, though its Pod stays."""
    actor.world.heads.forget(actor.cluster)


def silence(actor: Actor) -> None:
    """Have the head answer nothing."""
    actor.world.heads.silent.add(actor.cluster)


def answer(actor: Actor) -> None:
    """Have the head answer again."""
    actor.world.heads.silent.discard(actor.cluster)


def refuse(actor: Actor) -> None:
    """Have the head take no Ray job."""
    actor.world.heads.refusing.add(actor.cluster)


def wake(actor: Actor) -> None:
    """Have somebody wake the workers of the RayCluster."""
    document = actor.world.api.get(RAYCLUSTERS, actor.cluster).body
    for group in document["spec"]["workerGroupSpecs"]:
        group["suspend"] = False
    reply = actor.world.api.put(RAYCLUSTERS, document)
    assert reply.code == 200, reply.message  # OK


def gone(actor: Actor) -> None:
    """Wait until the RayJob is gone."""

    def is_gone() -> bool:
        told = actor.world.history(RAYJOBS, actor.name)
        return bool(told) and told[-1][0] == "DELETED"

    actor.until(is_gone, "the RayJob is gone")


def hold(actor: Actor) -> None:
    """Have somebody's finalizer hold the RayCluster."""
    held = {"metadata": {"finalizers": ["example.com/held"]}}
    actor.patch(RAYCLUSTERS, actor.cluster, held)


def let_go(actor: Actor) -> None:
    """Take the finalizer away."""
    actor.patch(RAYCLUSTERS, actor.cluster, {"metadata": {"finalizers": None}})


def settle(actor: Actor) -> None:
    """Wait until nothing is written any more of what the life has."""

    def writes() -> int:
        heads = actor.world.heads
        return sum(
            1
            for kinds in list(actor.world.seen.values())
            for _, document in list(kinds)
            if document["metadata"]["name"].startswith(actor.name)
        ) + len([1 for cluster, _ in heads.submissions if cluster == actor.cluster])

    until = time.monotonic() + QUIET_LIMIT_SECONDS
    last, since = -1, time.monotonic()
    while time.monotonic() - since < QUIET_SECONDS and time.monotonic() < until:
        if (count := writes()) != last or actor.world.controller.is_away:
            last, since = count, time.monotonic()
        time.sleep(0.5)
