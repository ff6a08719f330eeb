"""Killed at any instant, the controller goes on where it was, and does nothing twice."""

import random
from pathlib import Path

import pytest

from tests.acceptance.jobs import counting, rayjob, runs
from tests.acceptance.site import Site
from tests.acceptance.witness import BATCH_JOBS, RAYCLUSTERS, Witness

pytestmark = [pytest.mark.faults, pytest.mark.postgres]

KILLS = 6
LAST_EVENT = 60
"""Kills come before the log has so many events; the whole story has some 80."""


@pytest.mark.parametrize("seed", [1, 2])
def test_kills_at_random_moments_change_neither_the_end_nor_the_number_of_anything(
    site: Site, witness: Witness, tmp_path: Path, seed: int
) -> None:
    """A moment is an event of the log, drawn at random; the kill comes right after its commit."""
    moments = sorted(random.Random(seed).sample(range(2, LAST_EVENT), KILLS))
    counter = tmp_path / "counter"
    site.submit(
        rayjob(
            "lucky",
            counting(counter, fails=2),
            mode="K8sJobMode",
            backoffLimit=2,
            shutdownAfterJobFinishes=True,
        )
    )
    with site.controller() as controller:
        for moment in moments:
            site.wait_for_true(
                f"event {moment} of {moments}", "SELECT position >= %s FROM log_head", moment
            )
            controller.kill()
            controller.start(until_ready=False)
        status = witness.wait_for_phase("lucky", "Complete")
        site.wait_for_true("nothing is left to do", "SELECT NOT open FROM job")
    assert runs(counter) == 3
    assert (status["succeeded"], status["failed"]) == (1, 2)
    assert len(witness.lives(RAYCLUSTERS)) == 3
    assert len({life.name for life in witness.lives(RAYCLUSTERS)}) == 3
    assert len(witness.lives(BATCH_JOBS)) == 3
    assert [life.ended is None for life in witness.lives(RAYCLUSTERS)] == [False] * 3
    assert site.value("SELECT count(*) FROM attempt") == 3
    assert_each_decision_ended_once(site)
    site.terminal.jobledger("verify")
    site.terminal.jobledger("rebuild", "--check")


def assert_each_decision_ended_once(site: Site) -> None:
    ends = site.rows(
        "SELECT d.kind, d.state, (SELECT count(*) FROM event AS e WHERE e.type IN "
        "('DecisionFired', 'DecisionCancelled') "
        "AND e.data->>'decision_id' = d.decision_id::text) AS ends FROM decision AS d"
    )
    assert ends
    assert all(row["ends"] == 1 and row["state"] != "pending" for row in ends), ends
