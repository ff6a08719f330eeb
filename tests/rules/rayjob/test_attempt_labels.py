"""The number of the attempt in labels: on everything that is made, where it is asked for."""

from typing import Any

from jobledger.core.rayjob.manifests.manifests import build_cluster, build_submitter
from jobledger.core.values.documents import Manifest, child
from tests.rules.rayjob.jobs import rayjob

LABEL = "jobledger.dev/attempt"
ASKED = {"metadata.annotations": {"jobledger.dev/label-attempts": "true"}}


def made(job: dict[str, Any], attempt: int) -> list[Manifest]:
    """Return RayCluster and submitter of an attempt."""
    cluster = build_cluster(job, "train-abcde", attempt, job_id="train-vwxyz")
    submitter = build_submitter(
        job,
        cluster=None,
        cluster_name="c",
        address="a:8265",
        job_id="j",
        runtime_env=None,
        attempt=attempt,
    )
    return [cluster, submitter]


def labels_of(objects: list[Manifest]) -> list[str | None]:
    """Return the label on RayCluster, head, worker, submitter and submitter's Pod."""
    cluster, submitter = objects
    spec = child(cluster, "spec")
    groups: Any = spec["workerGroupSpecs"]
    metadata = [
        child(cluster, "metadata"),
        child(spec, "headGroupSpec", "template", "metadata"),
        child(groups[0], "template", "metadata"),
        child(submitter, "metadata"),
        child(submitter, "spec", "template", "metadata"),
    ]
    return [child(one, "labels").get(LABEL) for one in metadata]  # type: ignore[misc] # texts


def test_a_job_that_asks_finds_its_attempt_on_everything() -> None:
    for attempt in (1, 2, 17):
        assert labels_of(made(rayjob(ASKED), attempt)) == [str(attempt)] * 5


def test_a_job_that_does_not_ask_gets_what_upstream_makes() -> None:
    plain = made(rayjob(), 1)
    assert labels_of(plain) == [None] * 5
    assert child(plain[0], "spec") == rayjob()["spec"]["rayClusterSpec"]


def test_labels_of_the_user_are_kept() -> None:
    worker = "spec.rayClusterSpec.workerGroupSpecs.0.template"
    job = rayjob({**ASKED, f"{worker}.metadata": {"labels": {"team": "vision"}}})
    cluster, _ = made(job, 2)
    groups: Any = child(cluster, "spec")["workerGroupSpecs"]
    assert groups[0]["template"]["metadata"]["labels"] == {"team": "vision", LABEL: "2"}


def test_the_submitter_beside_the_head_is_in_a_pod_with_the_label() -> None:
    cluster, _ = made(rayjob(ASKED, submissionMode="SidecarMode"), 3)
    template = child(cluster, "spec", "headGroupSpec", "template")
    assert child(template, "metadata", "labels")[LABEL] == "3"
    assert len(template["spec"]["containers"]) == 2  # type: ignore[call-overload, index, arg-type] # a document
