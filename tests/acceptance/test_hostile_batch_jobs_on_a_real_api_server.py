"""A tenant with the least rights writes what may do harm into Jobs that are given to the service.

On a real API server, with the whole service as a process: as `test_hostile_jobs_on_a_real_api_
server` has it of the other kinds of job. The tenant has no right on any status.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from jobledger.core.batchjob.names import MANAGED_BY
from tests.acceptance.hostile_jobs import WORDS
from tests.acceptance.site import Site
from tests.acceptance.tenant_site import tenant_site
from tests.adapters.real_api.strangers import tenants_of
from tests.support.api import JOBS, Api
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
ANSWERED_SECONDS = 240.0
EVENTS_MAX = 60
"""Of any of these jobs: no loop is among them."""
REFUSED = (400, 413, 422)
LIMIT, DEADLINE = "jobledger.dev/backoff-limit", "jobledger.dev/job-deadline-seconds"
MOST = 2**31 - 1


@pytest.fixture
def site(api_server: ApiServer, terminal: Terminal, ledger_url: str) -> Iterator[Site]:
    with tenant_site(api_server, terminal, ledger_url) as made:
        yield made


@pytest.fixture
def tenant(api_server: ApiServer, site: Site) -> Iterator[Api]:
    """Somebody who may create Jobs in the namespace, and look at them."""
    admin = api_server.api()
    yield tenants_of(Api(admin.url, admin.pool, site.api.namespace, admin.headers), ["Job"])[0]
    admin.pool.clear()


def a_job(metadata: Document, pod: Document, labels: Document, **spec: object) -> Document:
    containers = [{"name": "main", "image": "etl:1", **pod}]
    template = {
        "metadata": {"labels": labels},
        "spec": {"restartPolicy": "Never", "containers": containers},
    }
    whole = {"managedBy": MANAGED_BY, "template": template, **spec}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": whole}


def forged_writers(manager: str, at: str) -> list[Document]:
    fields: Document = {f"f:{name}": {} for name in ("conditions", "startTime", "active", "failed")}
    entry = {
        "manager": manager,
        "operation": "Update",
        "apiVersion": "batch/v1",
        "time": at,
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:status": fields},
    }
    return [{**entry, "subresource": "status"}, entry]


def hostile() -> Iterator[Document]:
    """Yield Jobs, by what of them is hostile; each needs a name."""
    own = {"x": "y"}
    manual = {"manualSelector": True, "selector": {"matchLabels": own}}
    for word in (*WORDS, "1_0", " 3 ", "+1", "-0", "101"):
        asked = {LIMIT: word, DEADLINE: word, "jobledger.dev/retry-policy": f"oom={word}"}
        yield a_job({"annotations": asked}, {}, {})
        yield a_job({}, {"image": word, "env": [{"name": "A", "value": word}]}, {})
    for metadata in (
        {"annotations": {f"a.b/k{n}": "password=" for n in range(5000)}},
        {"annotations": {"a.b/k": "v" * 250_000}},
        {"annotations": {f"jobledger.dev/backoff-limit-{n}": "3" for n in range(3000)}},
        {"labels": {"jobledger.dev/job": "another", "jobledger.dev/attempt": "-5"}},
        {"creationTimestamp": "0001-01-01T00:00:00Z", "uid": "no-uid", "generation": -5},
        {"name": "a" * 63},
        {"name": "a.b-" * 15 + "c"},
    ):
        yield a_job(metadata, {}, {})
    yield a_job({"name": "b" * 63}, {}, own, **manual)
    yield a_job({"name": "c" * 200}, {}, own, **manual)
    yield a_job({"name": "d." * 100 + "d"}, {}, own, **manual)
    yield a_job({}, {}, {"job-name": "x", "controller-uid": "y", "jobledger.dev/job": "z"})
    for manager in ("kube-controller-manager", "jobledger", "stranger"):
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        for at in ("2099-01-01T00:00:00Z", now, "0001-01-01T00:00:00Z"):
            yield a_job({"managedFields": forged_writers(manager, at)}, {}, {})
    for spec in (
        {"parallelism": 0, "completions": MOST},
        {"backoffLimit": MOST, "activeDeadlineSeconds": 2**63 - 1},
        {"activeDeadlineSeconds": 0},
        {"ttlSecondsAfterFinished": 0, "podReplacementPolicy": "Failed"},
        {"suspend": True},
        {"completions": 3, "completionMode": "Indexed", "backoffLimitPerIndex": MOST},
    ):
        yield a_job({}, {}, {}, **spec)
    many = [{"name": f"V{n}_TOKEN", "value": f"s3cr3tQ{n}zzXy{n * 7919}"} for n in range(9000)]
    yield a_job({}, {"env": many}, {})
    yield a_job({}, {"command": ["--token a " * 50_000]}, {})


def test_hostile_jobs_harm_nobody_but_themselves(site: Site, tenant: Api) -> None:
    with site.controller(JOBLEDGER_JOB_KINDS='["RayJob", "Job"]') as controller:
        made = []
        for number, manifest in enumerate(hostile()):
            manifest["metadata"].setdefault("name", f"hostile-{number}")
            reply = tenant.create(JOBS, manifest)
            assert reply.code in (201, *REFUSED), (manifest["metadata"]["name"], reply)
            if reply.code == 201:  # Created
                made.append(manifest["metadata"]["name"])
        assert len(made) > 35
        assert tenant.create(JOBS, a_job({"name": "neighbour"}, {}, {})).code == 201
        made.append("neighbour")

        def answered() -> bool:
            """Ask of each until it has one: their annotations are as long as may be."""
            while waiting and tenant.get(JOBS, waiting[-1]).body.get("status"):
                waiting.pop()
            return not waiting

        waiting = list(made)
        wait_until(answered, "every job has a status", ANSWERED_SECONDS)
        site.wait_for_true(
            "every Job of an attempt is there",
            "SELECT NOT EXISTS (SELECT FROM effect WHERE state NOT IN ('succeeded', 'superseded'))",
        )
        assert controller.metric("jobledger_poisoned_observations_total") == 0
        assert controller.get("/readyz")[0] == 200
        assert "Traceback" not in controller.log
        for name in made:
            assert tenant.delete(JOBS, name).code in (200, 202)  # OK, Accepted
        assert tenant.create(JOBS, a_job({"name": "later"}, {}, {})).code == 201
        site.wait_for_true(
            "a later job is driven, whatever was deleted",
            "SELECT EXISTS (SELECT FROM event e JOIN job j USING (stream_id)"
            " WHERE j.name = 'later' AND e.type = 'AttemptJobObserved')",
        )
        assert "another controller" not in controller.get("/readyz")[1]
    assert not site.value("SELECT EXISTS (SELECT FROM event WHERE type = 'ControlReleased')")
    assert not site.value("SELECT EXISTS (SELECT FROM event WHERE type = 'LedgerBehindFound')")
    most = "SELECT max(n) FROM (SELECT count(*) AS n FROM event GROUP BY stream_id) AS counted"
    assert site.value(most) < EVENTS_MAX
    site.terminal.jobledger("verify")
    site.terminal.jobledger("rebuild", "--check")
