"""A webhook of somebody else that is down refuses what the service creates, with an error of 5xx.

On a real API server: whoever looks at a job sees why it does not go on, and it goes on by itself.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import pytest

from tests.acceptance.jobs import batch_job, rayjob
from tests.acceptance.tenant_site import RUNTIME
from tests.acceptance.trainjobs import Trainings, real_trainings, trainjob
from tests.acceptance.witness import RAYJOBS, TRAINJOBS
from tests.support.api import JOBS, Api
from tests.support.apiserver import ApiServer
from tests.support.processes import Terminal
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.apiserver, pytest.mark.postgres]

CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
KUBERNETES_EVENTS = "v1/events"
ALL_KINDS = '["RayJob", "TrainJob", "Job"]'
DOWN = "failed calling webhook"
ENDS = ((RAYJOBS, "ray", "Complete"), (TRAINJOBS, "train", "Complete"), (JOBS, "batch", "Complete"))


@pytest.fixture
def at(jobset_server: ApiServer, terminal: Terminal, ledger_url: str) -> Iterator[Trainings]:
    with real_trainings(jobset_server, terminal, ledger_url) as watched:
        yield watched


def test_a_webhook_that_is_down_is_told_of_and_waited_for(at: Trainings) -> None:
    site = at.site
    at.runtime({**RUNTIME, "metadata": {**RUNTIME["metadata"], "namespace": site.api.namespace}})
    site.submit(rayjob("ray", "true"))
    at.submit(trainjob("train", "true", runtime="plain"))
    assert at.admin.create(JOBS, batch_job("batch")).code == 201  # Created
    with ExitStack() as stack:
        with a_webhook_that_is_down(at.admin):
            stack.enter_context(site.controller(JOBLEDGER_JOB_KINDS=ALL_KINDS))
            for resource, name in ((RAYJOBS, "ray"), (TRAINJOBS, "train")):
                wait_until(partial(says, at.admin, resource, name, DOWN), f"{name} says why")
            wait_until(partial(is_told_of, at.admin, "batch"), "an Event says why")
        for resource, name, end in ENDS:
            wait_until(partial(says, at.admin, resource, name, end), f"{name} is {end}")
    assert DOWN not in str(at.admin.get(RAYJOBS, "ray").body["status"])


def says(api: Api, resource: str, name: str, word: str) -> bool:
    """Return whether a job's status has a word."""
    return word in str(api.get(resource, name).body.get("status"))


def is_told_of(api: Api, name: str) -> bool:
    """Return whether an Event of a batch Job, whose status has no place for it, says why."""
    told = api.list(KUBERNETES_EVENTS).body["items"]
    return any(one["involvedObject"]["name"] == name and DOWN in one["message"] for one in told)


@contextmanager
def a_webhook_that_is_down(admin: Api) -> Iterator[None]:
    """Have everything refused that is created of what the jobs of a namespace run as."""
    name = f"down-{admin.namespace}"
    made = admin.request("POST", CONFIGURATIONS, configuration(name, admin.namespace))
    assert made.code == 201, made  # Created
    try:
        yield
    finally:
        assert admin.request("DELETE", f"{CONFIGURATIONS}/{name}").code == 200  # OK


def configuration(name: str, namespace: str) -> dict[str, Any]:
    created = {"operations": ["CREATE"], "apiVersions": ["*"], "scope": "Namespaced"}
    made = (("ray.io", "rayclusters"), ("jobset.x-k8s.io", "jobsets"), ("batch", "jobs"))
    webhook = {
        "name": "down.example.com",
        "clientConfig": {"url": "https://127.0.0.1:9/down"},  # where nothing listens
        "rules": [{**created, "apiGroups": [group], "resources": [one]} for group, one in made],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": 1,
    }
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": [webhook],
    }
