"""A stranger makes, in a namespace of their own, what names a job elsewhere as its controller.

On a real API server, which takes any owner reference. The version that it names is not served, so
the garbage collector, which cannot look the owner up, leaves the object where it is.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from jobledger.core.batchjob.names import MANAGED_BY, attempt_job_name
from tests.acceptance.real_site import leave_nothing
from tests.acceptance.site import Site
from tests.acceptance.tenant_site import RUNTIME, tenant_site
from tests.acceptance.trainjobs import RUNTIMES, trainjob
from tests.acceptance.witness import TRAINJOBS
from tests.support.api import JOBS, Api, Reply, own_namespace
from tests.support.apiserver import ApiServer
from tests.support.processes import Terminal

pytestmark = [pytest.mark.apiserver, pytest.mark.postgres]

Document = dict[str, Any]
JOBSETS = "jobset.x-k8s.io/v1alpha2/jobsets"
UNSERVED = "v0"
AT = "2026-11-21T12:30:00Z"
POD: Document = {
    "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "etl:1"}]}
}
ALL_KINDS = {"JOBLEDGER_JOB_KINDS": '["RayJob", "TrainJob", "Job"]'}


@pytest.fixture
def site(api_server: ApiServer, terminal: Terminal, ledger_url: str) -> Iterator[Site]:
    with tenant_site(api_server, terminal, ledger_url) as made:
        yield made


@pytest.fixture
def elsewhere(api_server: ApiServer) -> Iterator[Api]:
    """The stranger's namespace, in which the stranger may do everything."""
    admin = api_server.api()
    with own_namespace(admin) as api:
        assert api.create(RUNTIMES, RUNTIME).code == 201  # Created
        try:
            yield api
        finally:
            leave_nothing(api)
    admin.pool.clear()


def a_job(name: str) -> Document:
    """Return a Job that is given to the service."""
    spec = {"managedBy": MANAGED_BY, "template": POD}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec}


def forged(owner: Document, resource: str, name: str, spec: Document) -> Document:
    """Return an object that a job controls, as its owner reference has it."""
    version, kind = resource.rpartition("/")[0], {JOBS: "Job", JOBSETS: "JobSet"}[resource]
    reference = {
        "apiVersion": owner["apiVersion"].rpartition("/")[0] + "/" + UNSERVED,
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
    }
    metadata = {"name": name, "ownerReferences": [reference]}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}


def complete(api: Api, resource: str, made: Document, status: Document) -> None:
    """Create an object and say in its status that it is complete."""
    accepted(api.create(resource, made))
    reply = api.merge(resource, made["metadata"]["name"], {"status": status}, "status")
    assert reply.code == 200, reply.body


def accepted(reply: Reply) -> Document:
    assert reply.code == 201, reply.body  # Created
    return dict(reply.body)


def ended(*kinds: str) -> list[Document]:
    moments = {"lastTransitionTime": AT, "lastProbeTime": AT}
    return [
        {"type": kind, "status": "True", "reason": "Done", "message": "", **moments}
        for kind in kinds
    ]


def wait_for_event(site: Site, namespace: str, name: str, event: str) -> None:
    site.wait_for_true(
        f"{event} of {namespace}/{name}",
        "SELECT EXISTS (SELECT FROM event e JOIN job j USING (stream_id)"
        " WHERE j.namespace = %s AND j.name = %s AND e.type = %s)",
        namespace,
        name,
        event,
    )


def test_what_is_complete_elsewhere_ends_no_job(site: Site, elsewhere: Api) -> None:
    here, there = site.api.namespace, elsewhere.namespace
    both = json.dumps([here, there])
    with site.controller(JOBLEDGER_NAMESPACES=both, **ALL_KINDS) as controller:
        owner = Api(elsewhere.url, elsewhere.pool, here, elsewhere.headers)
        fit = accepted(owner.create(TRAINJOBS, trainjob("fit", "true", runtime="plain")))
        etl = accepted(owner.create(JOBS, a_job("etl")))
        wait_for_event(site, here, "fit", "JobSetObserved")
        wait_for_event(site, here, "etl", "AttemptJobObserved")
        jobs = [{"name": "node", "template": {"spec": {"template": POD}}}]
        left_alone = {"managedBy": "kueue.x-k8s.io/multikueue", "replicatedJobs": jobs}
        jobset = forged(fit, JOBSETS, "fit", left_alone)
        complete(elsewhere, JOBSETS, jobset, {"conditions": ended("Completed")})
        name = attempt_job_name("etl", etl["metadata"]["uid"], 1)
        job = forged(etl, JOBS, name, {"managedBy": "example.com/nobody", "template": POD})
        done = ended("SuccessCriteriaMet", "Complete")
        status = {"startTime": AT, "completionTime": AT, "succeeded": 1, "conditions": done}
        complete(elsewhere, JOBS, job, status)
        complete(elsewhere, JOBS, forged(fit, JOBS, "of-another-kind", job["spec"]), status)
        # What is made later in that namespace is seen later.
        later = trainjob("later-fit", "true", runtime="plain")
        accepted(elsewhere.create(TRAINJOBS, later))
        accepted(elsewhere.create(JOBS, a_job("later-etl")))
        wait_for_event(site, there, "later-fit", "JobSetObserved")
        wait_for_event(site, there, "later-etl", "AttemptJobObserved")
        ends = "SELECT count(*) FROM event WHERE type IN ('TrainJobCompleted', 'BatchJobCompleted')"
        assert site.value(ends) == 0
        assert controller.metric("jobledger_poisoned_observations_total") == 0
        assert "Traceback" not in controller.log
        for resource, one in ((TRAINJOBS, "fit"), (JOBS, "etl")):
            found = owner.get(resource, one).body.get("status", {}).get("conditions") or []
            assert "Complete" not in {item["type"] for item in found}
