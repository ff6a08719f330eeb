"""Every deadline and time-out is a pending decision: shown with its instant and cause, then fired.

Each story has three acts: something begins to wait and `jobledger decisions` shows it; the
controller is started again with a shorter wait, or the manifest is changed; the wait is over.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.acceptance.jobs import cluster_spec, rayjob, with_metadata
from tests.acceptance.site import Row, Site
from tests.acceptance.test_odd_heads import KEEP_COMMAND, odd_job
from tests.acceptance.witness import Witness

pytestmark = pytest.mark.postgres

LONG_SECONDS = 600
SUBMIT = (
    "ray job submit --address http://$RAY_DASHBOARD_ADDRESS --submission-id $RAY_JOB_SUBMISSION_ID "
    "--no-wait -- "
)


def own_submitter(entrypoint: str, afterwards: str) -> Row:
    """Return a template whose container hands the entrypoint in itself, and then does as told."""
    script = f"{SUBMIT}{entrypoint}; {afterwards}"
    container = {"name": "s", "image": "x", "command": ["/bin/bash", "-c"], "args": [script]}
    return {"spec": {"restartPolicy": "Never", "containers": [container]}}


def with_submitter(entrypoint: str, afterwards: str) -> Row:
    """Return a RayJob in K8sJobMode with such a submitter."""
    job = rayjob("waits", entrypoint, mode="K8sJobMode")
    job["spec"]["submitterPodTemplate"] = own_submitter(entrypoint, afterwards)
    return job


def never_ready(**spec: Any) -> Row:  # noqa: ANN401 any JSON
    """Return a RayJob whose head never gets ready."""
    job = rayjob("waits", "true", **spec)
    job["spec"]["rayClusterSpec"] = cluster_spec(command=["sleep"], args=["600"])
    return job


def silent_head() -> Row:
    """Return a RayJob whose head says nothing that makes sense."""
    return with_metadata(odd_job("waits", "garbage"), annotations=KEEP_COMMAND)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """A deadline or time-out."""

    kind: str
    job: Callable[[], Row]
    cause: str
    """How the cause begins."""
    reason: str
    phase: str = "Failed"
    setting: str = ""
    """The setting that says how long, if the manifest does not."""
    change: dict[str, int] = field(default_factory=dict)
    """What makes it due, in the manifest."""
    since_start: bool = True
    """Whether it counts from the start of the attempt."""


FOREVER = "sleep 600"
WAITS = [
    Wait(
        kind="active_deadline",
        job=lambda: rayjob("waits", FOREVER, activeDeadlineSeconds=LONG_SECONDS),
        cause="activeDeadlineSeconds 600 of this attempt",
        reason="DeadlineExceeded",
        change={"activeDeadlineSeconds": 1},
    ),
    Wait(
        kind="pre_running_deadline",
        job=lambda: never_ready(preRunningDeadlineSeconds=LONG_SECONDS),
        cause="preRunningDeadlineSeconds 600 of this attempt",
        reason="PreRunningDeadlineExceeded",
        change={"preRunningDeadlineSeconds": 1},
    ),
    Wait(
        kind="transition_grace",
        job=lambda: with_submitter("true", FOREVER),
        cause="the Ray job is SUCCEEDED, its submitter has not ended",
        reason="JobDeploymentStatusTransitionGracePeriodExceeded",
        phase="Complete",
        setting="JOBLEDGER_TRANSITION_GRACE_SECONDS",
        since_start=False,
    ),
    Wait(
        kind="submitter_finished",
        job=lambda: with_submitter(FOREVER, "exit 0"),
        cause="the submitter ended (Complete), the Ray job has not",
        reason="JobDeploymentStatusTransitionGracePeriodExceeded",
        setting="JOBLEDGER_SUBMITTER_FINISHED_TIMEOUT_SECONDS",
        since_start=False,
    ),
    Wait(
        kind="status_check",
        job=silent_head,
        cause="the head does not answer: ",
        reason="JobStatusCheckTimeoutExceeded",
        setting="JOBLEDGER_STATUS_CHECK_TIMEOUT_SECONDS",
        since_start=False,
    ),
]


def shown(site: Site, *words: str) -> list[Row]:
    """Return what `jobledger decisions` shows."""
    rows: list[Row] = json.loads(site.terminal.jobledger("decisions", *words, "-o", "json").out)
    return rows


@pytest.mark.parametrize("wait", WAITS, ids=lambda wait: wait.kind)
def test_what_waits_is_shown_with_its_instant_and_cause(
    site: Site, witness: Witness, wait: Wait
) -> None:
    long = {wait.setting: str(LONG_SECONDS)} if wait.setting else {}
    short = {wait.setting: "1"} if wait.setting else {}
    with site.controller(**long):
        site.submit(wait.job())
        site.wait_for_true(
            f"{wait.kind} is pending",
            "SELECT count(*) = 1 FROM decision WHERE kind = %s AND state = 'pending'",
            wait.kind,
        )
        (row,) = [item for item in shown(site) if item["kind"] == wait.kind]
        assert row["job"] == f"{site.api.namespace}/waits"
        assert row["cause"].startswith(wait.cause)
        assert_instant(site, wait, row)
    with site.controller(**short):
        if wait.change:
            site.change("waits", **wait.change)
        status = witness.wait_for_phase("waits", wait.phase)
    assert status["reason"] == wait.reason
    ended = [item for item in shown(site, "waits") if item["kind"] == wait.kind]
    assert [item["state"] for item in ended] == ["cancelled", "fired"]
    assert ended[0]["resolution"] == "its instant has changed"


def assert_instant(site: Site, wait: Wait, row: Row) -> None:
    """Check that a decision is due as long after what it counts from as was asked for."""
    due_at = datetime.fromisoformat(row["due_at"])
    scheduled_at = datetime.fromisoformat(row["scheduled_at"])
    long = timedelta(seconds=LONG_SECONDS)
    if wait.since_start:
        assert due_at == site.value("SELECT started_at FROM attempt") + long
    else:
        assert scheduled_at <= due_at <= scheduled_at + long
        assert due_at > site.value("SELECT started_at FROM attempt") + long
