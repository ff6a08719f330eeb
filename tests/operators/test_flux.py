"""A Flux job beside the real Trainer manager and the real JobSet controller.

Flux itself is in an image that nobody has here, and its scripts write to places of the root file
system. So its Pods are bound to a node that is none of this machine's, and a test says what became
of them, as its kubelet would. What the scripts do is compared in `tests/upstream`.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from jobledger.core.trainjob.names import curve_secret_name, flux_scripts_name
from tests.acceptance.trainjobs import RUNTIMES, torch_runtime, trainjob
from tests.acceptance.witness import JOBSETS, TRAINJOBS
from tests.operators.stage import SEEN_SECONDS, Stage
from tests.operators.test_trainer import remove_webhooks, suspend
from tests.support.api import CONFIGMAPS, PODS
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.apiserver, pytest.mark.postgres]

NODES = 2
SECRETS = "v1/secrets"
RUNNING = {
    "phase": "Running",
    "conditions": [{"type": "Ready", "status": "True"}],
    "startTime": "2026-01-01T00:00:00Z",
}
ENDED = {"phase": "Succeeded", "conditions": [{"type": "Ready", "status": "False"}]}


@pytest.fixture(autouse=True)
def without_webhooks_afterwards(stage: Stage) -> Iterator[None]:
    """Leave none of Trainer's webhooks behind, which would refuse what others make."""
    yield
    remove_webhooks(stage.admin)


def flux_runtime() -> dict[str, Any]:
    """Return a runtime whose nodes run under Flux, on a node of somebody else."""
    runtime = torch_runtime("flux")
    runtime["spec"]["mlPolicy"] = {"numNodes": NODES, "flux": {"numProcPerNode": 1}}
    (group,) = runtime["spec"]["template"]["spec"]["replicatedJobs"]
    elsewhere = {"nodeName": "a-node-with-flux", "terminationGracePeriodSeconds": 0}
    group["template"]["spec"]["template"]["spec"] |= elsewhere
    return runtime


def nodes_are(stage: Stage, status: dict[str, Any]) -> None:
    """Say of all nodes, once all are there, what their kubelet would."""

    def pods() -> list[dict[str, Any]]:
        found = stage.admin.list(PODS).body["items"]
        return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]

    wait_until(lambda: len(pods()) == NODES, "all nodes have their Pods", SEEN_SECONDS)
    for pod in pods():
        reply = stage.admin.merge(PODS, pod["metadata"]["name"], {"status": status}, "status")
        assert reply.code == 200, reply.message  # OK


def begin(stage: Stage) -> None:
    """Let all nodes run."""
    nodes_are(stage, RUNNING)
    stage.wait_for_counts("fit", active=1, ready=1)


def pause(stage: Stage) -> None:
    """Suspend the job; return once it shows it and its nodes are gone."""
    suspend(stage, suspended=True)
    stage.wait_for_condition("fit", "Suspended")
    wait_until(lambda: not stage.admin.list(PODS).body["items"], "its nodes are gone", SEEN_SECONDS)


def made(stage: Stage) -> dict[str, Any]:
    """Return what was made of the job: its nodes, the key and the scripts."""
    jobset = stage.admin.get(JOBSETS, "fit").body
    (group,) = jobset["spec"]["replicatedJobs"]
    secret = stage.admin.get(SECRETS, curve_secret_name("fit")).body
    return {
        "uids": (jobset["metadata"]["uid"], secret["metadata"]["uid"]),
        "pods": group["template"]["spec"],
        "key": secret["data"],
        "scripts": stage.admin.get(CONFIGMAPS, flux_scripts_name("fit")).body["data"],
    }


def test_a_flux_job_is_taken_over_and_given_back(stage: Stage) -> None:
    """Nodes (played, without Flux) and key stay Trainer's; scripts are of whoever runs the job."""
    namespace = stage.site.api.namespace
    with stage.trainer():
        assert stage.admin.create(RUNTIMES, flux_runtime()).code == 201  # Created
        job = trainjob("fit", "python", "train.py", nodes=NODES, runtime="flux")
        reply = stage.site.api.create(TRAINJOBS, job)
        assert reply.code == 201, reply.message  # Created
        begin(stage)
        by_trainer = made(stage)
    remove_webhooks(stage.admin)
    taken = stage.service("controller", "--control-namespace", namespace, "--take-over")
    with taken:
        stage.wait_for_phase("fit", "Running")
        pause(stage)
        stage.wait_for_phase("fit", "Suspended")
        suspend(stage, suspended=False)
        stage.wait_for_condition("fit", "Suspended", "False")
        begin(stage)
        here = made(stage)
        stage.wait_for_phase("fit", "Running", 2)
        taken.terminate()
    with stage.trainer(), stage.recorder(replica="again"):
        stage.wait_for_event("fit", "ControlReleased")
        pause(stage)
        suspend(stage, suspended=False)
        begin(stage)
        given_back = made(stage)
        nodes_are(stage, ENDED)
        stage.wait_for_condition("fit", "Complete")
        stage.wait_for_phase("fit", "Complete")
    assert {**here, "scripts": None} == {**by_trainer, "scripts": None}
    assert set(here["scripts"]) == set(by_trainer["scripts"])
    assert here["scripts"] != by_trainer["scripts"], "ours are our own"
    assert given_back == by_trainer
    refused = "SELECT count(*) FROM event WHERE type IN ('JobsCreationFailed', 'EffectFailed')"
    assert stage.site.value(refused) == 0
    stage.forensics_hold("fit")
