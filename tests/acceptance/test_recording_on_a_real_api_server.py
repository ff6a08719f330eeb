"""Recorder mode beside other controllers, and refusals to control, on a real API server.

The recorder has the rights of `ops/rbac-recorder.yaml`, which are to look and nothing else. The
other controllers are scripted (`tests.acceptance.other_controllers`): they write as upstream does.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.acceptance.other_controllers import ago, condition
from tests.acceptance.recording import Beside, begin, clean, recording
from tests.acceptance.trainjobs import RUNTIMES, torch_runtime, trainjob
from tests.acceptance.witness import JOBSETS, RAYCLUSTERS, RAYJOBS, TRAINJOBS
from tests.support.api import rayjob
from tests.support.apiserver import ApiServer
from tests.support.processes import Terminal, killed_in_the_end
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.apiserver, pytest.mark.postgres]

Document = dict[str, Any]
RUNS = {"jobStatus": "RUNNING"}


@pytest.fixture
def beside(jobset_server: ApiServer, terminal: Terminal, ledger_url: str) -> Iterator[Beside]:
    with recording(jobset_server, terminal, ledger_url) as beside:
        yield beside


def test_the_life_of_a_rayjob_is_recorded_and_nothing_is_written(beside: Beside) -> None:
    kuberay, site = beside.kuberay, beside.site
    with beside.recorder() as recorder:
        first = begin(kuberay, "train", 1, backoffLimit=2, shutdownAfterJobFinishes=True)
        kuberay.shows("train", "Running", **first, **RUNS)
        beside.wait_for_phase("train", "Running")
        lost = {"jobStatus": "FAILED", "reason": "AppFailed", "message": "exit code 1"}
        kuberay.shows("train", "Retrying", **{**first, "failed": 1}, **lost)
        beside.wait_for_phase("train", "Retrying")
        clean(kuberay, "train", 1)
        kuberay.shows("train", "", failed=1, startTime=first["startTime"])
        second = begin(kuberay, "train", 2, failed=1)
        kuberay.shows("train", "Running", **second, **RUNS)
        beside.wait_for_phase("train", "Running", 2)
        done = {"jobStatus": "SUCCEEDED", "succeeded": 1, "endTime": ago(0)}
        kuberay.shows("train", "Complete", **second, **done)
        beside.wait_for_phase("train", "Complete", 2)
        kuberay.deletes(RAYCLUSTERS, "train-2")
        site.wait_for_true(
            "the shutdown is in the log",
            "SELECT count(*) = 2 FROM event WHERE type = 'ClusterVanished'",
        )
        assert recorder.get("/readyz")[0] == 200
        assert recorder.metric("jobledger_status_writes_total", outcome="written") == 0
    assert_nothing_was_done(beside)
    attempts = site.rows("SELECT outcome, reason, retried, inferred FROM attempt ORDER BY number")
    assert [tuple(row.values()) for row in attempts] == [
        ("failed", "AppFailed", True, True),
        ("succeeded", "", False, True),
    ]
    assert site.value("SELECT recorded FROM job")
    told = beside.says("history", "train")
    assert "attempt 1 failed: AppFailed: exit code 1 (inferred)" in told
    assert "RayCluster train-2 is gone (inferred: shutdownAfterJobFinishes)" in told
    assert "is inferred from what it did" in beside.says("explain", "train")
    assert_forensics_hold(beside, "train")


def test_the_life_of_a_trainjob_is_recorded_and_nothing_is_written(beside: Beside) -> None:
    trainer, site = beside.trainer, beside.site
    runtime = torch_runtime("torch")
    assert trainer.api.create(RUNTIMES, runtime).code == 201  # Created
    with beside.recorder():
        job = trainer.create(TRAINJOBS, trainjob("fit", runtime="torch"))
        trainer.makes_objects(job, runtime)
        site.wait_for_true(
            "the execution is in the ledger",
            "SELECT EXISTS (SELECT FROM job WHERE name = 'fit' AND attempt = 1)",
        )
        suspended = condition("Suspended", "Suspended", seconds_ago=0)
        trainer.shows("fit", suspended, active=0)
        trainer.patch(JOBSETS, "fit", {"spec": {"suspend": True}})
        beside.wait_for_phase("fit", "Suspended")
        resumed = condition("Suspended", "Resumed", holds=False, seconds_ago=0)
        trainer.patch(JOBSETS, "fit", {"spec": {"suspend": False}})
        trainer.shows("fit", resumed, active=0)
        site.wait_for_true(
            "the second execution is in the ledger",
            "SELECT EXISTS (SELECT FROM job WHERE name = 'fit' AND attempt = 2)",
        )
        trainer.shows("fit", resumed, condition("Failed", "DeadlineExceeded", seconds_ago=0))
        beside.wait_for_phase("fit", "Failed", 2)
        trainer.api.delete(JOBSETS, "fit", {"propagationPolicy": "Background"})
        site.wait_for_true(
            "that the JobSet went is in the log",
            "SELECT EXISTS (SELECT FROM event WHERE type = 'JobSetVanished')",
        )
    assert_nothing_was_done(beside)
    attempts = site.rows("SELECT outcome, reason FROM attempt ORDER BY number")
    assert [tuple(row.values()) for row in attempts] == [
        ("suspended", ""),
        ("failed", "DeadlineExceeded"),
    ]
    told = beside.says("history", "fit")
    assert "the job is suspended (inferred)" in told
    assert "JobSet fit is gone (inferred: DeadlineExceeded)" in told
    assert_forensics_hold(beside, "fit")


def assert_nothing_was_done(beside: Beside) -> None:
    """Nothing was asked for, decided or published; no object has a field of ours."""
    done = "SELECT count(*) FROM event WHERE type IN %s"
    types = ("EffectRequested", "DecisionScheduled", "StatusPublished")
    for kind in types:
        assert beside.site.value(done.replace("IN", "="), kind) == 0, kind
    for resource in (RAYJOBS, TRAINJOBS, RAYCLUSTERS, JOBSETS):
        for item in beside.site.api.list(resource).body["items"]:
            writers = {entry["manager"] for entry in item["metadata"]["managedFields"]}
            assert not any("jobledger" in writer for writer in writers), writers


def assert_forensics_hold(beside: Beside, name: str) -> None:
    """Replay, rebuild and verify work on a recorded stream as on any."""
    terminal = beside.site.terminal
    terminal.jobledger("replay", name, "-n", beside.site.api.namespace)
    assert "equal the fold of the log" in terminal.jobledger("rebuild", "--check").out
    terminal.jobledger("verify")


def test_a_start_beside_another_controller_only_records_what_that_one_drives(
    beside: Beside,
) -> None:
    """The service starts; who looks whether it is ready reads that it drives nothing here."""
    api, namespace = beside.site.api, beside.site.api.namespace
    begin(beside.kuberay, "theirs", 1)
    controller = beside.started("controller")
    with killed_in_the_end(controller):
        controller.start(until_ready=False)
        assert api.create(RAYJOBS, rayjob("another")).code == 201  # Created
        beside.site.wait_for_true(
            "both are only recorded",
            "SELECT count(*) = 2 FROM job WHERE recorded AND name IN ('theirs', 'another')",
        )
        why = "another controller is at work on every job that goes on here"
        wait_until(lambda: why in controller.get("/readyz")[1], "it says why it is not ready")
        code, answer = controller.get("/readyz")
        assert code == 503  # Service Unavailable
        assert f"the status of RayJob {namespace}/theirs was written by ray-operator" in answer
        told = controller.log
        assert "--take-over" in told
        assert "--observe-only" in told
        assert "Traceback" not in told
    assert beside.site.value("SELECT count(*) FROM effect") == 0
    assert beside.site.value("SELECT count(*) FROM event WHERE type = 'StatusPublished'") == 0


def test_control_is_let_go_where_another_controller_turns_up(beside: Beside) -> None:
    api, kuberay = beside.site.api, beside.kuberay
    with beside.started("controller") as controller:
        assert api.create(RAYJOBS, rayjob("contested")).code == 201  # Created
        beside.wait_for_phase("contested", "Initializing")
        beside.site.wait_for_true(
            "users see it", "SELECT EXISTS (SELECT FROM event WHERE type = 'StatusPublished')"
        )
        # managedFields tell whole seconds, and within one the write here counts as the later
        shown = dict(api.get(RAYJOBS, "contested").body)["status"]
        wait_until(lambda: ago(0) > written_at(api.get(RAYJOBS, "contested").body), "a second")
        kuberay.write_status(RAYJOBS, "contested", {**shown, "jobDeploymentStatus": "Suspended"})
        beside.site.wait_for_true(
            "the job is let go", "SELECT EXISTS (SELECT FROM event WHERE type = 'ControlReleased')"
        )
        wait_until(lambda: controller.get("/readyz")[0] == 503, "it says that it is not ready")
        answer = controller.get("/readyz")[1]
        assert "another controller is at work" in answer
        assert "contested was written by ray-operator" in answer
        refused = controller.metric(
            "jobledger_control_refused", kind="RayJob", namespace=api.namespace
        )
        assert refused == 1
        assert api.create(RAYJOBS, rayjob("later")).code == 201  # Created
        beside.site.wait_for_true(
            "a later job of the namespace is only recorded",
            "SELECT EXISTS (SELECT FROM event e JOIN job j USING (stream_id) "
            "WHERE j.name = 'later' AND e.type = 'ControlReleased')",
        )
    assert beside.site.value("SELECT count(*) FROM effect WHERE state = 'requested'") == 0
    later = "SELECT count(*) FROM effect e JOIN job j USING (stream_id) WHERE j.name = 'later'"
    assert beside.site.value(later) == 0
    assert beside.site.value("SELECT count(*) FROM decision WHERE state = 'pending'") == 0


def written_at(job: Document) -> str:
    """Return when this controller wrote the status last."""
    times = [
        entry["time"]
        for entry in job["metadata"]["managedFields"]
        if entry["manager"] == "jobledger" and entry.get("subresource") == "status"
    ]
    return str(max(times))
