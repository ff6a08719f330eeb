"""Deadlines end an attempt; only the one before running leaves room for another."""

import pytest

from tests.acceptance.jobs import cluster_spec, rayjob, waiting_for
from tests.acceptance.site import Site
from tests.acceptance.witness import Witness

pytestmark = pytest.mark.postgres


def test_an_exceeded_active_deadline_is_never_retried(site: Site, witness: Witness) -> None:
    never = waiting_for(site.directory / "never")
    with site.controller():
        site.submit(rayjob("slow", never, activeDeadlineSeconds=600, backoffLimit=3))
        witness.wait_for_status("slow", jobDeploymentStatus="Running", jobStatus="RUNNING")
        site.change("slow", activeDeadlineSeconds=2)
        status = witness.wait_for_phase("slow", "Failed")
        site.wait_for_true("nothing is left to do", "SELECT NOT open FROM job")
    assert status["reason"] == "DeadlineExceeded"
    started = status["startTime"].replace("T", " ").replace("Z", " +0000 UTC")
    assert status["message"] == (
        "The RayJob has passed the activeDeadlineSeconds. "
        f"StartTime: {started}. ActiveDeadlineSeconds: 2"
    )
    assert status["failed"] == 1
    assert witness.phases("slow") == ["Initializing", "Running", "Failed"]
    assert len(witness.clusters_of("slow")) == 1
    (refusal,) = site.rows("SELECT data FROM event WHERE type = 'RetryRefused'")
    assert refusal["data"]["backoff_limit"] == 3


def test_an_exceeded_pre_running_deadline_is_retried(site: Site, witness: Witness) -> None:
    """The head never gets ready: what it runs before `ray start` does not end."""
    stuck = cluster_spec(command=["sleep"], args=["600"])
    with site.controller():
        manifest = rayjob("stuck", "true", preRunningDeadlineSeconds=5, backoffLimit=1)
        manifest["spec"]["rayClusterSpec"] = stuck
        site.submit(manifest)
        status = witness.wait_for_phase("stuck", "Failed")
    assert status["reason"] == "PreRunningDeadlineExceeded"
    assert status["message"].endswith("PreRunningDeadlineSeconds: 5")
    assert status["failed"] == 2
    assert witness.phases("stuck") == ["Initializing", "Retrying", "Initializing", "Failed"]
    assert len({life.name for life in witness.clusters_of("stuck")}) == 2
