"""Whatever stands in a head's place: its job fails in time and in words, all others go on."""

from pathlib import Path

import pytest

from tests.acceptance import odd_head
from tests.acceptance.jobs import Document, cluster_spec, rayjob, with_metadata
from tests.acceptance.site import Site
from tests.acceptance.witness import Witness

pytestmark = [pytest.mark.faults, pytest.mark.postgres]

KEEP_COMMAND = {"ray.io/overwrite-container-cmd": "true"}
"""The RayCluster controller leaves the head's command as it is."""

IMPATIENT = {
    "JOBLEDGER_STATUS_CHECK_TIMEOUT_SECONDS": "3",
    "JOBLEDGER_RAY_TIMEOUT_SECONDS": "0.5",
}


def odd_job(name: str, answer: str) -> Document:
    """Return a job whose head answers oddly. Its Ray job was handed in by somebody else."""
    program = Path(odd_head.__file__)
    container = {"name": "s", "image": "x", "command": ["sleep", "600"]}
    submitter = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    manifest = rayjob(name, "true", mode="K8sJobMode", backoffLimit=2)
    manifest["spec"]["submitterPodTemplate"] = submitter
    command = {"command": ["python", str(program)], "args": [answer]}
    manifest["spec"]["rayClusterSpec"] = cluster_spec(**command)
    return with_metadata(manifest, annotations=KEEP_COMMAND)


def test_odd_heads_end_their_own_jobs_only(site: Site, witness: Witness) -> None:
    names = {answer: f"odd-{number}" for number, answer in enumerate(odd_head.ANSWERS)}
    with site.controller(**IMPATIENT) as controller:
        for answer, name in names.items():
            site.submit(odd_job(name, answer))
        site.submit(rayjob("plain", "echo fine"))
        witness.wait_for_phase("plain", "Complete")
        for name in names.values():
            status = witness.wait_for_phase(name, "Failed")
            assert status["reason"] == "JobStatusCheckTimeoutExceeded"
            assert status["message"].endswith("; exceeded timeout of 3s")
            assert (status["succeeded"], status["failed"]) == (0, 1), "never retried"
        assert controller.get("/healthz")[0] == 200
        assert controller.metric("jobledger_poisoned_observations_total") == 0
    assert "Traceback" not in controller.log
    for name in names.values():
        assert len(witness.clusters_of(name)) == 1
    site.terminal.jobledger("verify")
    site.terminal.jobledger("rebuild", "--check")


def test_a_head_that_answers_a_submission_with_nonsense_is_asked_again(
    site: Site, witness: Witness
) -> None:
    """HTTPMode: nobody can tell whether the job was taken, so the deadline ends it."""
    manifest = odd_job("unsure", "garbage")
    manifest["spec"] |= {"submissionMode": "HTTPMode", "activeDeadlineSeconds": 3}
    del manifest["spec"]["submitterPodTemplate"]
    with site.controller(**IMPATIENT) as controller:
        site.submit(manifest)
        site.submit(rayjob("plain", "echo fine"))
        witness.wait_for_phase("plain", "Complete")
        status = witness.wait_for_phase("unsure", "Failed")
        assert controller.get("/healthz")[0] == 200
    assert status["reason"] in {"DeadlineExceeded", "JobStatusCheckTimeoutExceeded"}
    faltered = site.rows("SELECT data FROM event WHERE type = 'EffectFaltered'")
    assert any("did not answer with JSON" in row["data"]["trouble"] for row in faltered)
