"""A job that fails is run again on another RayCluster, as often as `backoffLimit` allows."""

import itertools
import json
from pathlib import Path

import pytest
import yaml

from tests.acceptance.jobs import counting, rayjob, runs
from tests.acceptance.site import Site
from tests.acceptance.witness import BATCH_JOBS, RAYCLUSTERS, Life, Witness
from tests.support.processes import jobledger_command

pytestmark = pytest.mark.postgres

TTL_SECONDS = 1
THREE_ATTEMPTS = [*["Initializing", "Running", "Retrying"] * 2, "Initializing", "Running"]


def assert_one_after_the_other(lives: list[Life]) -> None:
    """Each is gone before the next exists."""
    for earlier, later in itertools.pairwise(lives):
        assert earlier.ended is not None
        assert earlier.ended < later.begun


@pytest.fixture
def counter(tmp_path: Path) -> Path:
    return tmp_path / "counter"


@pytest.fixture
def retried(site: Site, witness: Witness, counter: Path) -> Witness:
    """What was told of a job that was applied as a user does, and succeeded on its third run."""
    manifest = rayjob(
        "lucky",
        counting(counter, fails=2),
        mode="K8sJobMode",
        backoffLimit=2,
        shutdownAfterJobFinishes=True,
        ttlSecondsAfterFinished=TTL_SECONDS,
    )
    file = site.directory / "lucky.yaml"
    file.write_text(yaml.safe_dump(manifest))
    with site.controller():
        words = ("apply", "-f", str(file), "-n", site.api.namespace)
        told = site.terminal.run([*jobledger_command(), *words])
        assert told.out == "rayjob/lucky applied\n"
        witness.wait_for_phase("lucky", "Complete")
        witness.wait_until(
            lambda: all(life.ended for life in witness.lives(RAYCLUSTERS)), "the shutdown"
        )
        site.wait_for_true("nothing is left to do", "SELECT NOT open FROM job")
    return witness


def test_a_job_that_fails_twice_succeeds_on_its_third_raycluster(
    site: Site, retried: Witness, counter: Path
) -> None:
    assert retried.phases("lucky") == [*THREE_ATTEMPTS, "Complete"]
    assert runs(counter) == 3
    clusters = retried.lives(RAYCLUSTERS)
    submitters = retried.lives(BATCH_JOBS)
    assert len({life.name for life in clusters}) == len(clusters) == 3
    assert_one_after_the_other(clusters)
    assert_one_after_the_other(submitters)
    assert [life.name for life in submitters] == ["lucky"] * 3
    assert submitters[-1].ended is None, "the submitter's log is kept"
    status = retried.status("lucky")
    assert (status["succeeded"], status["failed"]) == (1, 2)
    assert status["jobStatus"] == "SUCCEEDED"
    assert status["rayClusterName"] == clusters[-1].name
    assert_commands_tell_it(site)


def assert_commands_tell_it(site: Site) -> None:
    """Every command that reads the ledger agrees, in each form."""
    run = site.terminal.jobledger
    (row,) = json.loads(run("get", "lucky", "-o", "json").out)
    assert (row["phase"], row["attempt"], row["failed"], row["open"]) == ("Complete", 3, 2, False)
    assert yaml.safe_load(run("get", "-o", "yaml").out) == [row]
    assert "SUCCEEDED" in run("get", "--phase", "Complete").out
    story = json.loads(run("history", "lucky", "-o", "json").out)
    assert [line["event"] for line in story].count("RetryGranted") == 2
    shown = run("history", f"{site.api.namespace}/lucky").out
    assert "attempts 3, failed 2, succeeded 1" in shown
    assert "retry granted: failed attempt 2 is within backoffLimit 2" in shown
    rows = yaml.safe_load(run("decisions", "lucky", "-o", "yaml").out)
    fired = sorted(row["kind"] for row in rows if row["state"] == "fired")
    assert fired == ["retry", "retry", "ttl_shutdown"]
    assert "verified" in run("verify").out
    assert json.loads(run("verify", "-o", "json").out)[0]["faults"] == []
    assert "equal the fold of the log" in run("rebuild", "--check").out
    assert "equal the fold of the log" in run("rebuild", "--reports", "--check").out
    assert "no job nobody" in run("history", "nobody", code=3).err


def test_five_rayclusters_exhaust_a_backoff_limit_of_four(
    site: Site, witness: Witness, counter: Path
) -> None:
    with site.controller():
        site.submit(rayjob("stubborn", counting(counter, fails=99), backoffLimit=4))
        status = witness.wait_for_phase("stubborn", "Failed")
        site.wait_for_true("nothing is left to do", "SELECT NOT open FROM job")
    clusters = witness.lives(RAYCLUSTERS)
    assert len({life.name for life in clusters}) == len(clusters) == 5
    assert_one_after_the_other(clusters)
    assert runs(counter) == 5
    assert (status["failed"], status["succeeded"]) == (5, 0)
    assert status["reason"] == "AppFailed"
    assert status["message"].startswith("Job entrypoint command failed with exit code 1")
    assert "loss is NaN" in status["message"]
    assert witness.phases("stubborn").count("Retrying") == 4
    (refusal,) = site.rows("SELECT data FROM event WHERE type = 'RetryRefused'")
    numbers = {key: refusal["data"][key] for key in ("backoff_limit", "failed", "reason")}
    assert numbers == {"backoff_limit": 4, "failed": 5, "reason": "AppFailed"}
