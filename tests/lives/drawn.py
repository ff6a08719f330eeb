"""Lives that are drawn: what happens, in any order, each once the one before has had its effect."""

import functools
import random
import time
from collections.abc import Callable
from typing import Any

from tests.lives import acting as a
from tests.lives.acting import Actor, Step
from tests.lives.comparing import followed
from tests.lives.heads import ENDED
from tests.lives.life import HTTP, INTERACTIVE, K8S, SIDECAR, Life
from tests.lives.world import RAYCLUSTERS
from tests.support.api import JOBS, RAYJOBS
from tests.upstream import rayjob_data
from tests.upstream.rayjob_cases import SMALL, case_of
from tests.upstream.rayjob_changes import CHANGES
from tests.upstream.rayjob_fields import TOKENS
from tests.upstream.rayjobs import between, ours, theirs

CALM_SECONDS = 5.0
"""Longer than upstream takes to look again."""
HEARD = 40.0
"""Limit until a controller goes on; upstream's pauses grow where something went wrong."""
KAI = "kai-scheduler"
"""Upstream places no RayJob of K8sJobMode by it."""
UNSHARED = ("backoffLimit", "deletionStrategy")
"""Fields that no job on a shared RayCluster may have."""
OTHERS = (HTTP, SIDECAR, INTERACTIVE)
SHARED: tuple[dict[str, Any], ...] = (
    {},
    {"authOptions": TOKENS},
    {"authOptions": {**TOKENS, "secretName": "own"}},
)
"""What RayClusters that are shared may ask for."""
SILENT_HEARD = 170.0
"""The same where no head answers: a dozen passes of upstream's have failed by then."""


FLOW = (
    *("name", "namespace", "no", "selector", "suspend", "managed", "unknown", "interactive"),
    *("deadline", "pre", "backoff", "ttl", "rules", "strategy", "old", "retried", "resumed"),
    *("nothing", "job", "escape", "auth-long", "auth-kubernetes", "labelled"),
    *("head-service-port-without-name", "head-service-two-ports", "head-service-headless-typed"),
    *("topology-tier-odd",),
)
"""Beginnings of changes that are acts here already, that ask for more than heads here, or that have
a line of the page of differences: a Service that is refused, a tier that is no number."""
RARE = ("auth", "head-service-name")
"""Beginnings of those that ask for something of heads, and are drawn more often than others."""


@functools.cache
def shapes(mode: str) -> list[str]:
    """Return changes of a manifest with which the same is made in a mode, before it is played."""
    prefix = [] if mode == K8S else [HTTP if mode == INTERACTIVE else mode]
    answers, found = rayjob_data.read(), []
    for name in CHANGES:
        case = case_of("small", SMALL, [*prefix, name], "")
        if name.startswith(FLOW) or case.id not in answers:
            continue
        answer = theirs(answers[case.id])
        if not answer.type and not answer.failed and not between(*followed(answer, ours(case))):
            found.append(name)
    return found


def phase(actor: Actor) -> str:
    return str(actor.status().get("jobDeploymentStatus") or "")


def there(actor: Actor, resource: str) -> list[dict[str, Any]]:
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
    if phase(actor) != "Running" or not submission:
        return False
    if actor.mode == K8S and not there(actor, JOBS):
        return False
    if actor.mode == HTTP and (cluster, submission) not in actor.world.heads.submissions:
        return False
    actor.submission, actor.cluster = submission, cluster
    return True


def _ray(status: str) -> Callable[[Actor], bool]:
    def act(actor: Actor) -> bool:
        if not _is_handed_in(actor):
            return False
        known = actor.world.heads.known.get((actor.cluster, actor.submission), {})
        if known.get("status") in ENDED:
            return False
        a.ray(status)(actor)
        is_asked = actor.cluster not in actor.world.heads.silent and not _is_elsewhere(actor)
        actor.world.wait(lambda: not is_asked or actor.status().get("jobStatus") == status, HEARD)
        return True

    return act


def _is_elsewhere(actor: Actor) -> bool:
    document = actor.world.history(RAYJOBS, actor.name)[-1][1]
    return bool(document["spec"].get("managedBy"))


def _goes_on(actor: Actor) -> bool:
    """Tell whether the controller is about to do something, whatever keeps it."""
    clusters = there(actor, RAYCLUSTERS)
    if _is_elsewhere(actor) or any(one["metadata"].get("finalizers") for one in clusters):
        return False
    now, spec = phase(actor), actor.world.history(RAYJOBS, actor.name)[-1][1]["spec"]
    waits = spec.get("shutdownAfterJobFinishes") and spec.get("ttlSecondsAfterFinished")
    if now in ("Complete", "Failed") and waits:
        return any(not one["metadata"].get("deletionTimestamp") for one in clusters)
    if now in ("Initializing", "Waiting") and spec.get("preRunningDeadlineSeconds"):
        return True
    if now == "Initializing" and spec.get("activeDeadlineSeconds"):
        return True
    return now in ("", "Retrying", "Suspending") or (now == "Initializing" and not clusters)


def _submitter(ended: str) -> Callable[[Actor], bool]:
    def act(actor: Actor) -> bool:
        if not _is_handed_in(actor) or actor.mode not in (K8S, SIDECAR):
            return False
        if (one := f"{actor.cluster}/{actor.submission}") in actor.ended:
            return False
        is_silent = actor.cluster in actor.world.heads.silent
        if is_silent and actor.status().get("jobStatus") in ENDED:
            return False  # an end that was told before counts here
        actor.ended.add(one)
        a.submitter(ended)(actor)
        if not _is_elsewhere(actor):  # both give the Ray job of one that ended well 30 s
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


def _delete_job(actor: Actor) -> bool:
    a.delete("rayjob")(actor)
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
    if not _is_handed_in(actor):
        return False
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
    "ray-stopped": (2, _ray("STOPPED")),
    "submitter-complete": (5, _submitter("Complete")),
    "submitter-failed": (5, _submitter("Failed")),
    "suspend": (5, _edit(suspend=True, shutdownAfterJobFinishes=True, deletionStrategy=None)),
    "resume": (5, _edit(suspend=False)),
    "delete-cluster": (3, _delete_cluster),
    "delete-job": (1, _delete_job),
    "silence": (2, _silence),
    "hold": (2, _hold),
    "delete-service": (1, _service),
    "backoff-2": (2, _edit(("Waiting",), backoffLimit=2)),
    "backoff-0": (1, _edit(backoffLimit=0)),
    "deadline": (1, _deadline),
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
    "elsewhere": (1, _edit(managedBy="kueue.x-k8s.io/multikueue")),
    "here": (3, _edit(managedBy=None)),
    "job-id": (3, _edit(jobId="by-hand")),
    "entrypoint": (2, _edit(entrypoint="python y.py")),
    "ray-version": (2, _edit(rayClusterSpec={"rayVersion": "2.53.0"})),
    "unready": (2, _unready),
}


def calm(actor: Actor) -> None:
    """Wait until nothing of the life has changed for a while."""
    last, since = -1, time.monotonic()
    until = since + 60.0
    actor.world.wait(lambda: not _goes_on(actor), HEARD)
    while time.monotonic() - since < CALM_SECONDS and time.monotonic() < until:
        count = sum(len(actor.world.made_for(kind, actor.name)) for kind in (RAYCLUSTERS, JOBS))
        count += len(actor.statuses())
        if count != last:
            last, since = count, time.monotonic()
        time.sleep(0.5)


def _step(name: str) -> Step:
    act = ACTS[name][1]

    def step(actor: Actor) -> None:
        if actor.world.history(RAYJOBS, actor.name)[-1][0] == "DELETED":
            return
        if act(actor):
            actor.done.append(name)
            calm(actor)

    return step


def _after_the_end(dice: random.Random) -> dict[str, Any]:
    """Return what becomes of the RayCluster once the job has ended."""
    policies = ("DeleteCluster", "DeleteWorkers", "DeleteSelf", "DeleteNone")
    spec: dict[str, Any] = {}
    if dice.random() < 0.5:
        spec["shutdownAfterJobFinishes"] = True
        if dice.random() < 0.3:
            spec["ttlSecondsAfterFinished"] = 3
    elif dice.random() < 0.3:
        spec["deletionStrategy"] = {
            key: {"policy": dice.choice(policies)} for key in ("onSuccess", "onFailure")
        }
    elif dice.random() < 0.4:
        when: list[dict[str, Any]] = [{"jobStatus": dice.choice(("SUCCEEDED", "FAILED"))}]
        when.append({"jobDeploymentStatus": dice.choice(("Complete", "Failed"))})
        rules = zip(dice.sample(policies, 2), when, strict=True)
        spec["deletionStrategy"] = {
            "deletionRules": [
                {"policy": policy, "condition": {**one, "ttlSeconds": dice.choice((0, 3))}}
                for policy, one in rules
            ]
        }
    return spec


def drawn(seed: int, scheduler: str = "") -> Life:
    """Return the life that a seed draws, with what a batch scheduler, if any, goes by."""
    dice = random.Random(seed)
    mode = dice.choice((*((HTTP, HTTP) if scheduler == KAI else (K8S, K8S)), *OTHERS))
    spec: dict[str, Any] = {}
    if mode != INTERACTIVE and dice.random() < 0.6:
        spec["backoffLimit"] = dice.choice((1, 2))
    spec |= _after_the_end(dice)
    if dice.random() < 0.2:
        spec["jobId"] = "by-hand"
    names = [name for name in ACTS if not (mode == INTERACTIVE and name.startswith("backoff-2"))]
    weights = [ACTS[name][0] for name in names]
    chosen = dice.choices(names, weights, k=dice.randint(8, 22))
    if dice.random() < 0.8:
        chosen = ["ready", *chosen]
    known = shapes(mode)
    if dice.random() < 0.8:  # a third of them are about runtimeEnvYAML
        known = [name for name in known if not name.startswith("env-")]
    changes = tuple(dice.sample(known, dice.choice((0, 1, 1, 2, 3))))
    if dice.random() < 0.3:
        changes += (dice.choice([name for name in known if name.startswith(RARE)]),)
    changes += ("labelled",) if scheduler and dice.random() < 0.8 else ()
    shared: dict[str, Any] = {}
    if mode != SIDECAR and scheduler in ("", KAI) and dice.random() < 0.15:
        spec |= {"clusterSelector": {"ray.io/cluster": f"d{seed}-shared"}, "rayClusterSpec": None}
        spec = {key: item for key, item in spec.items() if key not in UNSHARED}
        changes = ("labelled",) if scheduler else ()
        shared = dice.choice(SHARED)
    steps = (calm, *(_step(name) for name in chosen))
    return Life(f"d{seed}", mode, steps, spec, changes, shared)
