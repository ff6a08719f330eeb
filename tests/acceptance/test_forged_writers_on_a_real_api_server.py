"""A tenant without any right on a status says in `managedFields` that another controller wrote it.

On a real API server, which keeps whatever the author of an object puts there. Beside the tenant's
jobs another's go on, in the same namespace.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from jobledger.core.batchjob.names import MANAGED_BY
from tests.acceptance.site import Site
from tests.acceptance.tenant_site import tenant_site
from tests.acceptance.trainjobs import trainjob
from tests.acceptance.witness import RAYJOBS, TRAINJOBS
from tests.adapters.real_api.strangers import user_of
from tests.support.api import JOBS, Api, rayjob
from tests.support.apiserver import ApiServer
from tests.support.processes import Controller, Terminal
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.faults, pytest.mark.apiserver, pytest.mark.postgres]

Document = dict[str, Any]


MAY_CREATE = {"ray.io": ["rayjobs"], "trainer.kubeflow.org": ["trainjobs"], "batch": ["jobs"]}


@pytest.fixture
def site(api_server: ApiServer, terminal: Terminal, ledger_url: str) -> Iterator[Site]:
    with tenant_site(api_server, terminal, ledger_url) as made:
        admin = api_server.api()
        root = Api(admin.url, admin.pool, made.api.namespace, admin.headers)
        yield replace(made, api=user_of(root, "author", MAY_CREATE, "update"))
        admin.pool.clear()


def forged(manager: str, at: str, *fields: str) -> list[Document]:
    """Return entries that say who wrote the status: of its subresource and of the object."""
    entry = {
        "manager": manager,
        "operation": "Update",
        "time": at,
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:status": {f"f:{field}": {} for field in fields}},
    }
    return [{**entry, "subresource": "status"}, entry]


WRITERS = {
    RAYJOBS: ("ray-operator", "jobDeploymentStatus", "jobId"),
    TRAINJOBS: ("trainer-controller-manager", "conditions", "jobsStatus"),
    JOBS: ("kube-controller-manager", "conditions", "startTime", "active", "failed"),
}
"""Who else writes the status of such a job, and which fields of it."""

ALL_KINDS = {"JOBLEDGER_JOB_KINDS": '["RayJob", "TrainJob", "Job"]'}


def submit(site: Site, resource: str, manifest: Document, at: str = "") -> None:
    """Create a job; with a date, with entries of another controller."""
    manager, *fields = WRITERS[resource]
    if at:
        manifest["metadata"]["managedFields"] = forged(manager, at, *fields)
    assert site.api.create(resource, manifest).code == 201  # Created


def forge(site: Site, resource: str, name: str, at: str) -> None:
    """Replace what is said of the writers of a job that is there."""
    manager, *fields = WRITERS[resource]
    version = resource.rpartition("/")[0]

    def is_written() -> bool:
        found = dict(site.api.get(resource, name).body)
        found["metadata"]["managedFields"] = [
            {**entry, "apiVersion": version} for entry in forged(manager, at, *fields)
        ]
        reply = site.api.put(resource, found)
        assert reply.code in (200, 409), reply
        return reply.code == 200  # OK; else the controller wrote in between

    wait_until(is_written, "the entries are written")
    kept = site.api.get(resource, name).body["metadata"]["managedFields"]
    assert manager in {entry["manager"] for entry in kept}, "the API server keeps them"


def a_job(name: str, **spec: object) -> Document:
    """Return a Job that is given to the service."""
    containers = [{"name": "main", "image": "etl:1"}]
    template = {"spec": {"restartPolicy": "Never", "containers": containers}}
    whole = {"managedBy": MANAGED_BY, "template": template, **spec}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": whole}


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def wait_until_driven(site: Site, *names: str) -> None:
    """Return once each job has something of its own, and a status that says so."""
    for name in names:
        site.wait_for_true(
            f"{name} is driven",
            "SELECT EXISTS (SELECT FROM event e JOIN job j USING (stream_id) WHERE j.name = %s"
            " AND e.type = 'StatusPublished') AND EXISTS (SELECT FROM effect f"
            " JOIN job j USING (stream_id) WHERE j.name = %s AND f.state = 'succeeded')",
            name,
            name,
        )


def wait_until_failed(site: Site, name: str) -> None:
    """Return once a Job shows its end: nothing writes its status any more."""

    def is_failed() -> bool:
        conditions = site.api.get(JOBS, name).body.get("status", {}).get("conditions", [])
        return "Failed" in {one["type"] for one in conditions}

    wait_until(is_failed, f"{name} has failed")


def assert_nothing_is_let_go(site: Site, controller: Controller) -> None:
    assert controller.get("/readyz")[0] == 200
    assert "another controller" not in controller.get("/readyz")[1]
    assert "control_refused" not in controller.log
    assert not site.value("SELECT EXISTS (SELECT FROM event WHERE type = 'ControlReleased')")


def test_forged_writers_refuse_nothing_while_running_or_at_the_next_start(site: Site) -> None:
    """Exit code 4 at the start and a namespace that was only recorded were the answer before."""
    tenants = ((RAYJOBS, "mine"), (TRAINJOBS, "fit"), (JOBS, "etl"), (JOBS, "late"))
    with site.controller(**ALL_KINDS) as controller:
        submit(site, RAYJOBS, rayjob("mine"), "2099-01-01T00:00:00Z")
        submit(site, TRAINJOBS, trainjob("fit", "true", runtime="plain"), now())
        submit(site, JOBS, a_job("etl"), now())
        submit(site, JOBS, a_job("late", activeDeadlineSeconds=1))
        submit(site, JOBS, a_job("ended", activeDeadlineSeconds=1))
        submit(site, RAYJOBS, rayjob("neighbour"))
        wait_until_driven(site, "mine", "fit", "etl", "late", "neighbour")
        for name in ("late", "ended"):
            wait_until_failed(site, name)
        for resource, name in tenants:
            forge(site, resource, name, now())
        submit(site, RAYJOBS, rayjob("later"))
        submit(site, TRAINJOBS, trainjob("later-fit", "true", runtime="plain"))
        submit(site, JOBS, a_job("later-etl"))
        wait_until_driven(site, "later", "later-fit", "later-etl")
        assert_nothing_is_let_go(site, controller)
    for resource, name in tenants:
        forge(site, resource, name, now())
    with site.controller(**ALL_KINDS) as controller:  # it starts, and is ready
        submit(site, RAYJOBS, rayjob("after"))
        submit(site, TRAINJOBS, trainjob("after-fit", "true", runtime="plain"))
        submit(site, JOBS, a_job("after-etl"))
        wait_until_driven(site, "after", "after-fit", "after-etl")
        for resource, name in (*tenants, (JOBS, "ended")):
            forge(site, resource, name, now())
        submit(site, RAYJOBS, rayjob("last"))
        submit(site, JOBS, a_job("last-etl"))
        wait_until_driven(site, "last", "last-etl")
        assert_nothing_is_let_go(site, controller)
        told = site.terminal.jobledger("doctor", code=None).everything
        assert "other-controllers" in told
        assert "only the ledger tells" not in told
        without = site.terminal.jobledger("doctor", "--only", "cluster", code=None).everything
        assert "note    other-controllers" in without
        assert "only the ledger tells" in " ".join(without.split())
