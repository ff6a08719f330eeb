"""`kubectl get rayjobs -w` shows a retried job with upstream's columns, phase by phase."""

import subprocess
from pathlib import Path

import pytest

from tests.acceptance.jobs import counting, rayjob
from tests.acceptance.site import Site
from tests.acceptance.witness import Witness
from tests.support.kubectl import KUBECTL, needs_kubectl
from tests.support.waiting import wait_until

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.kubectl,
    needs_kubectl,
]

COLUMNS = "NAME JOB STATUS DEPLOYMENT STATUS RAY CLUSTER NAME START TIME END TIME AGE"
PHASES = ("Initializing", "Running", "Retrying", "Complete")


def test_the_phases_of_a_retried_job_in_their_order(
    site: Site, witness: Witness, tmp_path: Path
) -> None:
    assert KUBECTL
    output = tmp_path / "watched"
    words = [KUBECTL, "get", "rayjobs", "-n", site.api.namespace, "-w"]
    with (
        output.open("w") as file,
        site.controller(),
        subprocess.Popen(words, env=dict(site.terminal.environment), stdout=file) as watching,
    ):
        try:
            site.submit(rayjob("first", "true", suspend=True))
            wait_until(lambda: "first" in output.read_text(), "kubectl watches")
            site.submit(rayjob("lucky", counting(tmp_path / "n", fails=1), backoffLimit=1))
            status = witness.wait_for_phase("lucky", "Complete")
            wait_until(lambda: "Complete" in output.read_text(), "kubectl shows the end")
        finally:
            watching.kill()
    header, *lines = output.read_text().splitlines()
    assert header.split() == COLUMNS.split()
    lines = [line for line in lines if line.startswith("lucky ")]
    shown = [word for line in lines for word in line.split() if word in PHASES]
    changes = [one for at, one in enumerate(shown) if at == 0 or one != shown[at - 1]]
    assert changes == [*PHASES[:3], "Initializing", "Running", "Complete"]
    assert lines[-1].split()[:4] == ["lucky", "SUCCEEDED", "Complete", status["rayClusterName"]]


def test_kubectl_applies_what_jobledger_runs(site: Site, witness: Witness, tmp_path: Path) -> None:
    """The sample of the repository, as the README says it; its counter is kept in our directory."""
    assert KUBECTL
    sample = Path(__file__).parents[2] / "ops" / "samples" / "retry.yaml"
    file = tmp_path / "retry.yaml"
    file.write_text(sample.read_text().replace('"/tmp/', f'"{tmp_path}/'))
    with site.controller():
        words = [KUBECTL, "apply", "-n", site.api.namespace, "-f", str(file)]
        assert site.terminal.run(words).out == "rayjob.ray.io/third-time-lucky created\n"
        status = witness.wait_for_phase("third-time-lucky", "Complete")
    assert (status["failed"], status["succeeded"]) == (2, 1)
