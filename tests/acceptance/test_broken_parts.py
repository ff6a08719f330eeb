"""Something breaks between the parts of a job, on the sandbox: in every mode it gets to success."""

from contextlib import closing
from pathlib import Path

import pytest

from jobledger.adapters.ray.job_api import RayJobApi
from jobledger.core.ports.ray_jobs import Submission
from tests.acceptance.broken_parts import RETRIED, SURVIVED, Story, tell
from tests.acceptance.jobs import rayjob, waiting_for
from tests.acceptance.node import head_pod_is_killed
from tests.acceptance.site import Site
from tests.acceptance.witness import Witness

pytestmark = [pytest.mark.faults, pytest.mark.postgres]


@pytest.mark.parametrize("story", RETRIED, ids=lambda story: story.name)
def test_a_failed_attempt_is_followed_by_one_that_succeeds(
    site: Site, witness: Witness, tmp_path: Path, story: Story
) -> None:
    tell(story, site, witness, tmp_path)


@pytest.mark.parametrize("story", SURVIVED, ids=lambda story: story.name)
def test_an_attempt_survives_what_others_put_right(
    site: Site, witness: Witness, tmp_path: Path, story: Story
) -> None:
    tell(story, site, witness, tmp_path)


def test_an_interactive_job_whose_head_is_killed_has_failed(site: Site, witness: Witness) -> None:
    """There is nobody to submit again: upstream takes no backoffLimit here."""
    never = waiting_for(site.directory / "never")
    with site.controller():
        site.submit(rayjob("mine", "", mode="InteractiveMode"))
        witness.wait_for_phase("mine", "Waiting")
        address = witness.status("mine")["dashboardURL"]
        by_hand = Submission(
            entrypoint=never, submission_id="by-hand", metadata={}, runtime_env={}, resources={}
        )
        with closing(RayJobApi(proxies={"http": site.proxy_url})) as head:
            head.submit(address, by_hand)
        site.change("mine", jobId="by-hand")
        witness.wait_for_status("mine", jobDeploymentStatus="Running", jobStatus="RUNNING")
        head_pod_is_killed(site.node)
        status = witness.wait_for_phase("mine", "Failed")
    assert (status["reason"], status["failed"]) == ("AppFailed", 1)
    assert status["message"] == "Ray head pod not found."
