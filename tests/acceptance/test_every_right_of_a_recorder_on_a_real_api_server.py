"""Each rule of `ops/rbac-recorder.yaml` is used by a story here, and nothing else is asked for.

The recorder acts as the service account of that file, and the API server's audit log says what it
asked for. What it records is done by scripted controllers.
"""

from collections.abc import Iterator

import pytest

from jobledger.adapters.kube.checks.rights import rights
from tests.acceptance.other_controllers import ago, condition
from tests.acceptance.recording import Beside, begin, recording
from tests.acceptance.trainjobs import RUNTIMES, torch_runtime, trainjob
from tests.acceptance.witness import BATCH_JOBS, JOBSETS, RAYCLUSTERS, RAYJOBS, TRAINJOBS
from tests.support.api import Api, own_namespace
from tests.support.apiserver import ApiServer
from tests.support.audit import FORBIDDEN, Used, requests_of
from tests.support.processes import Terminal
from tests.support.service_account import FILES, RECORDER, bound_account, user_of
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.apiserver, pytest.mark.postgres]

WRITES = {"create", "update", "patch", "delete", "deletecollection"}


@pytest.fixture
def home(jobset_server: ApiServer) -> Iterator[Api]:
    """An administrator in the namespace that stands for `jobledger`."""
    admin = jobset_server.api()
    with own_namespace(admin) as api:
        yield api
    admin.pool.clear()


@pytest.fixture
def beside(
    jobset_server: ApiServer, home: Api, terminal: Terminal, ledger_url: str
) -> Iterator[Beside]:
    with (
        bound_account(jobset_server, home, RECORDER) as account,
        recording(jobset_server, terminal, ledger_url, account) as beside,
    ):
        yield beside


def test_every_right_of_a_recorder_is_used_and_nothing_else_is_asked_for(
    jobset_server: ApiServer, home: Api, beside: Beside
) -> None:
    granted = {Used(right.group, right.resource, right.verb) for right in rights(FILES[RECORDER])}
    assert {right.verb for right in granted}.isdisjoint(WRITES), "a recorder looks"
    with beside.recorder() as recorder:
        a_rayjob_fails(beside)
        a_trainjob_fails(beside)
        others_run(beside)
        assert recorder.terminate() == 0
    what_runs_is_deleted(beside)
    with beside.recorder() as recorder:
        wait_until_all_is_known_to_be_gone(beside)
        assert recorder.terminate() == 0
    asked = set(requests_of(jobset_server.directory, user_of(home.namespace, RECORDER)))
    assert {used for used, code in asked if code == FORBIDDEN} == set(), "it may what it asks for"
    used = {used for used, _ in asked}
    assert used - granted == set(), "and asks for nothing by another way"
    assert granted - used == set(), "and each right is used"


def a_rayjob_fails(beside: Beside) -> None:
    """One whose head's Pod ran, so that there is a log to ask for."""
    kuberay = beside.kuberay
    shown = begin(kuberay, "train", 1, backoffLimit=0)
    kuberay.makes_head("train-1", {"terminated": {"exitCode": 1, "reason": "Error"}})
    kuberay.shows("train", "Running", **shown, jobStatus="RUNNING")
    beside.wait_for_phase("train", "Running")
    lost = {"jobStatus": "FAILED", "reason": "AppFailed", "message": "exit code 1"}
    kuberay.shows("train", "Failed", **{**shown, "failed": 1}, **lost, endTime=ago(0))
    beside.wait_for_phase("train", "Failed")
    wait_for_evidence(beside, "train")


def a_trainjob_fails(beside: Beside) -> None:
    beside.trainer.create(RUNTIMES, torch_runtime("torch"))
    a_trainjob_runs(beside, "fit")
    beside.trainer.shows("fit", condition("Failed", "DeadlineExceeded", seconds_ago=0))
    beside.wait_for_phase("fit", "Failed")
    wait_for_evidence(beside, "fit")


def a_trainjob_runs(beside: Beside, name: str) -> None:
    trainer = beside.trainer
    job = trainer.create(TRAINJOBS, trainjob(name, runtime="torch"))
    trainer.makes_objects(job, torch_runtime("torch"))
    beside.site.wait_for_true(
        "the execution is in the ledger",
        "SELECT EXISTS (SELECT FROM job WHERE name = %s AND attempt = 1)",
        name,
    )


def others_run(beside: Beside) -> None:
    """Two of each kind."""
    for name in ("leaving", "robbed"):
        shown = begin(beside.kuberay, name, 1)
        beside.kuberay.shows(name, "Running", **shown, jobStatus="RUNNING")
        beside.wait_for_phase(name, "Running")
    for name in ("gone", "stripped"):
        a_trainjob_runs(beside, name)


def what_runs_is_deleted(beside: Beside) -> None:
    """Delete one of each kind, and what the other runs on, while no recorder looks."""
    api = beside.site.api
    assert api.merge(RAYJOBS, "leaving", {"metadata": {"finalizers": None}}).code == 200
    away = (
        (RAYJOBS, "leaving"),
        (RAYCLUSTERS, "robbed-1"),
        (BATCH_JOBS, "robbed"),
        (TRAINJOBS, "gone"),
        (JOBSETS, "stripped"),
    )
    for resource, name in away:
        assert api.delete(resource, name, {"propagationPolicy": "Background"}).code == 200
        wait_until(lambda it=(resource, name): api.get(*it).code == 404, f"{name} is gone")  # type: ignore[misc]  # a default argument binds the loop's value


def wait_until_all_is_known_to_be_gone(beside: Beside) -> None:
    for name, types in {
        "leaving": ["JobDeleted"],
        "robbed": ["ClusterVanished", "SubmitterVanished"],
        "gone": ["TrainJobDeleted"],
        "stripped": ["JobSetVanished"],
    }.items():
        beside.site.wait_for_true(
            f"what went of {name} is in the log",
            "SELECT count(DISTINCT e.type) = %s FROM event e JOIN job j USING (stream_id) "
            "WHERE j.name = %s AND e.type = ANY (%s)",
            len(types),
            name,
            types,
        )


def wait_for_evidence(beside: Beside, name: str) -> None:
    beside.site.wait_for_true(
        f"what is left of {name} is in the log",
        "SELECT EXISTS (SELECT FROM event e JOIN job j USING (stream_id) "
        "WHERE j.name = %s AND e.type = 'EvidenceCaptured')",
        name,
    )
