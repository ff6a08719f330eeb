"""In HTTPMode the controller hands the entrypoint in itself; there is no submitter."""

import json

import pytest

from tests.acceptance.jobs import counting, rayjob, runs, waiting_for
from tests.acceptance.site import Site
from tests.acceptance.witness import BATCH_JOBS, Witness

pytestmark = pytest.mark.postgres


def test_the_end_of_a_job_is_noticed_without_waiting_for_the_next_question(
    site: Site, witness: Witness
) -> None:
    """Heads are asked every ten minutes here: it is the end of the job's log that tells."""
    gate = site.directory / "gate"
    with site.controller(JOBLEDGER_POLL_INTERVAL_SECONDS="600"):
        site.submit(rayjob("followed", waiting_for(gate)))
        witness.wait_for_status("followed", jobDeploymentStatus="Running", jobStatus="RUNNING")
        gate.touch()
        status = witness.wait_for_phase("followed", "Complete")
    assert status["jobStatus"] == "SUCCEEDED"


def test_success_failure_and_retry_without_a_submitter(site: Site, witness: Witness) -> None:
    counter = site.directory / "counter"
    with site.controller():
        site.submit(rayjob("good", "echo fine"))
        site.submit(rayjob("bad", "sh -c 'echo why; exit 7'"))
        site.submit(rayjob("again", counting(counter, fails=1), backoffLimit=1))
        good = witness.wait_for_phase("good", "Complete")
        bad = witness.wait_for_phase("bad", "Failed")
        again = witness.wait_for_phase("again", "Complete")
    assert (good["jobStatus"], good["succeeded"], good["failed"]) == ("SUCCEEDED", 1, 0)
    assert (bad["jobStatus"], bad["reason"], bad["failed"]) == ("FAILED", "AppFailed", 1)
    assert "why" in bad["message"]
    assert (again["succeeded"], again["failed"]) == (1, 1)
    assert witness.phases("again") == [
        *("Initializing", "Running", "Retrying"),
        *("Initializing", "Running", "Complete"),
    ]
    assert runs(counter) == 2
    assert witness.told(BATCH_JOBS) == []
    rows = json.loads(site.terminal.jobledger("get", "-o", "json").out)
    assert {row["name"]: row["phase"] for row in rows} == {
        "good": "Complete",
        "bad": "Failed",
        "again": "Complete",
    }
