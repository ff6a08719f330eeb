"""A cluster with the definitions of one of the two projects only, in the default setting."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jobledger.sandbox.wiring import Sandbox, start_sandbox
from tests.acceptance.jobs import rayjob
from tests.acceptance.site import Site
from tests.acceptance.trainjobs import trainings, trainjob, upstreams_runtime
from tests.acceptance.witness import RAYJOBS, TRAINJOBS, Witness
from tests.support.api import api_at

pytestmark = pytest.mark.postgres

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
KUBERAYS = ("rayjobs.ray.io", "rayclusters.ray.io")
TRAINERS = tuple(
    f"{kind}.trainer.kubeflow.org"
    for kind in ("trainjobs", "trainingruntimes", "clustertrainingruntimes")
)


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[Sandbox]:
    """A sandbox of its own: what it serves is changed."""
    running = start_sandbox(tmp_path / "sandbox", "127.0.0.1", 0)
    yield running
    running.stop()


def without(sandbox: Sandbox, names: tuple[str, ...]) -> list[dict[str, Any]]:
    """Take definitions away; return them, to be made again."""
    server = api_at(sandbox.api.url)
    taken = [server.request("GET", f"{DEFINITIONS}/{name}").body for name in names]
    for name in names:
        assert server.request("DELETE", f"{DEFINITIONS}/{name}").code == 200, name
    return [{**one, "metadata": {"name": one["metadata"]["name"]}, "status": {}} for one in taken]


def again(sandbox: Sandbox, definitions: list[dict[str, Any]]) -> None:
    """Install definitions."""
    for one in definitions:
        reply = api_at(sandbox.api.url).request("POST", DEFINITIONS, one)
        assert reply.code == 201, reply.message


def test_with_trainer_alone_trainjobs_are_controlled(site: Site, sandbox: Sandbox) -> None:
    taken = without(sandbox, KUBERAYS)
    try:
        assert site.api.list(RAYJOBS).code == 404, "they are not served"
        with (
            trainings(site, api_at(sandbox.api.url)) as at,
            site.controller() as controller,
        ):
            at.runtime(upstreams_runtime("torch"))
            at.submit(trainjob("alone", "true"))
            assert at.wait_for("alone", "Complete")["reason"] == "AllJobsCompleted"
            assert controller.get("/readyz")[0] == 200
    finally:
        again(sandbox, taken)


def test_with_kuberay_alone_rayjobs_are_controlled(site: Site, sandbox: Sandbox) -> None:
    taken = without(sandbox, TRAINERS)
    try:
        assert site.api.list(TRAINJOBS).code == 404, "they are not served"
        with Witness(site.api) as witness, site.controller() as controller:
            site.submit(rayjob("alone", "true"))
            witness.wait_for_status("alone", jobDeploymentStatus="Complete")
            assert controller.get("/readyz")[0] == 200
    finally:
        again(sandbox, taken)
