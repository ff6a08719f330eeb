"""A job that asks for it is retried on the RayCluster that stands, or says why it is not."""

from pathlib import Path

import pytest

from tests.acceptance.jobs import counting, rayjob, runs, with_metadata
from tests.acceptance.node import HEAD
from tests.acceptance.site import Site
from tests.acceptance.witness import BATCH_JOBS, RAYCLUSTERS, RAYJOBS, Witness
from tests.support.api import PODS

pytestmark = pytest.mark.postgres

RETRY_ON = "jobledger.dev/retry-on"
ASKED = {RETRY_ON: "same-cluster"}
ATTEMPT = ["Initializing", "Running"]


@pytest.mark.parametrize("mode", ["HTTPMode", "K8sJobMode"])
def test_three_attempts_run_on_one_raycluster(
    site: Site, witness: Witness, tmp_path: Path, mode: str
) -> None:
    counter = tmp_path / "counter"
    job = rayjob(
        "there",
        counting(counter, fails=2),
        mode=mode,
        backoffLimit=2,
        shutdownAfterJobFinishes=True,
        ttlSecondsAfterFinished=1,
    )
    with site.controller():
        site.submit(with_metadata(job, annotations=ASKED))
        status = witness.wait_for_phase("there", "Complete")
        site.wait_for_true("nothing is left to do", "SELECT NOT open FROM job")
        witness.wait_until(
            lambda: all(life.ended for life in witness.lives(RAYCLUSTERS)), "the shutdown"
        )
    assert witness.phases("there") == [*[*ATTEMPT, "Retrying"] * 2, *ATTEMPT, "Complete"]
    (cluster,) = witness.lives(RAYCLUSTERS)
    assert (status["succeeded"], status["failed"]) == (1, 2)
    assert (status["rayClusterName"], runs(counter)) == (cluster.name, 3)
    assert len(witness.lives(BATCH_JOBS)) == (3 if mode == "K8sJobMode" else 0)
    attempts = site.rows("SELECT ray_cluster_name, ray_job_id FROM attempt ORDER BY number")
    assert {row["ray_cluster_name"] for row in attempts} == {cluster.name}
    assert len({row["ray_job_id"] for row in attempts}) == 3
    run = site.terminal.jobledger
    told = run("history", "there").out
    assert "on the same RayCluster" in told
    assert "equal the fold of the log" in run("rebuild", "--check").out
    assert "equal the fold of the log" in run("rebuild", "--reports", "--check").out
    assert "on the same RayCluster" in run("explain", "there").out


def test_a_raycluster_whose_head_goes_in_the_pause_is_given_up(
    site: Site, witness: Witness, tmp_path: Path
) -> None:
    counter = tmp_path / "counter"
    annotations = {**ASKED, "jobledger.dev/retry-delay-seconds": "1h"}
    with site.controller():
        job = rayjob("moved", counting(counter, fails=1), backoffLimit=1)
        site.submit(with_metadata(job, annotations=annotations))
        witness.wait_for_phase("moved", "Retrying")
        (head,) = site.node.names(HEAD)
        (cluster,) = witness.lives(RAYCLUSTERS)
        assert cluster.ended is None, "it stays for the next attempt"
        assert site.node.api.delete(PODS, head).code == 200
        witness.wait_until(
            lambda: all(life.ended for life in witness.lives(RAYCLUSTERS)), "the deletion"
        )
    (given_up,) = site.rows("SELECT data FROM event WHERE type = 'ClusterGivenUp'")
    assert "went or was started again" in given_up["data"]["cause"]
    assert witness.phases("moved")[-1] == "Retrying"


def test_a_slip_is_told_in_the_status_and_gets_a_new_raycluster(
    site: Site, witness: Witness, tmp_path: Path
) -> None:
    counter = tmp_path / "counter"
    with site.controller():
        job = rayjob("typo", counting(counter, fails=1), backoffLimit=1)
        site.submit(with_metadata(job, annotations={RETRY_ON: "samecluster"}))
        witness.wait_until(
            lambda: any(
                "write same-cluster or new-cluster"
                in item.document.get("status", {}).get("message", "")
                for item in witness.told(RAYJOBS, "typo")
            ),
            "the message that names the annotation",
        )
        witness.wait_for_phase("typo", "Complete")
    assert len(witness.lives(RAYCLUSTERS)) == 2
