"""A suspended job leaves nothing behind, and a resumed one begins anew."""

import pytest

from tests.acceptance.jobs import rayjob, waiting_for
from tests.acceptance.site import Site
from tests.acceptance.witness import BATCH_JOBS, RAYCLUSTERS, Witness

pytestmark = pytest.mark.postgres


def test_a_resumed_job_runs_on_another_raycluster(site: Site, witness: Witness) -> None:
    gate = site.directory / "gate"
    with site.controller():
        entrypoint = waiting_for(gate)
        site.submit(rayjob("pausing", entrypoint, mode="K8sJobMode", shutdownAfterJobFinishes=True))
        witness.wait_for_status("pausing", jobDeploymentStatus="Running", jobStatus="RUNNING")
        site.change("pausing", suspend=True)
        status = witness.wait_for_phase("pausing", "Suspended")
        assert all(life.ended for life in witness.lives(RAYCLUSTERS))
        assert all(life.ended for life in witness.lives(BATCH_JOBS))
        assert not {"rayClusterName", "jobId", "jobStatus", "reason"} & {
            field for field, value in status.items() if value
        }
        site.change("pausing", suspend=False)
        gate.touch()
        status = witness.wait_for_phase("pausing", "Complete")
    assert witness.phases("pausing") == [
        *("Initializing", "Running", "Suspending", "Suspended"),
        *("Initializing", "Running", "Complete"),
    ]
    assert len({life.name for life in witness.lives(RAYCLUSTERS)}) == 2
    assert (status["succeeded"], status["failed"]) == (1, 0)
    outcomes = site.rows("SELECT outcome FROM attempt ORDER BY number")
    assert [row["outcome"] for row in outcomes] == ["suspended", "succeeded"]


def test_a_job_that_is_created_suspended_waits_without_a_raycluster(
    site: Site, witness: Witness
) -> None:
    with site.controller():
        site.submit(rayjob("queued", "true", suspend=True, shutdownAfterJobFinishes=True))
        witness.wait_for_phase("queued", "Suspended")
        assert witness.lives(RAYCLUSTERS) == []
        site.change("queued", suspend=False)
        witness.wait_for_phase("queued", "Complete")
    assert len(witness.lives(RAYCLUSTERS)) == 1
    attempts = site.rows("SELECT number, outcome FROM attempt")
    assert [(row["number"], row["outcome"]) for row in attempts] == [(1, "succeeded")]
