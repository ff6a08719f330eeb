"""A real API server takes every status of every life of a Job, and the Job that is made for it."""

from collections.abc import Iterator
from typing import Any

import pytest

from jobledger.core.batchjob.building import attempt_job
from jobledger.core.batchjob.decide.decide import BATCHJOB
from jobledger.core.batchjob.names import MANAGED_BY
from jobledger.core.batchjob.status.status import status
from jobledger.core.batchjob.status.status_format import BATCHJOB_STATUS
from jobledger.core.values.documents import Manifest, child
from tests.rules.batchjob.test_status import STORIES
from tests.support.api import JOBS, Api, own_namespace
from tests.support.apiserver import ApiServer
from tests.support.batchjobs import play


@pytest.fixture
def api(api_server: ApiServer) -> Iterator[Api]:
    """A namespace of its own."""
    admin = api_server.api()
    with own_namespace(admin) as own:
        yield own
    admin.pool.clear()


def users_job(name: str = "etl") -> dict[str, Any]:
    """Return a Job that is given to this controller."""
    containers = [{"name": "main", "image": "etl:1"}]
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {
            "managedBy": MANAGED_BY,
            "template": {"spec": {"restartPolicy": "Never", "containers": containers}},
        },
    }


def statuses(story: str) -> Iterator[Manifest]:
    """Yield the status after each event of a life."""
    state = BATCHJOB.initial
    for event in play(STORIES[story]).history:
        state = BATCHJOB.evolve(state, event)
        if shown := status(state):
            yield shown


@pytest.mark.parametrize("story", STORIES)
def test_every_status_is_taken_one_after_another(api: Api, story: str) -> None:
    assert api.create(JOBS, users_job()).code == 201
    for shown in statuses(story):
        reply = api.merge(JOBS, "etl", {"status": shown}, "status")
        assert reply.code == 200, reply.body
        own = BATCHJOB_STATUS.own
        assert own(reply.body["status"]) == own(shown), "and known again as one of ours"


def test_the_job_of_an_attempt_is_taken_with_a_selector_of_its_own(api: Api) -> None:
    parent = api.create(JOBS, users_job("etl.v2")).body
    made = api.create(JOBS, attempt_job(parent, 1))
    assert made.code == 201, made.body
    labels = child(made.body, "spec", "template", "metadata", "labels")
    assert labels["controller-uid"] == made.body["metadata"]["uid"]
    assert labels["jobledger.dev/job"] == "etl.v2"
    assert labels["jobledger.dev/attempt"] == "1"
    assert "managedBy" not in made.body["spec"]
    again = api.create(JOBS, attempt_job(parent, 1))
    assert again.code == 409
