"""Lives that are drawn: what happens, in any order, each once the one before has had its effect."""

import functools
import random
import time
from typing import Any

from tests.lives.acting import Actor, Step
from tests.lives.acts import ACTS, HEARD, UNSHARED, is_left_alone, newest, phase, there
from tests.lives.comparing import followed
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
KAI = "kai-scheduler"
"""Upstream places no RayJob of K8sJobMode by it."""
OTHERS = (HTTP, SIDECAR, INTERACTIVE)
SHARED: tuple[dict[str, Any], ...] = (
    {},
    {"authOptions": TOKENS},
    {"authOptions": {**TOKENS, "secretName": "own"}},
)
"""What RayClusters that are shared may ask for."""


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


def _goes_on(actor: Actor) -> bool:
    """Tell whether the controller is about to do something, whatever keeps it."""
    clusters = there(actor, RAYCLUSTERS)
    held = any(one["metadata"].get("finalizers") for one in (*clusters, *there(actor, JOBS)))
    if is_left_alone(actor) or held:
        return False
    now, spec = phase(actor), newest(actor)["spec"]
    waits = (
        spec.get("shutdownAfterJobFinishes") and 0 < spec.get("ttlSecondsAfterFinished", 0) < HEARD
    )
    if now in ("Complete", "Failed") and waits:
        return any(not one["metadata"].get("deletionTimestamp") for one in clusters)
    if now in ("Initializing", "Waiting") and spec.get("preRunningDeadlineSeconds"):
        return True
    if now == "Initializing" and spec.get("activeDeadlineSeconds", HEARD) < HEARD:
        return True
    return now in ("", "Retrying", "Suspending") or (now == "Initializing" and not clusters)


def calm(actor: Actor) -> None:
    """Wait until nothing of the life has changed for a while, and nothing is about to."""
    begun = since = time.monotonic()
    last = -1
    while time.monotonic() - since < CALM_SECONDS and time.monotonic() - begun < HEARD + 60.0:
        count = sum(len(actor.world.made_for(kind, actor.name)) for kind in (RAYCLUSTERS, JOBS))
        count += len(actor.statuses())
        if (
            actor.world.controller.is_away
            or count != last
            or (_goes_on(actor) and time.monotonic() - begun < HEARD)
        ):
            last, since = count, time.monotonic()
        time.sleep(0.5)


def _step(name: str) -> Step:
    act = ACTS[name][1]

    def step(actor: Actor) -> None:
        is_gone = actor.world.history(RAYJOBS, actor.name)[-1][0] == "DELETED"
        if is_gone is not (name == "again"):
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
    if scheduler:  # what it cannot place otherwise
        names = [name for name in names if name not in ("mode", "select")]
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
    if changes:  # which are of one mode
        chosen = [name for name in chosen if name != "mode"]
    steps = (calm, *(_step(name) for name in chosen))
    return Life(f"d{seed}", mode, steps, spec, changes, shared)
