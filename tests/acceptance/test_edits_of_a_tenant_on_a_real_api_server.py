"""A tenant edits jobs of theirs hundreds of times, while another's jobs train.

On a real API server, with the whole service as a process: what is edited stays within its budget of
events, also where what it is given is hostile, and the other tenant's jobs complete.
"""

import json
import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from jobledger.core.batchjob.names import MANAGED_BY
from tests.acceptance.hostile_jobs import JSONS, WORDS, YAMLS
from tests.acceptance.jobs import rayjob, runs
from tests.acceptance.real_site import leave_nothing, real_site
from tests.acceptance.tenant_site import RUNTIME
from tests.acceptance.trainjobs import RUNTIMES, Trainings, trainings, trainjob
from tests.acceptance.witness import RAYJOBS, TRAINJOBS
from tests.adapters.real_api.strangers import user_of
from tests.support.api import JOBS, Api, Reply, own_namespace
from tests.support.apiserver import ApiServer
from tests.support.processes import Terminal
from tests.support.waiting import wait_until

pytestmark = [
    pytest.mark.faults,
    pytest.mark.apiserver,
    pytest.mark.postgres,
    pytest.mark.timeout(600),
]

Document = dict[str, Any]

PER_HOUR = 100
MOST = PER_HOUR + 60
"""Events of a job in an hour: its budget, and more than a single turn of these jobs brings."""
OTHERS = 100
"""More requests than the jobs of the other tenant are worth."""
EDITS, HOSTILE = 200, 40
"""Of each of the three jobs: more than `MOST` by far."""
REFUSED = (400, 422)
KUBERNETES_EVENTS = "v1/events"
MAY_CREATE = {"ray.io": ["rayjobs"], "trainer.kubeflow.org": ["trainjobs"], "batch": ["jobs"]}
KINDS = {RAYJOBS: "RayJob", TRAINJOBS: "TrainJob", JOBS: "Job"}


@pytest.fixture
def calm(jobset_server: ApiServer, terminal: Terminal, ledger_url: str) -> Iterator[Trainings]:
    """The other tenant, whose jobs have a node to run on."""
    with real_site(jobset_server, terminal, ledger_url) as site:
        admin = jobset_server.api()
        with trainings(site, admin) as watched:
            yield watched
        admin.pool.clear()


@pytest.fixture
def busy(jobset_server: ApiServer) -> Iterator[Api]:
    """The tenant who edits, in a namespace without a node."""
    admin = jobset_server.api()
    with own_namespace(admin) as api:
        assert api.create(RUNTIMES, RUNTIME).code == 201  # Created
        try:
            yield user_of(api, "author", MAY_CREATE, "patch")
        finally:
            leave_nothing(api)
    admin.pool.clear()


def test_a_tenant_who_edits_hundreds_of_times_holds_up_nobody(calm: Trainings, busy: Api) -> None:
    site, counter = calm.site, calm.site.directory / "counter"
    namespaced = calm.site.api.namespace
    calm.runtime({**RUNTIME, "metadata": {**RUNTIME["metadata"], "namespace": namespaced}})
    settings = {
        "JOBLEDGER_JOB_EVENTS_PER_HOUR": str(PER_HOUR),
        "JOBLEDGER_NAMESPACES": json.dumps([namespaced, busy.namespace]),
        "JOBLEDGER_JOB_KINDS": json.dumps(list(KINDS.values())),
    }
    with site.controller(**settings) as controller:
        made = (rayjob("busy", "true"), a_training("busy"), a_job("busy"))
        for resource, manifest in zip(KINDS, made, strict=True):
            assert busy.create(resource, manifest).code == 201  # Created
        editing = [edited(busy, one) for one in KINDS]
        for thread, _ in editing:
            thread.start()
        site.submit(rayjob("calm", f"sh -c 'echo run >> {counter}'"))
        calm.submit(a_training("calm"))
        calm.wait_for("calm", "Complete")
        complete(calm, "calm")
        for thread, answers in editing:
            thread.join()
            assert len(answers) == EDITS
            assert Counter(answers)[200] >= EDITS - HOSTILE
            assert set(answers) <= {200, *REFUSED}
        site.submit(rayjob("later", f"sh -c 'echo run >> {counter}'"))
        complete(calm, "later")
        assert "job_slowed" in controller.log
        writes = ("jobledger_status_writes_total", "jobledger_effects_total")
        assert sum(map(controller.metric, writes)) <= len(KINDS) * MOST + OTHERS
        assert controller.metric("jobledger_poisoned_observations_total") == 0
        assert controller.get("/readyz")[0] == 200
        assert "Traceback" not in controller.log
    assert runs(counter) == 2
    bounded(calm, busy)
    site.terminal.jobledger("verify")
    site.terminal.jobledger("rebuild", "--check")


def edited(busy: Api, resource: str) -> tuple[threading.Thread, list[int]]:
    """Return who edits a job, and the codes with which it is answered."""
    answers: list[int] = []
    codes = (reply.code for reply in edits(busy, resource))
    return threading.Thread(target=answers.extend, args=(codes,)), answers


def complete(calm: Trainings, name: str) -> None:
    def is_complete() -> bool:
        status = calm.site.api.get(RAYJOBS, name).body.get("status") or {}
        return bool(status.get("jobDeploymentStatus") == "Complete")

    wait_until(is_complete, f"{name} is Complete")


def bounded(calm: Trainings, busy: Api) -> None:
    """Check that what the busy jobs brought about is within their budget of an hour."""
    written = "SELECT count(*) FROM event JOIN job USING (stream_id) WHERE job.name = 'busy'"
    for kind in KINDS.values():
        assert 0 < calm.site.value(f"{written} AND job.kind = '{kind}'") <= MOST
    admin = calm.admin
    told = Api(admin.url, admin.pool, busy.namespace, admin.headers).list(KUBERNETES_EVENTS)
    ours = [one for one in told.body["items"] if one["involvedObject"]["name"] == "busy"]
    assert len(ours) <= len(KINDS) * MOST


def a_training(name: str) -> Document:
    return trainjob(name, "true", runtime="plain")


def a_job(name: str) -> Document:
    """Return a Job that is given to the service."""
    containers = [{"name": "main", "image": "etl:1"}]
    template = {"spec": {"restartPolicy": "Never", "containers": containers}}
    spec = {"managedBy": MANAGED_BY, "template": template}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec}


def edits(busy: Api, resource: str) -> Iterator[Reply]:
    """Edit a job, now its annotations, now its specification, and yield the answers."""
    hostile, every = list(hostile_edits()), EDITS // HOSTILE
    for number in range(EDITS):
        is_hostile, turn = number % every == 0, number // every
        patch = hostile[turn % len(hostile)] if is_hostile else plain(resource, number)
        yield busy.merge(resource, "busy", patch)


def plain(resource: str, number: int) -> Document:
    if number % 2:
        return {"metadata": {"annotations": {"number": str(number)}}}
    suspend = number % 4 == 0
    return {
        "spec": {"suspend": suspend, **({"backoffLimit": number} if resource == RAYJOBS else {})}
    }


def hostile_edits() -> Iterator[Document]:
    for word in WORDS:
        given = {"jobledger.dev/retry-policy": word, "jobledger.dev/retry-x": word, "a": word}
        yield {"metadata": {"annotations": given}}
    yield {"metadata": {"annotations": {f"a.b/k{number}": "password=" for number in range(3000)}}}
    yield {"metadata": {"annotations": {f"a.b/k{number}": None for number in range(3000)}}}
    yield {"metadata": {"annotations": {"a.b/k": "v" * 100_000}}}
    yield {"metadata": {"annotations": {"a.b/k": None}}}  # five edits later
    yield {"metadata": {"finalizers": None}}
    yield {"metadata": {"labels": {"jobledger.dev/attempt": "-5", "ray.io/cluster": "x"}}}
    for text in JSONS:
        yield {"spec": {"entrypointResources": text}}
    for text in YAMLS:
        yield {"spec": {"runtimeEnvYAML": text}}
    yield {"spec": {"backoffLimit": 2**31 - 1, "activeDeadlineSeconds": -1}}
