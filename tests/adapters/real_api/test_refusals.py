"""What the API server refuses as not valid (422) is tried again: why may change unseen."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from jobledger.core.ports.cluster import (
    JOBSETS,
    RAYCLUSTERS,
    RAYJOBS,
    TRAINING_RUNTIMES,
    TRAINJOBS,
    Resource,
)
from tests.acceptance.tenant_site import RUNTIME
from tests.adapters.real_api.strangers import StrangersWorld, accepted, path_of
from tests.support.api import Api, eventually, own_namespace, rayjob
from tests.support.apiserver import ApiServer

pytestmark = pytest.mark.apiserver

Document = dict[str, Any]

POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic"
SAID = "not in this namespace"
PODS: Document = {"template": {"spec": {"containers": [{"name": "node", "image": "busybox"}]}}}
PROBES: dict[str, Document] = {
    "RayCluster": {"headGroupSpec": PODS},
    "JobSet": {"replicatedJobs": [{"name": "node", "template": {"spec": PODS}}]},
}
"""What tells whether the policy is in force: the specification of an object of each kind."""


@contextmanager
def refusing(api: Api, resource: Resource) -> Iterator[None]:
    """Let a policy of admission call every new object of a kind not valid, in this namespace."""
    here = {"matchLabels": {"kubernetes.io/metadata.name": api.namespace}}
    rule = {
        "apiGroups": [resource.group],
        "apiVersions": ["*"],
        "resources": [resource.plural],
        "operations": ["CREATE"],
    }
    name = f"{api.namespace}-{resource.plural}"
    policy: Document = {
        "metadata": {"name": name},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"namespaceSelector": here, "resourceRules": [rule]},
            "validations": [{"expression": "false", "message": SAID, "reason": "Invalid"}],
        },
    }
    binding = {
        "metadata": {"name": name},
        "spec": {"policyName": name, "validationActions": ["Deny"]},
    }
    paths = [f"{POLICIES}ies", f"{POLICIES}ybindings"]
    try:
        for path, document in zip(paths, (policy, binding), strict=True):
            accepted(api.request("POST", path, document))
        eventually(lambda: _probed(api, resource) == 422, "the policy is in force")
        yield
    finally:
        for path in paths:
            api.request("DELETE", f"{path}/{name}")
    eventually(lambda: _probed(api, resource) == 201, "the policy is in force no more")


def _probed(api: Api, resource: Resource) -> int:
    probe = {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": "probe"},
        "spec": PROBES[resource.kind],
    }
    return api.create(path_of(resource), probe, dryRun="All").code


@pytest.fixture
def world(api_server: ApiServer) -> Iterator[StrangersWorld]:
    admin = api_server.api()
    with own_namespace(admin) as api:
        accepted(api.create(path_of(TRAINING_RUNTIMES), RUNTIME))
        yield StrangersWorld(server=api_server, api=api)
    admin.pool.clear()


TRAINJOB: Document = {
    "apiVersion": TRAINJOBS.api_version,
    "kind": TRAINJOBS.kind,
    "metadata": {"name": "train"},
    "spec": {"runtimeRef": {"kind": TRAINING_RUNTIMES.kind, "name": "plain"}},
}


@pytest.mark.parametrize(
    ("of", "job", "made"),
    [
        pytest.param(RAYJOBS, rayjob("train"), RAYCLUSTERS, id="a RayJob's RayCluster"),
        pytest.param(TRAINJOBS, TRAINJOB, JOBSETS, id="a TrainJob's JobSet"),
    ],
)
def test_the_job_goes_on_by_itself_once_it_is_taken_for_valid(
    world: StrangersWorld, of: Resource, job: Document, made: Resource
) -> None:
    """For an hour each try waits longer, and says why; by another policy the next one succeeds."""
    path = path_of(made)
    with refusing(world.api, made):
        _, stream = world.submit(of, job)
        world.run(lambda: SAID in repr(world.now(of, "train").get("status")), "the refusal")
        assert SAID in world.explained(stream)
        events = len(world.store.read_stream(stream))
        for _ in range(12):
            world.pass_time(300)
        assert 0 < len(world.store.read_stream(stream)) - events < 100
        assert world.api.list(path).body["items"] == []
    world.pass_time(301)
    world.run(lambda: len(world.api.list(path).body["items"]) == 1, "it is made")
    world.run(lambda: SAID not in repr(world.now(of, "train").get("status")), "all is well")
