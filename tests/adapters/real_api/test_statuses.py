"""Publishing `.status` by server-side apply, also where somebody else has written it before."""

from typing import Any

import pytest

from jobledger.adapters.telemetry.clock import SystemClock
from jobledger.core.errors import ObjectChanged, ObjectNotFound
from jobledger.core.jobs.control.status_writers import is_driven_here, other_controller
from jobledger.core.ports.cluster import RAYJOBS
from jobledger.core.rayjob.names import FINALIZER
from jobledger.core.rayjob.status.status_format import RAYJOB_CONTROLLER
from jobledger.core.values.documents import Manifest, child
from tests.adapters.real_api.desk import Desk, Document
from tests.support.api import APPLY, MERGE, rayjob

pytestmark = pytest.mark.apiserver

UPSTREAMS: Document = {
    "jobId": "train-upstream",
    "rayClusterName": "train-qwert",
    "dashboardURL": "train-qwert-head-svc.ml.svc.cluster.local:8265",
    "jobStatus": "RUNNING",
    "jobDeploymentStatus": "Running",
    "reason": "AppFailed",
    "message": "Job is currently running.",
    "startTime": "2026-11-20T10:00:00Z",
    "endTime": "2026-11-20T11:00:00Z",
    "jobStatusCheckFailureStartTime": "2026-11-20T10:30:00Z",
    "succeeded": 0,
    "failed": 2,
    "observedGeneration": 1,
    "rayJobInfo": {"startTime": "2026-11-20T10:00:00Z", "endTime": "2026-11-20T11:00:00Z"},
    "rayClusterStatus": {
        "state": "ready",
        "lastUpdateTime": "2026-11-20T10:00:00Z",
        "desiredCPU": "2",
        "desiredGPU": "0",
        "desiredMemory": "3Gi",
        "desiredTPU": "0",
        "endpoints": {"dashboard": "8265", "metrics": "8080"},
        "head": {"podIP": "10.1.2.3", "podName": "train-qwert-head", "serviceIP": "10.1.2.4"},
        "conditions": [
            {
                "type": kind,
                "status": "True",
                "reason": "Because",
                "message": "",
                "lastTransitionTime": "2026-11-20T10:00:00Z",
            }
            for kind in ("HeadPodReady", "RayClusterProvisioned")
        ],
        "observedGeneration": 1,
    },
}
"""Every field, as KubeRay fills them in."""

FRESH: Document = {"jobDeploymentStatus": "Initializing", "startTime": "2026-11-21T08:00:00Z"}
COUNTS: Document = {"succeeded": 0, "failed": 0, "observedGeneration": 1}


def written_by_upstream(desk: Desk) -> None:
    """Write the status as upstream's operator does: PUT, under another name than ours."""
    reply = desk.api.put(
        "ray.io/v1/rayjobs",
        {**desk.now(), "status": UPSTREAMS},
        "status",
        fieldManager="manager",
    )
    assert reply.body["status"] == UPSTREAMS


def writers(desk: Desk) -> set[tuple[str, str]]:
    """Return who owns fields of the status, and how they wrote them."""
    entries = desk.now()["metadata"]["managedFields"]
    return {(e["manager"], e["operation"]) for e in entries if "f:status" in e["fieldsV1"]}


def test_a_status_is_written_whole_and_only_once(desk: Desk) -> None:
    job = desk.job(FINALIZER)
    status = {**FRESH, **COUNTS}
    assert desk.publish(job, status) == status
    version = desk.now()["metadata"]["resourceVersion"]
    assert desk.publisher.offer(job.identity, [status], job.kind) is None
    again = {"metadata": {"name": "train", "namespace": desk.api.namespace}, "status": status}
    desk.cluster.apply(RAYJOBS, again, field_manager="jobledger", subresource="status")
    assert desk.now()["metadata"]["resourceVersion"] == version


@pytest.mark.parametrize(
    "newer",
    [
        {"aFieldOfTomorrow": {"is": "there"}},
        {"desiredWorkerReplicas": "3"},
        {"head": ["10.1.2.3"]},
        {"conditions": [{"type": "HeadPodReady", "status": "True"}]},
    ],
    ids=["unknown", "a text", "a list", "less than is required"],
)
def test_what_a_raycluster_of_a_newer_kuberay_shows_is_left_out(
    desk: Desk, newer: Document
) -> None:
    """What its schema does not declare the API server answers with 500 in an apply."""
    job, status = desk.job(FINALIZER), {**FRESH, **COUNTS}
    before = {**status, "rayClusterStatus": {"state": "ready"}}
    assert desk.publish(job, before) == before
    after = {**status, "jobDeploymentStatus": "Running"}
    assert desk.publish(job, {**after, "rayClusterStatus": {"state": "ready", **newer}}) == after


def test_a_field_that_an_older_definition_lacks_is_left_out(desk: Desk) -> None:
    job, status = desk.job(FINALIZER), {**FRESH, **COUNTS}
    assert desk.publish(job, {**status, "later": 1, "latest": {"a": 1}}) == status


@pytest.mark.parametrize(
    "status",
    [
        pytest.param({**FRESH, **COUNTS}, id="empty"),
        pytest.param(
            {
                **FRESH,
                **COUNTS,
                "rayJobInfo": {"startTime": "2026-11-21T08:01:00Z"},
                "rayClusterStatus": {
                    "endpoints": {"client": "10001"},
                    "conditions": UPSTREAMS["rayClusterStatus"]["conditions"][:1],
                },
            },
            id="less-of-each",
        ),
        pytest.param({**UPSTREAMS, "failed": 3}, id="one-number"),
    ],
)
def test_what_another_controller_left_is_gone_after_the_first_write(
    desk: Desk, status: Document
) -> None:
    job = desk.job(FINALIZER)
    written_by_upstream(desk)
    desk.see(desk.now())
    assert desk.publish(job, status) == status
    following = {**status, "jobDeploymentStatus": "Complete", "message": "done"}
    assert desk.publish(job, following) == following


def test_conditions_that_are_ours_and_anothers_by_halves_are_gone_when_they_are_left_out(
    desk: Desk,
) -> None:
    """As of a running job that was taken over, whose RayCluster changed, and that is suspended."""
    job = desk.job(FINALIZER)
    written_by_upstream(desk)
    desk.see(desk.now())
    conditions = [
        {**condition, "status": "False", "reason": "Suspended", "message": "now"}
        for condition in UPSTREAMS["rayClusterStatus"]["conditions"]
    ]
    changed = {**UPSTREAMS, "rayClusterStatus": {"state": "suspended", "conditions": conditions}}
    assert desk.publish(job, changed) == changed
    suspended = {**COUNTS, "jobDeploymentStatus": "Suspended"}
    assert desk.publish(job, suspended) == suspended


def test_what_is_ours_goes_when_it_is_left_out(desk: Desk) -> None:
    job = desk.job(FINALIZER)
    assert desk.publish(job, UPSTREAMS) == UPSTREAMS
    fewer = {**FRESH, **COUNTS, "rayClusterStatus": {"state": "ready"}}
    assert desk.publish(job, fewer) == fewer
    assert writers(desk) == {("jobledger", "Apply")}, "one request was enough"


def test_whoever_takes_a_field_gives_it_back_with_our_next_status(desk: Desk) -> None:
    job = desk.job(FINALIZER)
    desk.publish(job, {**FRESH, **COUNTS})
    patch = {"status": {"jobDeploymentStatus": "Failed", "reason": "AppFailed"}}
    path = desk.api.path("ray.io/v1/rayjobs", "train", "status")
    reply = desk.api.request("PATCH", path, patch, content_type=MERGE, fieldManager="kubectl-edit")
    assert reply.body["status"]["reason"] == "AppFailed"
    desk.see(desk.now())
    status = {**FRESH, **COUNTS, "jobDeploymentStatus": "Running"}
    assert desk.publish(job, status) == status


def test_a_user_who_applies_the_manifest_again_leaves_the_status_alone(desk: Desk) -> None:
    job = desk.job(FINALIZER)
    status = {**FRESH, **COUNTS}
    desk.publish(job, status)
    spec: dict[str, Any] = {**desk.now()["spec"], "suspend": True}
    manifest = {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": "train"}}
    path = desk.api.path("ray.io/v1/rayjobs", "train")
    query = {"fieldManager": "kubectl", "force": "true"}
    body = {**manifest, "spec": spec}
    reply = desk.api.request("PATCH", path, body, content_type=APPLY, **query)
    assert (reply.code, reply.body["spec"]["suspend"]) == (200, True)
    assert reply.body["status"] == status


def test_a_job_that_a_user_edits_in_an_older_version_of_its_kind_shows_its_status(
    desk: Desk,
) -> None:
    """Every apply was refused with 500 from then on: it does not fit `ray.io/v1alpha1`."""
    job = desk.job(FINALIZER)
    desk.publish(job, {**FRESH, **COUNTS})
    path = desk.api.path("ray.io/v1alpha1/rayjobs", "train")
    labels = {"metadata": {"labels": {"team": "a"}}}
    assert desk.api.request("PATCH", path, labels, content_type=MERGE).code == 200  # OK
    job = desk.see(desk.now())
    for status in (
        {**FRESH, **COUNTS, "failed": 1},
        {**UPSTREAMS, "failed": 3},
        {**FRESH, **COUNTS},
    ):
        assert desk.publish(job, status) == status
    now = desk.now()
    managers = [one["manager"] for one in now["metadata"]["managedFields"]]
    assert "before-first-apply" in managers, "it is no other controller"
    assert other_controller(RAYJOB_CONTROLLER, now, SystemClock().now()) is None
    assert is_driven_here(RAYJOB_CONTROLLER, now)


def test_no_status_is_left_on_an_object_that_took_the_place_of_the_job(desk: Desk) -> None:
    """The API server takes no notice of the UID in what is applied to a status."""
    job = desk.job()
    desk.publish(job, {**FRESH, **COUNTS})
    desk.api.delete("ray.io/v1/rayjobs", "train")
    desk.submit(rayjob("train"))
    task = desk.publisher.offer(
        job.identity, [{**UPSTREAMS, "jobDeploymentStatus": "Complete"}], job.kind
    )
    assert task is not None
    assert task() is not None, "a conflict; the watch will tell why"
    assert "status" not in desk.now()


def test_not_even_the_first_status_goes_to_another_object(desk: Desk) -> None:
    job = desk.job()
    desk.api.delete("ray.io/v1/rayjobs", "train")
    desk.submit(rayjob("train"))
    task = desk.publisher.offer(job.identity, [UPSTREAMS], job.kind)
    assert task is not None
    assert task() is not None, "a conflict"
    assert "status" not in desk.now()


def test_a_status_that_was_held_up_does_not_undo_a_newer_one(desk: Desk) -> None:
    """What was given up may arrive much later; by then another resourceVersion is there."""
    job = desk.job()
    metadata: Manifest = {
        "namespace": desk.api.namespace,
        "name": "train",
        "uid": job.identity.uid,
        "resourceVersion": job.version,
    }
    stale: Manifest = {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": dict(metadata),
        "status": {**FRESH, "jobDeploymentStatus": "Initializing"},
    }
    desk.publish(job, {**FRESH, **COUNTS})
    with pytest.raises(ObjectChanged):
        desk.cluster.apply(RAYJOBS, stale, field_manager="jobledger", subresource="status")
    assert child(desk.now(), "status") == {**FRESH, **COUNTS}


def test_a_status_that_others_wrote_over_is_told_and_written_anew(desk: Desk) -> None:
    job = desk.job()
    shown = desk.publish(job, {**FRESH, **COUNTS})
    patch = {"status": {"jobDeploymentStatus": "Failed", "reason": "AppFailed"}}
    path = desk.api.path("ray.io/v1/rayjobs", "train") + "/status"
    reply = desk.api.request("PATCH", path, patch, content_type=MERGE)
    assert reply.code == 200, reply
    now = desk.now()
    desk.see(now)
    version = str(child(now, "metadata")["resourceVersion"])
    task = desk.publisher.seen(job.identity.stream_id, version, child(now, "status"))
    assert task is not None
    assert task() is None
    assert child(desk.now(), "status") == shown


def test_a_status_makes_no_object(desk: Desk) -> None:
    metadata: Manifest = {"name": "nobody", "namespace": desk.api.namespace}
    manifest: Manifest = {"metadata": metadata, "status": FRESH}
    with pytest.raises(ObjectNotFound):
        desk.cluster.apply(RAYJOBS, manifest, field_manager="jobledger", subresource="status")
