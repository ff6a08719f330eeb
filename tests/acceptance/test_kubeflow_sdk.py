"""The Kubeflow SDK's TrainerClient works with our controller, pointed at the sandbox.

The SDK asks for an older Kubernetes client than we do, so it has an environment of its own.
"""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from jobledger.sandbox.wiring import Sandbox
from tests.acceptance.site import Site
from tests.acceptance.trainjobs import CLUSTER_RUNTIMES, torch_runtime, upstreams_runtime
from tests.support.api import api_at
from tests.support.processes import Terminal
from tests.support.sdk import sdk_python

pytestmark = pytest.mark.postgres

SECONDS = 300.0
"""Limit of one session; the SDK looks at a job once a second."""

BRITTLE = "torch-brittle"
"""A runtime whose failed nodes are not tried again."""
SESSION = Path(__file__).with_name("sdk_session.py")


@pytest.fixture
def user(site: Site, sandbox: Sandbox) -> Terminal:
    """Somebody with the SDK in the environment that the sandbox prints; the runtime is there."""
    sdk_python()
    server = api_at(sandbox.api.url)
    brittle = torch_runtime(BRITTLE)
    brittle["kind"] = "ClusterTrainingRuntime"
    for runtime in (upstreams_runtime("torch"), brittle):
        reply = server.request("POST", CLUSTER_RUNTIMES, runtime)
        assert reply.code in (201, 409), reply.message
    server.pool.clear()
    return site.terminal.with_environment(PYTHONPATH="")


def _session(  # what it printed
    site: Site,
    user: Terminal,
    statuses: Sequence[str],
    runtime: str = "torch-distributed",
    **settings: str,
) -> Any:  # noqa: ANN401
    gate = str(site.directory / "gate")
    with site.controller(**settings):
        words = [str(sdk_python()), str(SESSION), site.api.namespace, runtime, gate, *statuses]
        ended = subprocess.run(
            words, env=user.environment, capture_output=True, timeout=SECONDS, check=False
        )
        assert ended.returncode == 0, ended.stderr.decode(errors="replace")
        return json.loads(ended.stdout)


def test_in_the_default_setting_it_trains_sees_it_run_waits_and_reads_logs(
    site: Site, user: Terminal
) -> None:
    said = _session(site, user, ["Running", "Complete"])
    assert "torch-distributed" in said["runtimes"]
    assert said["reached"] == ["Running", "Complete"]
    assert said["logs"] == {
        "node-0": ["rank 0 of 2", "trained"],
        "node-1": ["rank 1 of 2", "trained"],
    }
    assert said["steps"] == {"node-0": "Succeeded", "node-1": "Succeeded"}
    assert (said["nodes"], said["listed"], said["left"]) == (2, True, [])


def test_in_the_default_setting_it_reads_logs_and_events_of_the_node_that_failed(
    site: Site, user: Terminal
) -> None:
    said = _session(site, user, ["Running", "Failed"], BRITTLE)
    assert said["reached"] == ["Running", "Failed"]
    assert said["logs"]["node-1"] == ["rank 1 of 2", "no memory left"]
    assert said["steps"]["node-1"] == "Failed"
    assert "TrainJob: TrainJobFailed" in said["events"]


def test_with_upstreams_conditions_it_sees_the_job_run(site: Site, user: Terminal) -> None:
    settings = {"JOBLEDGER_TRAINJOB_CONDITIONS": "upstream"}
    said = _session(site, user, ["Running", "Complete"], **settings)
    assert said["reached"] == ["Running", "Complete"]


def test_with_the_seeds_conditions_it_waits_for_the_end(site: Site, user: Terminal) -> None:
    """Created is always there, and hides from it that the job runs."""
    said = _session(site, user, ["Complete"], JOBLEDGER_TRAINJOB_CONDITIONS="seed")
    assert said["reached"] == ["Complete"]
