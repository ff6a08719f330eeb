"""RayJobs on heads of the `ray` package: success, failure, stop, and a head that dies.

Real are the head, its job API, the jobs, and `ray job submit`, `status` and `logs` of the
submitter; KubeRay and the node are the sandbox's.
"""

import shlex
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from jobledger.adapters.ray.job_api import RayJobApi
from jobledger.sandbox.wiring import Sandbox
from tests.acceptance.broken_parts import ATTEMPTS, blocking
from tests.acceptance.jobs import rayjob, runs, waiting_for
from tests.acceptance.node import Fault, head_pod_is_killed, head_process_is_killed
from tests.acceptance.site import Site
from tests.acceptance.witness import RAYCLUSTERS, Witness

pytestmark = [pytest.mark.ray, pytest.mark.postgres, pytest.mark.timeout(600)]

MODES = pytest.mark.parametrize("mode", ["HTTPMode", "K8sJobMode"])
SLOW_SECONDS = 300.0
"""A real head takes some ten seconds to start, and much longer on a busy machine."""

ONE_AFTER_THE_OTHER = {"jobledger.dev/retry-after-pods-gone": "true"}
"""Two heads at once are too much for a small machine."""

PROGRAM = """
import ray

ray.init()


@ray.remote
def square(number):
    return number * number


assert ray.get([square.remote(number) for number in range(8)]) == [n * n for n in range(8)]
print("converged")
"""


@pytest.fixture
def patient(site: Site) -> dict[str, str]:
    """Settings of a controller that gives a busy machine time."""
    del site
    return {"JOBLEDGER_RAY_TIMEOUT_SECONDS": "10", "JOBLEDGER_POLL_INTERVAL_SECONDS": "1"}


def job(name: str, entrypoint: str, mode: str, **spec: Any) -> dict[str, Any]:  # noqa: ANN401 any JSON
    """Return a RayJob that leaves no head behind."""
    made = rayjob(name, entrypoint, mode=mode, shutdownAfterJobFinishes=True, **spec)
    made["metadata"]["annotations"] = ONE_AFTER_THE_OTHER
    return made


def wait_until_idle(site: Site, witness: Witness) -> None:
    """Return once no Pod is left: the next test starts a head of its own."""
    witness.wait_until(
        lambda: site.node.names("ray.io/cluster") == [], "the heads are gone", SLOW_SECONDS
    )


@MODES
def test_a_program_that_uses_ray_succeeds(
    site: Site,
    witness: Witness,
    patient: dict[str, str],
    ray_bin: Path,
    tmp_path: Path,
    mode: str,
) -> None:
    program = tmp_path / "train.py"
    program.write_text(PROGRAM)
    entrypoint = shlex.join([str(ray_bin / "python"), str(program)])
    with site.controller(**patient):
        site.submit(job("good", entrypoint, mode))
        status = witness.wait_for_phase("good", "Complete", SLOW_SECONDS)
        wait_until_idle(site, witness)
    assert (status["jobStatus"], status["succeeded"], status["failed"]) == ("SUCCEEDED", 1, 0)
    assert status["message"] == "Job finished successfully."
    assert status["rayJobInfo"]["startTime"] <= status["rayJobInfo"]["endTime"]


@MODES
def test_a_program_that_fails_says_how(
    site: Site, witness: Witness, patient: dict[str, str], mode: str
) -> None:
    with site.controller(**patient):
        site.submit(job("bad", "sh -c 'echo loss is NaN; exit 3'", mode))
        status = witness.wait_for_phase("bad", "Failed", SLOW_SECONDS)
        wait_until_idle(site, witness)
    assert (status["jobStatus"], status["reason"], status["failed"]) == ("FAILED", "AppFailed", 1)
    assert "loss is NaN" in status["message"]
    (verdict,) = site.rows("SELECT data FROM event WHERE type = 'RetryRefused'")
    assert (verdict["data"]["failure"], verdict["data"]["exit_code"]) == ("application", 3)


@MODES
def test_a_job_that_somebody_stops_is_complete(
    site: Site, witness: Witness, patient: dict[str, str], mode: str
) -> None:
    with site.controller(**patient):
        site.submit(job("halted", waiting_for(site.directory / "never", seconds=600), mode))
        witness.wait_for_status("halted", seconds=SLOW_SECONDS, jobStatus="RUNNING")
        shown = witness.status("halted")
        with closing(RayJobApi(call_seconds=30, proxies={"http": site.proxy_url})) as head:
            assert head.stop(shown["dashboardURL"], shown["jobId"])
        status = witness.wait_for_phase("halted", "Complete", SLOW_SECONDS)
        wait_until_idle(site, witness)
    assert (status["jobStatus"], status["succeeded"], status["failed"]) == ("STOPPED", 0, 0)


@MODES
@pytest.mark.parametrize("fault", [head_pod_is_killed, head_process_is_killed])
def test_a_head_that_is_killed_in_the_middle_is_followed_by_another(
    site: Site,
    witness: Witness,
    patient: dict[str, str],
    tmp_path: Path,
    mode: str,
    fault: Fault,
) -> None:
    counter, gate = tmp_path / "counter", tmp_path / "gate"
    with site.controller(**patient):
        site.submit(job("tough", blocking(counter, gate, first=1), mode, backoffLimit=1))
        witness.wait_for_status("tough", seconds=SLOW_SECONDS, jobStatus="RUNNING")
        witness.wait_until(lambda: runs(counter) == 1, "the entrypoint runs", SLOW_SECONDS)
        fault(site.node)
        status = witness.wait_for_phase("tough", "Complete", SLOW_SECONDS)
        wait_until_idle(site, witness)
    assert (status["succeeded"], status["failed"]) == (1, 1)
    assert runs(counter) == 2, "no run is silently repeated"
    assert witness.phases("tough") == ATTEMPTS[2]
    assert len({life.name for life in witness.lives(RAYCLUSTERS)}) == 2
    (verdict,) = site.rows("SELECT data FROM event WHERE type = 'RetryGranted'")
    assert verdict["data"]["reason"] in ("AppFailed", "SubmissionFailed")


def test_the_heads_are_real(sandbox: Sandbox, ray_bin: Path) -> None:
    """Else all of this would prove nothing."""
    del sandbox
    assert (ray_bin / "raylet").exists() or list(
        ray_bin.parent.glob("lib/*/site-packages/ray/core")
    )
