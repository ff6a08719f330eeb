"""What became of each attempt is told for ever; `.status` shows the last one only, as upstream."""

from pathlib import Path

import pytest

from tests.acceptance.jobs import counting, rayjob
from tests.acceptance.site import Site
from tests.acceptance.witness import RAYCLUSTERS, RAYJOBS, Witness

pytestmark = pytest.mark.postgres

ATTEMPTS = "SELECT * FROM attempt ORDER BY number"


def test_every_attempt_is_told_when_the_job_is_long_gone(
    site: Site, witness: Witness, tmp_path: Path
) -> None:
    with site.controller():
        job = rayjob("lucky", counting(tmp_path / "counter", fails=2), backoffLimit=2)
        site.submit(job)
        status = witness.wait_for_phase("lucky", "Complete")
        before = site.rows(ATTEMPTS)
        assert site.api.delete(RAYJOBS, "lucky").code == 200
        site.wait_for_true("the job is gone", "SELECT deleted_at IS NOT NULL FROM job")
    with site.controller():
        site.wait_for_true("nothing is taken up again", "SELECT NOT open FROM job")
    attempts = site.rows(ATTEMPTS)
    assert attempts == before, "what was written is not touched again"
    clusters = [life.name for life in witness.lives(RAYCLUSTERS)]
    assert [row["ray_cluster_name"] for row in attempts] == clusters
    assert len({row["ray_job_id"] for row in attempts}) == 3
    assert [row["outcome"] for row in attempts] == ["failed", "failed", "succeeded"]
    assert [row["reason"] for row in attempts] == ["AppFailed", "AppFailed", ""]
    assert [row["job_status"] for row in attempts] == ["FAILED", "FAILED", "SUCCEEDED"]
    for row, later in zip(attempts, [*attempts[1:], None], strict=True):
        assert row["started_at"] < row["running_at"] < row["ended_at"]
        assert later is None or row["ended_at"] < later["started_at"]
    assert "loss is NaN" in attempts[0]["message"]
    last = attempts[-1]
    assert (status["rayClusterName"], status["jobId"]) == (
        last["ray_cluster_name"],
        last["ray_job_id"],
    )
    assert not {cluster for cluster in clusters[:-1] if cluster in str(status)}
    told = site.terminal.jobledger("history", "lucky").out
    for row in attempts:
        assert row["ray_cluster_name"] in told
        assert row["ray_job_id"] in told
    assert told.count("failed: AppFailed") == 2
