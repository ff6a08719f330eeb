"""Policies of somebody else change what the service sends, on a real API server.

What it answers shows the change, and no watch does. Whoever looks at a job sees why it does not go
on, and once the policy is gone it goes on by itself.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest

from tests.acceptance.jobs import batch_job, rayjob
from tests.acceptance.real_site import real_site
from tests.acceptance.site import Site
from tests.acceptance.witness import RAYCLUSTERS, RAYJOBS
from tests.support.api import JOBS, Api
from tests.support.apiserver import ApiServer
from tests.support.processes import Terminal, jobledger_command
from tests.support.waiting import wait_until
from tests.support.webhooks import ADMISSION

pytestmark = [pytest.mark.apiserver, pytest.mark.postgres]

SUSPENDED = '[JSONPatch{op: "add", path: "/spec/suspend", value: true}]'
DISOWNED = '[JSONPatch{op: "remove", path: "/metadata/ownerReferences"}]'
SETTINGS = {
    "JOBLEDGER_JOB_KINDS": '["RayJob", "Job"]',
    "JOBLEDGER_EFFECT_RETRY_SECONDS": "1",
}


@pytest.fixture
def site(api_server: ApiServer, terminal: Terminal, ledger_url: str) -> Iterator[Site]:
    with real_site(api_server, terminal, ledger_url) as made:
        yield made


@pytest.fixture
def admin(api_server: ApiServer, site: Site) -> Iterator[Api]:
    """An administrator, in the namespace of the site."""
    root = api_server.api()
    yield Api(root.url, root.pool, site.api.namespace, root.headers)
    root.pool.clear()


def test_a_job_that_a_policy_keeps_suspended_says_so_and_goes_on_without_it(
    site: Site, admin: Api
) -> None:
    with site.controller(**SETTINGS):
        with a_policy(admin, "batch", "jobs", SUSPENDED):
            assert admin.create(JOBS, batch_job("batch")).code == 201  # Created
            said = "spec.suspend stays true: an admission webhook or policy"
            wait_until(partial(is_explained, site, "batch", said), "it is told")
        wait_until(partial(shows, admin, JOBS, "batch", "Complete"), "the job is complete")


def test_a_raycluster_that_loses_its_owner_is_told_and_made_again_without_the_policy(
    site: Site, admin: Api
) -> None:
    with site.controller(**SETTINGS):
        with a_policy(admin, "ray.io", "rayclusters", DISOWNED):
            site.submit(rayjob("ray", "true", shutdownAfterJobFinishes=True))
            said = "was made without its owner, this RayJob"
            wait_until(partial(shows, admin, RAYJOBS, "ray", said), "its status tells")
            assert is_explained(site, "ray", said)
        wait_until(partial(shows, admin, RAYJOBS, "ray", "Complete"), "the job is complete")
        wait_until(lambda: admin.list(RAYCLUSTERS).body["items"] == [], "nothing is leaked")


def is_explained(site: Site, name: str, words: str) -> bool:
    told = site.terminal.run([*jobledger_command(), "explain", name], code=None)
    return words in told.everything


def shows(api: Api, resource: str, name: str, words: str) -> bool:
    """Return whether a job's status has some words."""
    return words in str(api.get(resource, name).body.get("status"))


@contextmanager
def a_policy(admin: Api, group: str, plural: str, change: str) -> Iterator[None]:
    """Have what is made for jobs changed in whichever way it is written."""
    name = f"{plural}-{admin.namespace}"
    kind = "MutatingAdmissionPolicy"
    for document in (policy(name, admin.namespace, group, plural, change), binding(name)):
        path = f"{ADMISSION}/{_plural(document['kind'])}"
        reply = admin.request("POST", path, document)
        assert reply.code == 201, reply.message  # Created
    try:
        wait_until(partial(is_in_force, admin, plural), "the policy is in force")
        yield
    finally:
        for one in (f"{kind}Binding", kind):
            gone = admin.request("DELETE", f"{ADMISSION}/{_plural(one)}/{name}")
            assert gone.code == 200, gone.message  # OK


def _plural(kind: str) -> str:
    return f"{kind.lower().removesuffix('y')}ies" if kind.endswith("y") else f"{kind.lower()}s"


def is_in_force(admin: Api, plural: str) -> bool:
    """Ask for an object without making it; the API server takes a moment to hear of a policy."""
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "none", "uid": "none"}
    resource = JOBS if plural == "jobs" else RAYCLUSTERS
    asked = batch_job("asked")
    if plural != "jobs":
        head = {"template": {"spec": {"containers": [{"name": "head", "image": "ray:2"}]}}}
        spec = {"headGroupSpec": head}
        asked = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "spec": spec}
    asked["metadata"] = {"name": "asked", "ownerReferences": [owner]}
    reply = admin.create(resource, asked, dryRun="All")
    assert reply.code == 201, reply.message  # Created
    made = reply.body
    return "ownerReferences" not in made["metadata"] or made["spec"].get("suspend") is True


def policy(name: str, namespace: str, group: str, plural: str, change: str) -> dict[str, Any]:
    written = {"operations": ["CREATE", "UPDATE"], "apiVersions": ["*"]}
    matched = {
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        "resourceRules": [{**written, "apiGroups": [group], "resources": [plural]}],
    }
    owned = "has(object.metadata.ownerReferences)"
    spec = {
        "matchConstraints": matched,
        "matchConditions": [{"name": "owned", "expression": owned}],
        "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": change}}],
        "reinvocationPolicy": "Never",
    }
    kind = "MutatingAdmissionPolicy"
    return {"apiVersion": _VERSION, "kind": kind, "metadata": {"name": name}, "spec": spec}


def binding(name: str) -> dict[str, Any]:
    kind = "MutatingAdmissionPolicyBinding"
    spec = {"policyName": name}
    return {"apiVersion": _VERSION, "kind": kind, "metadata": {"name": name}, "spec": spec}


_VERSION = "admissionregistration.k8s.io/v1"
