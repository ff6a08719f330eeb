"""What a job may ask for about its retries, by annotations: each where users would see it."""

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.broken_parts import blocking
from tests.acceptance.jobs import counting, rayjob, runs, with_metadata
from tests.acceptance.node import HEAD, node_is_gone
from tests.acceptance.site import Row, Site
from tests.acceptance.witness import BATCH_JOBS, KUBERNETES_EVENTS, RAYCLUSTERS, Witness
from tests.support.api import PODS

pytestmark = pytest.mark.postgres

PREFIX = "jobledger.dev/"
LABEL = f"{PREFIX}attempt"


def asking(job: Row, **annotations: str) -> Row:
    """Return the job with annotations of ours; `_` stands for `-`."""
    named = {f"{PREFIX}{name.replace('_', '-')}": text for name, text in annotations.items()}
    return with_metadata(job, annotations=named)


def verdicts(site: Site) -> list[dict[str, Any]]:
    """Return what every grant and refusal was judged by, in order."""
    rows = site.rows(
        "SELECT type, data FROM event WHERE type IN ('RetryGranted', 'RetryRefused') "
        "ORDER BY position"
    )
    return [{"type": row["type"], **row["data"]} for row in rows]


@pytest.mark.parametrize("mode", ["HTTPMode", "K8sJobMode"])
def test_a_preemption_is_retried_without_counting(
    site: Site, witness: Witness, tmp_path: Path, mode: str
) -> None:
    """Even with backoffLimit 0; the evidence is in the log, before the verdict."""
    counter, gate = tmp_path / "counter", tmp_path / "gate"
    job = rayjob("spot", blocking(counter, gate, first=1), mode=mode)
    with site.controller():
        site.submit(asking(job, retry_policy="preemption=uncounted"))
        witness.wait_for_status("spot", jobDeploymentStatus="Running", jobStatus="RUNNING")
        witness.wait_until(lambda: runs(counter) == 1, "the entrypoint runs")
        node_is_gone(site.node)
        status = witness.wait_for_phase("spot", "Complete")
    assert (status["succeeded"], status["failed"]) == (1, 0)
    (verdict,) = verdicts(site)
    assert (verdict["type"], verdict["failure"]) == ("RetryGranted", "preemption")
    assert (verdict["counted"], verdict["uncounted"], verdict["failed"]) == (False, 1, 0)
    assert "NodeLost" in verdict["evidence"]
    order = site.rows(
        "SELECT type FROM event WHERE type IN ('FailureNoticed', 'PodsObserved', 'RetryGranted') "
        "ORDER BY position"
    )
    assert [row["type"] for row in order] == ["FailureNoticed", "PodsObserved", "RetryGranted"]
    assert "uncounted retry 1 of at most 10" in site.terminal.jobledger("history", "spot").out


def test_an_exit_code_that_is_never_retried_ends_the_job(site: Site, witness: Witness) -> None:
    with site.controller():
        job = rayjob("wrong", "sh -c 'exit 3'", backoffLimit=3)
        site.submit(asking(job, retry_policy="application:3=never"))
        status = witness.wait_for_phase("wrong", "Failed")
    assert (status["failed"], status["reason"]) == (1, "AppFailed")
    (verdict,) = verdicts(site)
    assert verdict["rule"] == (
        "the retry policy never retries failure class application (exit code 3)"
    )
    assert (verdict["backoff_limit"], verdict["exit_code"]) == (3, 3)


def test_what_is_made_for_an_attempt_carries_its_number(
    site: Site, witness: Witness, tmp_path: Path
) -> None:
    counter, gate = tmp_path / "counter", tmp_path / "gate"
    entrypoint = counting(counter, fails=1).replace(
        "echo converged", f"until [ -e {gate} ]; do sleep 0.1; done"
    )
    with site.controller():
        job = rayjob("marked", entrypoint, mode="K8sJobMode", backoffLimit=1)
        site.submit(asking(job, label_attempts="true"))
        witness.wait_until(lambda: runs(counter) == 2, "the second attempt runs")
        pods = site.api.list(PODS, labelSelector=f"{LABEL}=2").body["items"]
        roles = {pod["metadata"]["labels"].get("ray.io/node-type", "submitter") for pod in pods}
        gate.touch()
        witness.wait_for_phase("marked", "Complete")
    assert roles == {"head", "submitter"}
    for resource in (RAYCLUSTERS, BATCH_JOBS):
        made = [item for item in witness.told(resource) if item.verb == "ADDED"]
        assert [item.document["metadata"]["labels"][LABEL] for item in made] == ["1", "2"]


def test_the_next_attempt_waits_until_no_pod_of_the_last_is_left(
    site: Site, witness: Witness, tmp_path: Path
) -> None:
    """A Pod that somebody's finalizer holds; RayCluster and submitter are gone long before."""
    counter, gate = tmp_path / "counter", tmp_path / "gate"
    with site.controller():
        job = rayjob("fenced", blocking(counter, gate, first=1), backoffLimit=1)
        site.submit(asking(job, retry_after_pods_gone="true"))
        witness.wait_until(lambda: runs(counter) == 1, "the entrypoint runs")
        (head,) = site.node.names(HEAD)
        hold = {"metadata": {"finalizers": ["example.com/hold"]}}
        assert site.node.api.merge(PODS, head, hold).code == 200
        (cluster,) = witness.lives(RAYCLUSTERS)
        assert site.node.api.delete(RAYCLUSTERS, cluster.name).code == 200
        site.wait_for_true(
            "it is told that the Pod is left",
            "SELECT count(*) = 1 FROM event WHERE type = 'PodsObserved'",
        )
        witness.wait_for_phase("fenced", "Retrying")
        assert len(witness.lives(RAYCLUSTERS)) == 1, "nothing of the next attempt is there"
        (told,) = site.rows("SELECT data FROM event WHERE type = 'PodsObserved'")
        assert [pod["name"] for pod in told["data"]["pods"]] == [head]
        assert site.node.api.merge(PODS, head, {"metadata": {"finalizers": None}}).code == 200
        status = witness.wait_for_phase("fenced", "Complete")
    assert (status["succeeded"], status["failed"]) == (1, 1)
    assert "WaitingForPods" in reasons(site)
    assert "no Pod of attempt 1 is left" in site.terminal.jobledger("history", "fenced").out


def reasons(site: Site) -> set[str]:
    """Return the reasons of all Kubernetes Events."""
    return {item["reason"] for item in site.api.list(KUBERNETES_EVENTS).body["items"]}


def test_pauses_between_retries_are_what_the_job_asks_for(
    site: Site, witness: Witness, tmp_path: Path
) -> None:
    counter = tmp_path / "counter"
    with site.controller():
        job = rayjob("calm", counting(counter, fails=2), backoffLimit=2)
        options = {"retry_delay_seconds": "1", "retry_delay_growth": "constant"}
        site.submit(asking(job, **options))
        witness.wait_for_phase("calm", "Complete")
    grants = site.rows(
        "SELECT occurred_at, data FROM event WHERE type = 'RetryGranted' ORDER BY position"
    )
    pauses = [
        (datetime.fromisoformat(row["data"]["due_at"]) - row["occurred_at"]).total_seconds()
        for row in grants
    ]
    assert pauses == [1.0, 1.0]


def test_an_annotation_that_cannot_be_understood_is_told_and_does_no_harm(
    site: Site, witness: Witness
) -> None:
    with site.controller() as controller:
        job = asking(rayjob("odd", "true"), retry_policy="preempt=retry")
        site.submit(job)
        status = witness.wait_for_phase("odd", "Complete")
        witness.wait_until(lambda: "InvalidAnnotation" in reasons(site), "it is told")
        assert "annotation_left_out" in controller.log
    assert status["succeeded"] == 1
    told = site.terminal.jobledger("history", "odd").out
    assert (
        "annotation jobledger.dev/retry-policy cannot be understood, so nothing is retried: '"
        in told
    )
