"""The lives that are always played, by what they are about."""

from typing import Any

from tests.lives import acting as a
from tests.lives.acting import (
    Step,
    begin_cluster,
    delete,
    edit,
    make_ready,
    pause,
    ray,
    ready,
    see,
    submitted,
    submitter,
)
from tests.lives.life import HTTP, INTERACTIVE, K8S, SIDECAR, Life
from tests.upstream.rayjob_fields import TOKENS

LATE = 110.0
"""Limit of what takes half a minute by itself."""

SECOND = pause(1.2)
"""So that the next startTime is another."""

RUNS = (ready, submitted, SECOND, ray("RUNNING"), see("Running", jobStatus="RUNNING"))
SUCCEEDS = (ray("SUCCEEDED"), submitter("Complete"), see("Complete"))
DONE = (*RUNS, *SUCCEEDS)
SUSPENDED = (edit(suspend=True), see("Suspended"), SECOND)
DOWN = {"shutdownAfterJobFinishes": True}
ONCE_MORE = {"backoffLimit": 1}
SHARED = {"clusterSelector": {"ray.io/cluster": "shared"}, "rayClusterSpec": None}
MODES = (K8S, HTTP, SIDECAR)


def _fails(phase: str = "Failed") -> tuple[Step, ...]:
    return (ray("FAILED"), see(jobStatus="FAILED"), submitter("Failed"), see(phase))


def _legacy(success: str, failure: str) -> dict[str, Any]:
    return {
        "deletionStrategy": {"onSuccess": {"policy": success}, "onFailure": {"policy": failure}}
    }


def _rules(*rules: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    return {
        "deletionStrategy": {
            "deletionRules": [
                {"policy": policy, "condition": condition} for policy, condition in rules
            ]
        }
    }


def _ends(m: str, mode: str) -> list[Life]:
    """Return how a Ray job may end, and what follows."""
    again = (*RUNS, *_fails("Retrying"))
    return [
        Life(f"{m}-success", mode, DONE),
        Life(f"{m}-failure", mode, (*RUNS, *_fails())),
        Life(f"{m}-stopped", mode, (*RUNS, ray("STOPPED"), submitter("Complete"), see("Complete"))),
        Life(f"{m}-retried", mode, (*again, *DONE), ONCE_MORE),
        Life(f"{m}-retried-in-vain", mode, (*again, *RUNS, *_fails()), {**ONCE_MORE, **DOWN}),
        Life(f"{m}-shutdown", mode, DONE, DOWN),
        Life(f"{m}-ttl", mode, (*DONE, pause(8)), {**DOWN, "ttlSecondsAfterFinished": 5}),
        Life(f"{m}-job-id", mode, DONE, {"jobId": f"mine-{m}"}),
        Life(f"{m}-silent", mode, (*RUNS, a.silence, pause(10), a.answer, *SUCCEEDS)),
        Life(f"{m}-head-gone", mode, (*RUNS, delete("head"), pause(10)), differs=_head_gone(mode)),
        Life(f"{m}-no-submission", mode, (ready, see("Running"), pause(8))),
        Life(f"{m}-no-entrypoint", mode, DONE, {"entrypoint": ""}),
    ]


def _head_gone(mode: str) -> str:
    return "" if mode == SIDECAR else "life-head-gone"


def _deadlines(m: str, mode: str) -> list[Life]:
    """Return how deadlines pass."""
    too_late = (begin_cluster, see("Retrying"), begin_cluster, see("Failed"))
    return [
        Life(f"{m}-deadline", mode, (*RUNS, see("Failed")), {"activeDeadlineSeconds": 25}),
        Life(
            f"{m}-deadline-initializing",
            mode,
            (begin_cluster, see("Failed")),
            {"activeDeadlineSeconds": 5, **DOWN, **ONCE_MORE},
        ),
        Life(f"{m}-prerunning", mode, too_late, {"preRunningDeadlineSeconds": 5, **ONCE_MORE}),
        Life(f"{m}-deadline-added", mode, (*RUNS, edit(activeDeadlineSeconds=1), see("Failed"))),
    ]


def _suspensions(m: str, mode: str) -> list[Life]:
    """Return suspension and resumption in each phase."""
    resumed = (edit(suspend=False), *DONE)
    held = (*RUNS, a.hold, edit(suspend=True), see("Suspending"))
    early = (begin_cluster, *SUSPENDED, *resumed)
    retrying = (*RUNS, a.hold, *_fails("Retrying"), edit(suspend=True), pause(4), a.let_go)
    invalid = (*RUNS, edit(suspend=True), see("ValidationFailed"))
    back = (*held, edit(suspend=False), pause(4), a.let_go, see("Suspended"), *DONE)
    fails = (*RUNS, *_fails("Retrying"), *RUNS, *SUSPENDED, edit(suspend=False), *RUNS, *_fails())
    both = {**DOWN, **ONCE_MORE}
    return [
        Life(f"{m}-suspend-running", mode, (*RUNS, *SUSPENDED, pause(5), *resumed), DOWN),
        Life(f"{m}-suspend-initializing", mode, early, DOWN),
        Life(f"{m}-suspend-retrying", mode, (*retrying, see("Suspended"), SECOND, *resumed), both),
        Life(f"{m}-suspend-complete", mode, (*DONE, edit(suspend=True)), DOWN),
        Life(f"{m}-suspend-without-shutdown", mode, invalid),
        Life(f"{m}-suspend-taken-back", mode, back, DOWN),
        Life(f"{m}-suspend-and-fail", mode, fails, both),
        Life(
            f"{m}-created-suspended",
            mode,
            (see("Suspended"), pause(4), *resumed),
            {**DOWN, "suspend": True},
        ),
    ]


def _deletions(m: str, mode: str) -> list[Life]:
    """Return what users delete, and when."""
    lost = "life-cluster-gone"
    held = (*RUNS, a.hold, *_fails("Retrying"), pause(5), delete("rayjob"), a.gone, a.let_go)
    return [
        Life(
            f"{m}-deleted-initializing",
            mode,
            (begin_cluster, see("Initializing"), delete("rayjob"), a.gone),
        ),
        Life(f"{m}-deleted-running", mode, (*RUNS, delete("rayjob"), a.gone)),
        Life(f"{m}-deleted-complete", mode, (*DONE, delete("rayjob"), a.gone)),
        Life(f"{m}-deleted-retrying", mode, held, ONCE_MORE),
        Life(f"{m}-deleted-suspended", mode, (*RUNS, *SUSPENDED, delete("rayjob"), a.gone), DOWN),
        Life(f"{m}-cluster-gone-early", mode, (begin_cluster, delete("cluster"), *DONE)),
        Life(f"{m}-cluster-gone", mode, (*RUNS, delete("cluster"), pause(10)), differs=lost),
        Life(f"{m}-cluster-gone-late", mode, (*DONE, delete("cluster"), pause(4))),
    ]


def _policies(m: str, mode: str) -> list[Life]:
    """Return what deletionStrategy brings."""
    succeeded, failed = {"jobStatus": "SUCCEEDED"}, {"jobDeploymentStatus": "Failed"}
    late = (begin_cluster, see("Failed"), pause(8))
    two = _rules(("DeleteWorkers", succeeded), ("DeleteCluster", {**succeeded, "ttlSeconds": 6}))
    one = _rules(("DeleteCluster", {**failed, "ttlSeconds": 3}))
    bounded = {"activeDeadlineSeconds": 5}
    return [
        Life(f"{m}-success-cluster", mode, DONE, _legacy("DeleteCluster", "DeleteNone")),
        Life(
            f"{m}-failure-workers", mode, (*RUNS, *_fails()), _legacy("DeleteNone", "DeleteWorkers")
        ),
        Life(f"{m}-success-self", mode, (*DONE, a.gone), _legacy("DeleteSelf", "DeleteNone")),
        Life(f"{m}-rules", mode, (*DONE, pause(12)), two),
        Life(
            f"{m}-rules-workers-woken",
            mode,
            (*DONE, pause(4), a.wake, pause(8)),
            _rules(("DeleteWorkers", succeeded)),
            differs="life-workers-woken",
        ),
        Life(f"{m}-rules-failed", mode, late, {**bounded, **one}),
        Life(
            f"{m}-nothing-covers",
            mode,
            late,
            {**bounded, **_legacy("DeleteCluster", "DeleteCluster")},
        ),
    ]


def _submitters(m: str, mode: str) -> list[Life]:
    """Return how a submitter may end before, with and after its Ray job."""
    begun = (ready, submitted, see("Running"))
    pending = (ready, submitted, ray("PENDING"), see(jobStatus="PENDING"))
    ended = (*RUNS, ray("SUCCEEDED"), see(jobStatus="SUCCEEDED"))
    early = (*RUNS, submitter("Complete"))
    again = (*begun, SECOND, submitter("Failed"), see("Retrying"), *DONE)
    stopped = (*RUNS, ray("STOPPED"), see(jobStatus="STOPPED"), see("Complete", LATE))
    failed = (*RUNS, ray("FAILED"), see(jobStatus="FAILED"), see("Failed", LATE))
    silent = (a.silence, submitter("Complete"), pause(40))
    said = (*RUNS, ray("FAILED"), see(jobStatus="FAILED"), *silent)
    counts = "life-silent-after-the-end"
    return [
        Life(f"{m}-submission-fails", mode, (*begun, submitter("Failed"), see("Failed"))),
        Life(f"{m}-submission-retried", mode, again, ONCE_MORE),
        Life(f"{m}-submitter-fails", mode, (*RUNS, submitter("Failed"), see("Failed"))),
        Life(f"{m}-submitter-fails-late", mode, (*ended, submitter("Failed"), see("Failed"))),
        Life(f"{m}-submitter-fails-pending", mode, (*pending, submitter("Failed"), see("Failed"))),
        Life(f"{m}-submitter-alone", mode, (*begun, submitter("Complete"), see("Failed"))),
        Life(f"{m}-submitter-early", mode, (*early, see("Failed", LATE))),
        Life(f"{m}-submitter-in-time", mode, (*early, pause(8), ray("SUCCEEDED"), see("Complete"))),
        Life(f"{m}-silent-after-failure", mode, said, differs=counts),
        Life(f"{m}-silent-after-success", mode, (*ended, *silent), differs=counts),
        Life(f"{m}-grace", mode, (*ended, see("Complete", LATE))),
        Life(f"{m}-grace-failed", mode, failed),
        Life(f"{m}-grace-stopped", mode, stopped, DOWN),
    ]


def _edits() -> list[Life]:
    """Return edits in mid-life; modes do not matter for them."""
    elsewhere = edit(managedBy="kueue.x-k8s.io/multikueue")
    started = (elsewhere, pause(5), make_ready, pause(5), edit(managedBy=None))
    ended = (elsewhere, pause(5), ray("SUCCEEDED"), submitter("Complete"), pause(5), started[-1])
    away = (*RUNS, elsewhere, pause(5), ray("SUCCEEDED"), pause(6), edit(managedBy=None))
    rules = _rules(("DeleteCluster", {"jobStatus": "SUCCEEDED"}))
    bad = {"ttlSecondsAfterFinished": 5}
    again = (*RUNS, edit(backoffLimit=1), *_fails("Retrying"), *DONE)
    return [
        Life("edit-backoff-raised", HTTP, again),
        Life("edit-backoff-lowered", HTTP, (*RUNS, edit(backoffLimit=0), *_fails()), ONCE_MORE),
        Life("edit-backoff-late", HTTP, (*RUNS, *_fails(), edit(backoffLimit=3), pause(6))),
        Life("edit-shutdown-late", HTTP, (*DONE, edit(**DOWN), pause(6))),
        Life("edit-strategy-late", HTTP, (*DONE, edit(**rules), pause(6))),
        Life("edit-elsewhere", HTTP, (*away, see("Complete"))),
        Life("edit-elsewhere-initializing", HTTP, (begin_cluster, *started, see("Running"))),
        Life("edit-elsewhere-submitter", K8S, (*RUNS, *ended, see("Complete"))),
        Life("elsewhere", HTTP, (pause(5),), {"managedBy": "kueue.x-k8s.io/multikueue"}),
        Life("kuberays", HTTP, DONE, {"managedBy": "ray.io/kuberay-operator"}),
        Life("bad-ttl", HTTP, (see("ValidationFailed"),), bad),
        Life("bad-deadline", HTTP, (see("ValidationFailed"),), {"activeDeadlineSeconds": 0}),
        Life(
            "bad-then-good",
            HTTP,
            (see("ValidationFailed"), edit(**DOWN), pause(8)),
            bad,
            differs="life-invalid-is-a-pause",
        ),
        Life("bad-after-the-end", HTTP, (*DONE, edit(**bad), pause(5)), differs="life-final"),
        Life(
            "bad-environment",
            HTTP,
            (see("ValidationFailed"),),
            {"runtimeEnvYAML": "a: ["},
            differs="rayjob-runtime-env-hidden",
        ),
    ]


def _others() -> list[Life]:
    """Return lives on a shared RayCluster, and what only one mode has."""
    missing = {"clusterSelector": {"ray.io/cluster": "nowhere"}, "rayClusterSpec": None}
    waiting = (ready, see("Waiting"))
    named = (*waiting, edit(jobId="by-hand"), submitted, ray("RUNNING"), see(jobStatus="RUNNING"))
    invalid = (see("ValidationFailed"),)
    shut = edit(suspend=True, **DOWN)
    suspended = (*waiting, edit(suspend=True), pause(6), edit(jobId="by-hand"), see("Suspended"))
    refused = (begin_cluster, a.refuse, make_ready, see("Running"), pause(8))
    submitter_gone = (*RUNS, delete("submitter"), pause(4), ray("SUCCEEDED"), pause(8))
    alone = (*waiting, delete("cluster"), pause(8))
    deleted = (*waiting, delete("rayjob"), a.gone)
    unknown = (*waiting, edit(jobId="nobody"), see("Running"), pause(8))
    return [
        Life("k8s-submitter-gone", K8S, submitter_gone, differs="life-submitter-gone"),
        Life(
            "k8s-service-refused",
            K8S,
            (*RUNS, ray("SUCCEEDED"), submitter("Complete"), pause(10)),
            changes=("head-service-port-without-name",),
            differs="life-service-refused",
        ),
        Life("k8s-head-anew", K8S, (*RUNS, a.replace_head, pause(10)), differs="life-head-gone"),
        Life("http-head-anew", HTTP, (*RUNS, a.replace_head, pause(10)), differs="life-head-gone"),
        Life("http-forgets", HTTP, (*RUNS, a.forget, pause(10)), differs="life-head-forgets"),
        Life("http-refused", HTTP, refused),
        Life("k8s-shared", K8S, DONE, SHARED),
        Life("k8s-shared-failure", K8S, (*RUNS, *_fails()), SHARED),
        Life("k8s-shared-deleted", K8S, (*RUNS, delete("rayjob"), a.gone), SHARED),
        Life("k8s-shared-backoff", K8S, invalid, {**SHARED, **ONCE_MORE}),
        Life(
            "k8s-shared-by-kubernetes",
            K8S,
            (ready, submitted, see("Running"), pause(8)),
            {**SHARED, "clusterSelector": {"ray.io/cluster": "k8s-shared-by-kubernetes-own"}},
            shared={"authOptions": {**TOKENS, "enableK8sTokenAuth": True}},
        ),
        Life("http-shared", HTTP, DONE, {**SHARED, **DOWN}),
        Life("http-shared-suspend", HTTP, (*RUNS, shut, *invalid), SHARED),
        Life("http-shared-missing", HTTP, (pause(8),), missing),
        Life("interactive", INTERACTIVE, (*named, *SUCCEEDS)),
        Life("interactive-failure", INTERACTIVE, (*named, *_fails()), DOWN),
        Life("interactive-id-at-once", INTERACTIVE, DONE, {"jobId": "by-hand"}),
        Life("interactive-backoff", INTERACTIVE, invalid, ONCE_MORE),
        Life("interactive-waiting", INTERACTIVE, (*waiting, pause(4))),
        Life("interactive-suspend", INTERACTIVE, suspended, DOWN),
        Life(
            "interactive-prerunning",
            INTERACTIVE,
            (*waiting, see("Failed")),
            {"preRunningDeadlineSeconds": 12},
        ),
        Life("interactive-cluster-gone", INTERACTIVE, alone, differs="life-cluster-gone"),
        Life("interactive-deleted", INTERACTIVE, deleted),
        Life("interactive-unknown-id", INTERACTIVE, unknown),
        Life("unknown-mode", "OtherMode", (ready, see("Running"), pause(5))),
    ]


def _all() -> tuple[Life, ...]:
    lives = [*_edits(), *_others()]
    for mode in MODES:
        m = mode.removesuffix("Mode").lower()
        for about in (_ends, _deadlines, _suspensions, _deletions, _policies):
            lives += about(m, mode)
        lives += [] if mode == HTTP else _submitters(m, mode)
    return tuple(lives)


LIVES = _all()
