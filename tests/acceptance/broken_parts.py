"""What becomes of a job when something breaks between its parts, in every mode.

The stories are told on the sandbox and on a real API server alike.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.acceptance.jobs import rayjob, runs
from tests.acceptance.node import (
    WORKER,
    Fault,
    head_pod_is_killed,
    head_process_is_killed,
    node_is_gone,
    submitter_is_killed,
    worker_is_lost,
)
from tests.acceptance.site import Site
from tests.acceptance.test_retry import assert_one_after_the_other
from tests.acceptance.witness import RAYCLUSTERS, Witness

LIMIT_SECONDS = 60
"""A run that waits to be broken gives up after so long."""

ATTEMPTS = {
    1: ["Initializing", "Running", "Complete"],
    2: [*("Initializing", "Running", "Retrying"), *("Initializing", "Running", "Complete")],
}


def blocking(counter: Path, gate: Path, *, first: int) -> str:
    """Return an entrypoint whose first runs wait for the gate; later ones succeed at once."""
    return (
        f"sh -c 'echo run >> {counter}; [ $(wc -l < {counter}) -gt {first} ] && exit 0; n=0; "
        f"until [ -e {gate} ] || [ $n -ge {LIMIT_SECONDS * 10} ]; "
        "do sleep 0.1; n=$((n + 1)); done'"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """A mode, what breaks in it, and what is to become of the job."""

    mode: str
    fault: Fault
    attempts: int = 2
    reasons: tuple[str, ...] = ()
    """Any of these is the reason of the failed attempt."""
    spec: dict[str, Any] = field(default_factory=dict)
    workers: int = 0

    @property
    def name(self) -> str:
        """Return what the story is about."""
        once = ", once and for all" if self.spec else ""
        return f"{self.mode}: {self.fault.__name__}{once}"


SUBMITTER_GIVES_UP = {"submitterConfig": {"backoffLimit": 0}}

RETRIED = [
    Story(
        mode="K8sJobMode",
        fault=submitter_is_killed,
        reasons=("SubmissionFailed",),
        spec=SUBMITTER_GIVES_UP,
    ),
    *(
        Story(mode=mode, fault=fault, reasons=("AppFailed", "SubmissionFailed"))
        for mode in ("K8sJobMode", "HTTPMode", "SidecarMode")
        for fault in (head_pod_is_killed, head_process_is_killed, node_is_gone)
    ),
]
"""The attempt has failed and another succeeds. In SidecarMode the submitter goes with the head."""

SURVIVED = [
    Story(mode="K8sJobMode", fault=submitter_is_killed, attempts=1),
    *(
        Story(mode=mode, fault=worker_is_lost, attempts=1, workers=1)
        for mode in ("K8sJobMode", "HTTPMode", "SidecarMode")
    ),
]
"""The attempt goes on: another submitter follows the Ray job, another worker joins the head."""


def manifest_of(story: Story, counter: Path, gate: Path) -> dict[str, Any]:
    """Return the RayJob of a story."""
    entrypoint = blocking(counter, gate, first=1)
    job = rayjob("broken", entrypoint, mode=story.mode, backoffLimit=1, **story.spec)
    if story.workers:
        worker = {"spec": {"containers": [{"name": "ray-worker", "image": "rayproject/ray"}]}}
        numbers = {"replicas": story.workers, "minReplicas": 0, "maxReplicas": story.workers}
        group = {"groupName": "w", "rayStartParams": {}, "template": worker, **numbers}
        job["spec"]["rayClusterSpec"]["workerGroupSpecs"] = [group]
    return job


def tell(story: Story, site: Site, witness: Witness, directory: Path) -> None:
    """Break something under a running job, and see what becomes of it."""
    counter, gate = directory / "counter", directory / "gate"
    with site.controller():
        site.submit(manifest_of(story, counter, gate))
        witness.wait_for_status("broken", jobDeploymentStatus="Running", jobStatus="RUNNING")
        witness.wait_until(lambda: runs(counter) == 1, "the entrypoint runs")
        before = site.node.names(WORKER)
        story.fault(site.node)
        if story.attempts == 1:
            _goes_on(story, site, witness, before)
            gate.touch()
        status = witness.wait_for_phase("broken", "Complete")
    assert (status["succeeded"], status["failed"]) == (1, story.attempts - 1)
    assert witness.phases("broken") == ATTEMPTS[story.attempts]
    assert runs(counter) == story.attempts, "no run is silently repeated"
    clusters = witness.lives(RAYCLUSTERS)
    assert len({life.name for life in clusters}) == len(clusters) == story.attempts
    assert_one_after_the_other(clusters)
    ends = site.rows("SELECT outcome, reason, retried FROM attempt ORDER BY number")
    assert [row["outcome"] for row in ends] == ["failed"] * (story.attempts - 1) + ["succeeded"]
    for row in ends[:-1]:
        assert row["reason"] in story.reasons
        assert row["retried"]


def _goes_on(story: Story, site: Site, witness: Witness, before: list[str]) -> None:
    """Wait until what was broken has been put in place again."""
    if story.workers:
        witness.wait_until(
            lambda: bool(set(site.node.names(WORKER)) - set(before)), "another worker is there"
        )
    else:
        witness.wait_until(
            lambda: len(site.api.list("v1/pods", labelSelector="job-name").body["items"]) > 1,
            "another submitter is there",
        )
