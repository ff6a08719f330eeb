"""The deadline of a whole job, of both kinds: it falls due while no controller runs."""

import pytest

from tests.acceptance.jobs import rayjob, with_metadata
from tests.acceptance.real_site import real_site
from tests.acceptance.trainjobs import Trainings, torch_runtime, trainings, trainjob
from tests.acceptance.witness import JOBSETS, RAYJOBS, Witness
from tests.support.apiserver import ApiServer
from tests.support.processes import Terminal
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.faults, pytest.mark.apiserver, pytest.mark.postgres]

SECONDS = 30
"""Long enough for a busy machine to kill the controller before."""

BOUNDED = {"jobledger.dev/job-deadline-seconds": str(SECONDS)}

FIRED = (
    "SELECT j.name, count(*) AS times FROM event e JOIN job j USING (stream_id) "
    "WHERE e.type = 'DecisionFired' AND e.data->>'kind' = 'job_deadline' "
    "GROUP BY j.name ORDER BY j.name"
)

PENDING = "FROM decision WHERE kind = 'job_deadline' AND state = 'pending'"


def test_it_fires_once_after_a_controller_that_was_killed(
    jobset_server: ApiServer, terminal: Terminal, ledger_url: str
) -> None:
    admin = jobset_server.api()
    with (
        real_site(jobset_server, terminal, ledger_url) as site,
        trainings(site, admin) as at,
        Witness(at.admin, (RAYJOBS,)) as watched,
    ):
        at.runtime(torch_runtime("plain"))
        with site.controller() as controller:
            submit_both(at)
            site.wait_for_true("both are bounded", f"SELECT count(*) = 2 {PENDING}")
            controller.kill()
        site.wait_for_true(
            "both have passed, and nobody was there",
            f"SELECT count(*) = 2 AND max(due_at) < clock_timestamp() {PENDING}",
        )
        with site.controller("later") as controller:
            watched.wait_for_phase("ray", "Failed")
            assert at.wait_for("train", "Failed")["reason"] == "DeadlineExceeded"
            wait_until(lambda: at.admin.get(JOBSETS, "train").code == 404, "the JobSet goes")
            assert controller.terminate() == 0
        assert at.admin.get(RAYJOBS, "ray").body["status"]["reason"] == "DeadlineExceeded"
        assert site.rows(FIRED) == [{"name": "ray", "times": 1}, {"name": "train", "times": 1}]
        site.terminal.jobledger("verify")
    admin.pool.clear()


def submit_both(at: Trainings) -> None:
    """A job of each kind that does not end by itself, and may be tried again."""
    endless = rayjob("ray", "sleep 600", backoffLimit=3)
    at.site.submit(with_metadata(endless, annotations=BOUNDED))
    at.submit(
        with_metadata(trainjob("train", "sleep", "600", runtime="plain"), annotations=BOUNDED)
    )
