"""Each part of `ops/rbac.yaml` is enough for what it is for, and what lacks one says so.

The service acts as a user to whom single parts are bound, on a real API server.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.adapters.kube.checks.rights import rights
from tests.acceptance.jobs import rayjob
from tests.acceptance.real_site import real_site
from tests.acceptance.site import Site
from tests.acceptance.trainjob_stories import a_two_node_job_trains
from tests.acceptance.trainjobs import torch_runtime, trainings, trainjob
from tests.acceptance.witness import JOBSETS, Witness
from tests.support.apiserver import ApiServer
from tests.support.processes import Terminal

pytestmark = [pytest.mark.apiserver, pytest.mark.postgres]


@pytest.fixture
def rayjobs_only(api_server: ApiServer, terminal: Terminal, ledger_url: str) -> Iterator[Site]:
    """A site whose service has the part `rayjobs` and no other."""
    with real_site(api_server, terminal, ledger_url, "rayjobs-only") as site:
        yield site


@contextmanager
def seen(site: Site) -> Iterator[Witness]:
    with Witness(site.api) as witness:
        yield witness


def test_a_rayjob_is_run_with_the_part_for_rayjobs_alone(
    rayjobs_only: Site, api_server: ApiServer
) -> None:
    """TrainJobs are left alone, which is said once and is no reason not to be ready."""
    site, admin = rayjobs_only, api_server.api()
    with seen(site) as witness, site.controller() as controller:
        site.submit(rayjob("alone", "true", mode="K8sJobMode", shutdownAfterJobFinishes=True))
        status = witness.wait_for_phase("alone", "Complete")
        site.wait_for_true("nothing is left to do", "SELECT NOT open FROM job")
        assert controller.terminate() == 0
    assert (status["succeeded"], status["failed"]) == (1, 0)
    lines = [json.loads(line) for line in controller.log.splitlines() if line.startswith("{")]
    told = [line for line in lines if line["event"] == "kind_forbidden"]
    assert [line["kind"] for line in told] == ["TrainJob"]
    assert "leave TrainJob out of JOBLEDGER_JOB_KINDS" in told[0]["remedy"]
    troubles = [line for line in lines if line["event"] == "effect_failed"]
    assert troubles == []
    admin.pool.clear()


def test_doctor_names_the_part_that_is_missing(rayjobs_only: Site) -> None:
    asked = ("doctor", "--only", "cluster", "--output", "json")
    told = rayjobs_only.terminal.jobledger(*asked, code=ExitCode.FOUND_WRONG).out
    (found,) = (one for one in json.loads(told) if one["check"] == "permissions")
    missing = {one["what"]: one for one in found["findings"]}
    brought = {right.words for right in rights() if right.part == "rayjobs"}
    wanted = {
        f"may not {right.words}"
        for right in rights()
        if right.part in {"trainjobs", "evidence", "claims", "head-tokens", "mpi-keys"}
        and right.words not in brought
    }
    assert set(missing) == wanted
    assert missing["may not get secrets"]["severity"] == "note"
    assert missing["may not get pods --subresource=log"]["severity"] == "warning"
    assert missing["may not create jobsets.jobset.x-k8s.io"]["severity"] == "error"
    assert "the part trainjobs" in missing["may not create jobsets.jobset.x-k8s.io"]["remedy"]
    only = rayjobs_only.terminal.with_environment(JOBLEDGER_JOB_KINDS='["RayJob"]')
    told = only.jobledger(*asked, code=ExitCode.FOUND_WRONG).out
    assert "trainer.kubeflow.org" not in told


def test_a_trainjob_is_run_with_the_parts_for_both_kinds(
    jobset_server: ApiServer, terminal: Terminal, ledger_url: str
) -> None:
    admin = jobset_server.api()
    with (
        real_site(jobset_server, terminal, ledger_url, "both-kinds") as site,
        trainings(site, admin) as at,
        site.controller(),
    ):
        a_two_node_job_trains(at)
    admin.pool.clear()


def test_an_mpi_trainjob_without_the_part_for_keys_says_which_right_is_missing(
    jobset_server: ApiServer, terminal: Terminal, ledger_url: str
) -> None:
    admin = jobset_server.api()
    with (
        real_site(jobset_server, terminal, ledger_url, "both-kinds") as site,
        trainings(site, admin) as at,
        site.controller(),
    ):
        runtime = torch_runtime("mpi")
        runtime["spec"]["mlPolicy"] = {"numNodes": 2, "mpi": {"mpiImplementation": "OpenMPI"}}
        at.runtime(runtime)
        at.submit(trainjob("keyless", "true", nodes=2, runtime="mpi"))
        site.wait_for_true(
            "the missing right is said",
            "SELECT EXISTS (SELECT FROM event WHERE data::text LIKE %s)",
            "%forbidden%secrets%",
        )
        assert site.api.list(JOBSETS).body["items"] == []
    admin.pool.clear()
