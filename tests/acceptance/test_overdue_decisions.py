"""What fell due while the controller was away is carried out once it is back: once, and rightly."""

import json
import urllib.request

import pytest

from tests.acceptance.jobs import Document, counting, rayjob, runs, waiting_for
from tests.acceptance.site import Row, Site
from tests.acceptance.witness import Witness
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.faults, pytest.mark.postgres]

LATER_SECONDS = 30
"""Long enough for all jobs to get where they are to be on a busy machine."""

DELAYED = {"JOBLEDGER_RETRY_DELAY_SECONDS": str(LATER_SECONDS)}
RELUCTANT = {"JOBLEDGER_POLL_INTERVAL_SECONDS": "240"}
"""The second run asks no head by itself before a deadline fires: only a fresh look can help."""

IN_TIME = ("intime", "inhttp")
"""Jobs that succeed before their deadline, while nobody is watching."""

PENDING = """
    SELECT count(*) = 5 AND bool_and(due_at > now()) FROM decision JOIN job USING (stream_id)
    WHERE state = 'pending' AND (name, decision.kind, job.phase, job.job_status) IN (
        ('failed', 'retry', 'Retrying', 'FAILED'),
        ('slow', 'active_deadline', 'Running', 'RUNNING'),
        ('finished', 'ttl_shutdown', 'Complete', 'SUCCEEDED'),
        ('intime', 'active_deadline', 'Running', 'RUNNING'),
        ('inhttp', 'active_deadline', 'Running', 'RUNNING'))
"""
ALL_DUE = "SELECT bool_and(due_at < now()) FROM decision WHERE state = 'pending'"
ENDS = """
    SELECT d.decision_id, name, d.kind,
        array(SELECT e.type FROM event AS e
            WHERE e.type IN ('DecisionFired', 'DecisionCancelled')
            AND e.data->>'decision_id' = d.decision_id::text) AS ends
    FROM decision AS d JOIN job USING (stream_id)
"""


def test_a_retry_a_deadline_and_a_shutdown_fall_due_while_the_controller_is_dead(
    site: Site, witness: Witness
) -> None:
    counter, gate = site.directory / "counter", site.directory / "gate"
    late: Document = {"activeDeadlineSeconds": LATER_SECONDS, "backoffLimit": 3}
    site.submit(rayjob("failed", counting(counter, fails=1), mode="K8sJobMode", backoffLimit=1))
    site.submit(rayjob("slow", waiting_for(site.directory / "never"), **late))
    site.submit(rayjob("intime", waiting_for(gate), mode="K8sJobMode", **late))
    site.submit(rayjob("inhttp", waiting_for(gate), **late))
    shutdown: Document = {
        "shutdownAfterJobFinishes": True,
        "ttlSecondsAfterFinished": LATER_SECONDS,
    }
    site.submit(rayjob("finished", "true", **shutdown))
    with site.controller(**DELAYED) as controller:
        site.wait_for_true("all five decisions are pending", PENDING)
        controller.kill()
        events = site.value("SELECT position FROM log_head")
        pending = site.rows("SELECT decision_id FROM decision WHERE state = 'pending'")
        gate.touch()
        wait_until(lambda: succeeded(site) == len(IN_TIME), "they succeed in time")
        assert site.value("SELECT bool_and(due_at > now()) FROM decision WHERE state = 'pending'")
        site.wait_for_true("everything is due", ALL_DUE)
        assert site.value("SELECT position FROM log_head") == events
    with site.controller(**DELAYED, **RELUCTANT):
        witness.wait_for_phase("failed", "Complete")
        witness.wait_for_phase("slow", "Failed")
        for name in IN_TIME:
            witness.wait_for_phase(name, "Complete")
        site.wait_for_true("nothing is left to do", "SELECT NOT bool_or(open) FROM job")
    ends = site.rows(ENDS)
    assert all(len(row["ends"]) == 1 for row in ends), ends
    ids = {row["decision_id"] for row in pending}
    assert_as_expected([row for row in ends if row["decision_id"] in ids])
    assert_right_ends(witness)
    assert runs(counter) == 2
    site.terminal.jobledger("verify")
    site.terminal.jobledger("rebuild", "--check")


def assert_as_expected(decisions: list[Row]) -> None:
    """Each in exactly one event; those that were overtaken by a success are cancelled."""
    ends = {(row["name"], row["kind"]): row["ends"] for row in decisions}
    assert len(ends) == len(decisions) == 5
    assert ends == {
        ("failed", "retry"): ["DecisionFired"],
        ("slow", "active_deadline"): ["DecisionFired"],
        ("finished", "ttl_shutdown"): ["DecisionFired"],
        ("intime", "active_deadline"): ["DecisionCancelled"],
        ("inhttp", "active_deadline"): ["DecisionCancelled"],
    }


def assert_right_ends(witness: Witness) -> None:
    slow = witness.status("slow")
    assert (slow["reason"], slow["failed"]) == ("DeadlineExceeded", 1)
    for name in IN_TIME:
        status = witness.status(name)
        assert (status["jobStatus"], status["failed"], status["succeeded"]) == ("SUCCEEDED", 0, 1)
        assert not status.get("reason")
        (only,) = witness.clusters_of(name)
        assert only.ended is None
    assert [len(witness.clusters_of(name)) for name in ("failed", "slow")] == [2, 1]
    (shut_down,) = witness.clusters_of("finished")
    assert shut_down.ended is not None


def succeeded(site: Site) -> int:
    """Return how many of the jobs whose gate was opened have succeeded, by their heads."""
    return [head_says(site, name) for name in IN_TIME].count("SUCCEEDED")


def head_says(site: Site, name: str) -> str:
    """Return what the head of a job answers, asked as the controller would."""
    (row,) = site.rows("SELECT ray_job_id, ray_cluster_name FROM job WHERE name = %s", name)
    host = f"{row['ray_cluster_name']}-head-svc.{site.api.namespace}.svc.cluster.local:8265"
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({"http": site.proxy_url}))
    with opener.open(f"http://{host}/api/jobs/{row['ray_job_id']}", timeout=60) as answer:
        return str(json.loads(answer.read())["status"])
