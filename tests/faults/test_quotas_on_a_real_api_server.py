"""A quota that refuses Jobs of a JobSet, or Pods: nothing tells of it but Kubernetes Events.

On a real API server, with the real controllers of Jobs and JobSets: `explain` says what is refused.
"""

import json
from collections.abc import Iterator
from functools import partial

import pytest

from tests.acceptance.jobs import batch_job
from tests.acceptance.tenant_site import RUNTIME
from tests.acceptance.trainjobs import Trainings, real_trainings, trainjob
from tests.support.api import JOBS, MERGE
from tests.support.apiserver import ApiServer
from tests.support.processes import Terminal, jobledger_command
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.faults, pytest.mark.apiserver, pytest.mark.postgres]

KEPT_SECONDS = 120.0
"""An attempt is looked at half a minute after it began, and a minute after that."""


@pytest.fixture
def at(jobset_server: ApiServer, terminal: Terminal, ledger_url: str) -> Iterator[Trainings]:
    with real_trainings(jobset_server, terminal, ledger_url) as watched:
        yield watched


@pytest.mark.parametrize(
    ("hard", "names", "refused"),
    [
        ({"count/jobs.batch": "0"}, ("train",), "jobs.batch"),
        ({"pods": "0"}, ("train", "batch"), "pods"),
    ],
    ids=["of Jobs", "of Pods"],
)
def test_explain_says_what_a_quota_refuses(
    at: Trainings, hard: dict[str, str], names: tuple[str, ...], refused: str
) -> None:
    namespace = at.admin.namespace
    at.runtime({**RUNTIME, "metadata": {**RUNTIME["metadata"], "namespace": namespace}})
    limit(at, hard)
    at.submit(trainjob("train", "true", runtime="plain"))
    if "batch" in names:
        assert at.admin.create(JOBS, batch_job("batch")).code == 201  # Created
    with at.site.controller(JOBLEDGER_JOB_KINDS='["TrainJob", "Job"]'):
        for name in names:
            wait_until(partial(tells_of_a_quota, at, name), name, KEPT_SECONDS)
            told = explained(at, name)
            assert "It waits for Pods that are not created" in told, told
            assert f"{refused} " in told, told
            assert "exceeded quota: all" in told, told
            found = at.site.terminal.run(
                [*jobledger_command(), "explain", name, "--output", "json"]
            )
            assert json.loads(found.out)["failure_class"] == "quota"


def limit(at: Trainings, hard: dict[str, str]) -> None:
    """Set a quota that is used up: nobody counts here, so what is used is said as well."""
    path = f"/api/v1/namespaces/{at.admin.namespace}/resourcequotas"
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "all"}}
    assert at.admin.request("POST", path, {**quota, "spec": {"hard": hard}}).code == 201  # Created
    counted = {"status": {"hard": hard, "used": dict.fromkeys(hard, "0")}}
    reply = at.admin.request("PATCH", f"{path}/all/status", counted, content_type=MERGE)
    assert reply.code == 200, reply.message  # OK


def explained(at: Trainings, name: str) -> str:
    return at.site.terminal.run([*jobledger_command(), "explain", name], code=None).everything


def tells_of_a_quota(at: Trainings, name: str) -> bool:
    return "quota" in explained(at, name)
