"""Two ledgers on one real cluster, as the service account of `ops/rbac.yaml` with its bindings.

One acts, both say so, and the other goes on once the first has gone; for both kinds of job.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.sandbox.postgres.embedded import EmbeddedPostgres
from tests.acceptance.jobs import rayjob, runs, waiting_for
from tests.acceptance.real_site import real_site
from tests.acceptance.site import Site
from tests.acceptance.trainjobs import Trainings, torch_runtime, trainings, trainjob
from tests.acceptance.witness import JOBSETS, RAYCLUSTERS, RAYJOBS, Witness
from tests.support.api import Api, own_namespace
from tests.support.apiserver import ApiServer
from tests.support.postgres import fresh_database
from tests.support.processes import Controller, Terminal, killed_in_the_end
from tests.support.service_account import bound_account
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.faults, pytest.mark.apiserver, pytest.mark.postgres]

LEASES = "coordination.k8s.io/v1/leases"
EVENTS = "events.k8s.io/v1/events"
SEEN_SECONDS = 120.0
"""Limit of every wait: a lease takes 15 s to end, and a busy machine its time."""


@pytest.fixture
def claims(jobset_server: ApiServer) -> Iterator[Api]:
    """An administrator in the namespace that stands for `jobledger`."""
    admin = jobset_server.api()
    with own_namespace(admin) as api:
        yield api
    admin.pool.clear()


def acting_as(site: Site, kubeconfig: Path, claims: Api) -> Site:
    """Return the site whose service runs as an account and keeps its claims in a namespace."""
    named = {"KUBECONFIG": str(kubeconfig), "JOBLEDGER_CLAIM_NAMESPACE": claims.namespace}
    return replace(site, terminal=site.terminal.with_environment(**named))


@pytest.fixture
def site(
    jobset_server: ApiServer, claims: Api, terminal: Terminal, ledger_url: str
) -> Iterator[Site]:
    """A site whose service has the rights of `ops/rbac.yaml`, bound as they are there."""
    with (
        bound_account(jobset_server, claims) as kubeconfig,
        real_site(jobset_server, terminal, ledger_url) as made,
    ):
        yield acting_as(made, kubeconfig, claims)


@pytest.fixture
def second(site: Site, postgres_server: EmbeddedPostgres, ledger_template: str) -> Iterator[Site]:
    """The same site with a ledger of its own."""
    with fresh_database(postgres_server, ledger_template) as url:
        yield replace(
            site, terminal=site.terminal.with_environment(DATABASE_URL=url), database_url=url
        )


@contextmanager
def begun(site: Site, replica: str, **settings: str) -> Iterator[Controller]:
    """Start a controller without waiting until it is ready."""
    with killed_in_the_end(site.controller(replica, **settings)) as controller:
        controller.start(until_ready=False)
        yield controller


def says(controller: Controller, field: str, words: str) -> None:
    """Return once `/readyz` says something under `waits_for` or `notes`."""

    def said() -> bool:
        return words in " ".join(json.loads(controller.get("/readyz")[1]).get(field, []))

    wait_until(said, f"/readyz says under {field}: {words}", SEEN_SECONDS)


def of_doctor(site: Site, check: str) -> list[str]:
    """Return what `jobledger doctor` finds wrong in one check of the cluster."""
    asked = ("doctor", "--only", "cluster", "--output", "json")
    told = json.loads(site.terminal.jobledger(*asked, code=None).out)
    (found,) = (one for one in told if one["check"] == check)
    return [one["what"] for one in found["findings"]]


def test_of_two_ledgers_one_acts_and_the_other_goes_on(
    site: Site, second: Site, claims: Api
) -> None:
    gate, counter = site.directory / "gate", site.directory / "counter"
    until = waiting_for(gate, seconds=600)
    script = until.replace("sh -c 'n=0;", f"sh -c 'echo run >> {counter}; n=0;")
    trained = f"echo run >> {counter}-of-training; until [ -e {gate} ]; do sleep 0.2; done"
    with (
        trainings(site, claims) as at,
        Witness(at.admin, (RAYJOBS, RAYCLUSTERS)) as watched,
        begun(site, "first") as first,
    ):
        at.runtime(torch_runtime("torch"))
        site.submit(rayjob("ray", script))
        at.submit(trainjob("train", "sh", "-c", trained, runtime="torch"))
        watched.wait_for_status("ray", jobDeploymentStatus="Running")
        at.wait_for_counts("train", active=1, ready=1)
        with begun(second, "second") as late:
            both_say_so(first, late, second, claims)
            assert second.value("SELECT count(*) FROM event") == 0
            assert first.terminate() == 0
            second.wait_for_true(
                "both are taken over",
                "SELECT count(*) = 2 FROM event "
                "WHERE type IN ('RecoveredFromCluster', 'TrainJobAdopted')",
            )
            wait_until(lambda: late.get("/readyz")[0] == 200, "it is ready", SEEN_SECONDS)  # OK
            assert of_doctor(second, "other-ledgers") == []
            gate.touch()
            watched.wait_for_phase("ray", "Complete")
            at.wait_for("train", "Complete")
            assert late.terminate() == 0
        assert_nothing_was_done_twice(at, watched)
    assert (runs(counter), runs(Path(f"{counter}-of-training"))) == (1, 1)
    assert claims.list(LEASES).body["items"] == []


def both_say_so(first: Controller, late: Controller, second: Site, claims: Api) -> None:
    """Assert that each of two services says that another ledger is there."""
    says(late, "waits_for", "another ledger controls")
    says(first, "notes", "another ledger is to")
    assert first.get("/readyz")[0] == 200  # OK
    assert late.get("/readyz")[0] == 503  # Service Unavailable
    for controller in (first, late):
        assert controller.metric("jobledger_other_ledgers") == 1
        assert '"event": "other_ledger"' in controller.log
    (told,) = of_doctor(second, "other-ledgers")
    assert "would control the same jobs" in told
    asked = ("get", "--kubeconfig", second.terminal.environment["KUBECONFIG"])
    ended = second.terminal.jobledger(*asked)
    assert "another ledger controls jobs" in ended.err
    assert "the service of this one waits" in ended.err
    notes = {one["reason"]: one["note"] for one in claims.list(EVENTS).body["items"]}
    assert "Another ledger would control the same jobs" in notes["OtherLedger"]


def assert_nothing_was_done_twice(at: Trainings, watched: Witness) -> None:
    assert len(watched.lives(RAYCLUSTERS)) == 1
    assert len(at.witness.lives(JOBSETS)) == 1


@pytest.mark.parametrize("kind", ["RayJob", "Job"])
def test_ledgers_of_two_namespaces_meet_where_both_look(
    site: Site, second: Site, claims: Api, kind: str
) -> None:
    """A job elsewhere that names this controller would be controlled by both."""
    kinds = {"JOBLEDGER_JOB_KINDS": json.dumps([kind])}
    left, right = ({"JOBLEDGER_CONTROL": "namespaces", **kinds} for _ in range(2))
    left["JOBLEDGER_CONTROL_NAMESPACES"] = json.dumps([f"{claims.namespace}-left"])
    right["JOBLEDGER_CONTROL_NAMESPACES"] = json.dumps([f"{claims.namespace}-right"])
    with begun(site, "left", **left) as first:
        wait_until(lambda: first.get("/readyz")[0] == 200, "it is ready", SEEN_SECONDS)  # OK
        with begun(second, "right", **right) as late:
            says(late, "waits_for", "another ledger controls")
            says(first, "notes", "another ledger is to")
            assert late.get("/readyz")[0] == 503  # Service Unavailable


def test_without_the_right_to_keep_claims_it_is_said(
    jobset_server: ApiServer, claims: Api, terminal: Terminal, ledger_url: str
) -> None:
    """By the service, which controls jobs all the same, and by doctor."""
    with (
        bound_account(jobset_server, claims, without=("jobledger-claims",)) as kubeconfig,
        real_site(jobset_server, terminal, ledger_url) as made,
    ):
        site = acting_as(made, kubeconfig, claims)
        missing = {
            f"may not {verb} leases.coordination.k8s.io"
            for verb in ("list", "create", "patch", "delete")
        }
        with site.controller("unguarded") as controller, Witness(site.api, (RAYJOBS,)) as watched:
            says(controller, "notes", "another ledger on this cluster would not be noticed")
            assert controller.get("/readyz")[0] == 200  # OK
            assert '"event": "claim_not_kept"' in controller.log
            site.submit(rayjob("done", "true"))
            watched.wait_for_phase("done", "Complete")
        assert missing <= set(of_doctor(site, "permissions"))
        site.terminal.jobledger("doctor", "--only", "cluster", code=ExitCode.FOUND_WRONG)
