"""Each rule of `ops/rbac.yaml` is used by a story here, and nothing else is asked for.

The service acts as the service account of that file, and the API server's audit log says what it
asked for. A right that no story uses stands below with what it is for.
"""

import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import urllib3

from jobledger.adapters.kube.checks.rights import rights
from tests.acceptance.jobs import cluster_spec, counting, rayjob
from tests.acceptance.real_site import real_site
from tests.acceptance.site import Site
from tests.acceptance.trainjobs import (
    Trainings,
    torch_runtime,
    trainings,
    trainjob,
    upstreams_runtime,
)
from tests.acceptance.witness import JOBSETS, RAYCLUSTERS, RAYJOBS, TRAINJOBS, Witness
from tests.support.api import Api, own_namespace
from tests.support.apiserver import ApiServer
from tests.support.audit import FORBIDDEN, Used, requests_of
from tests.support.processes import Controller, Terminal
from tests.support.service_account import ACCOUNT, bound_account, user_of
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.apiserver, pytest.mark.postgres]

Document = dict[str, Any]

JOBS = "batch/v1/jobs"

UNBOUND = (
    "jobledger-head-tokens",
    "jobledger-mpi-keys",
    "jobledger-api-tokens",
    "jobledger-volcano",
    "jobledger-jobs",
)
"""Parts that are bound by whoever needs them."""

NO_REQUEST = (
    "the admission plugin OwnerReferencesPermissionEnforcement, on in some clusters and not here, "
    "asks the authorizer for it and not by a request, when an object is made whose ownerReference "
    "has blockOwnerDeletion"
)
UNUSED: dict[Used, str] = {
    Used("ray.io", "rayjobs/finalizers", "update"): NO_REQUEST,
    Used("trainer.kubeflow.org", "trainjobs/finalizers", "update"): NO_REQUEST,
    Used("batch", "jobs/finalizers", "update"): NO_REQUEST,
}
"""Right that no story uses -> what it is for."""


@pytest.fixture
def claims(jobset_server: ApiServer) -> Iterator[Api]:
    """An administrator in the namespace that stands for `jobledger`."""
    admin = jobset_server.api()
    with own_namespace(admin) as api:
        yield api
    admin.pool.clear()


@pytest.fixture
def at(
    jobset_server: ApiServer, claims: Api, terminal: Terminal, ledger_url: str
) -> Iterator[Trainings]:
    """A site whose service has every part of `ops/rbac.yaml`."""
    with (
        bound_account(jobset_server, claims, also=UNBOUND) as kubeconfig,
        real_site(jobset_server, terminal, ledger_url) as site,
    ):
        named = {
            "KUBECONFIG": str(kubeconfig),
            "JOBLEDGER_CLAIM_NAMESPACE": claims.namespace,
            "JOBLEDGER_BATCH_SCHEDULER": "volcano",
            "JOBLEDGER_API_TOKEN_REVIEW": "true",
            "JOBLEDGER_JOB_KINDS": '["RayJob", "TrainJob", "Job"]',
        }
        named_site = replace(site, terminal=site.terminal.with_environment(**named))
        with trainings(named_site, claims) as made:
            yield made


def test_every_right_is_used_and_nothing_else_is_asked_for(
    jobset_server: ApiServer, claims: Api, at: Trainings
) -> None:
    granted = {Used(right.group, right.resource, right.verb) for right in rights()}
    tell_of_a_rival(claims)
    taken = take_names(at.admin)
    with Witness(at.admin, (RAYJOBS,)) as watched, at.site.controller() as controller:
        ask_with_a_token(controller, claims)
        submit_rayjobs(at.site)
        submit_trainjobs(at)
        submit_jobs(at)
        rayjobs_end(at.site, watched)
        trainjobs_end(at)
        jobs_end(at.admin)
        names_are_in_the_way(at)
        assert controller.terminate() == 0
    jobs_go_meanwhile(at)
    with at.site.controller("later") as controller:
        at.site.wait_for_true("nothing is left to do", "SELECT bool_and(NOT open) FROM job")
        assert controller.terminate() == 0
    asked = set(requests_of(jobset_server.directory, user_of(claims.namespace)))
    refused = {used for used, code in asked if code == FORBIDDEN}
    used = {used for used, _ in asked}
    assert refused == set(), "what is asked for is granted"
    assert used - granted == set(), "and nothing is asked for by another way"
    assert granted - used == set(UNUSED), "each right is used, or stands above with its reason"
    now = {one: at.admin.get(*one).revision for one in taken}
    assert now == taken, "what is somebody else's is as it was"
    assert blocking(at.admin) == {"RayJob", "TrainJob"}, "and the reasons hold"


def blocking(admin: Api) -> set[str]:
    """Return the kinds of owners whose deletion waits for what was made for them."""
    made = [one for kind in (RAYCLUSTERS, JOBSETS) for one in admin.list(kind).body["items"]]
    owners = [owner for one in made for owner in one["metadata"].get("ownerReferences", ())]
    return {owner["kind"] for owner in owners if owner.get("blockOwnerDeletion")}


def tell_of_a_rival(claims: Api) -> None:
    """Leave the claim of another ledger that has not been renewed for long."""
    told = {"metadata": {"name": "rival", "labels": {"jobledger.dev/claim": "true"}}}
    spec = {"holderIdentity": "rival/1", "leaseDurationSeconds": 1}
    assert claims.create("coordination.k8s.io/v1/leases", told | {"spec": spec}).code == 201


def take_names(admin: Api) -> dict[tuple[str, str], str]:
    """Make objects of names that jobs will need, and that nobody owns; return their versions."""
    pods = {"spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}}
    made: dict[str, Document] = {
        "v1/configmaps": {"metadata": {"name": "blocked-runtime-snapshot"}},
        "scheduling.x-k8s.io/v1alpha1/podgroups": {
            "metadata": {"name": "crowded"},
            "spec": {"minMember": 1},
        },
        "scheduling.volcano.sh/v1beta1/podgroups": {
            "metadata": {"name": "ray-grouped-pg"},
            "spec": {"minMember": 1},
        },
        "batch/v1/jobs": {
            "metadata": {"name": "taken"},
            "spec": {"managedBy": "example.com/nobody", "template": pods},
        },
        "v1/services": {"metadata": {"name": "served-head-svc"}, "spec": {"ports": [{"port": 1}]}},
    }
    versions = {}
    for resource, document in made.items():
        group, _, plural = resource.rpartition("/")
        kinds = {"configmaps": "ConfigMap", "podgroups": "PodGroup", "jobs": "Job"}
        head = {"apiVersion": group, "kind": kinds.get(plural, "Service")}
        reply = admin.create(resource, head | document)
        assert reply.code == 201, reply.message  # Created
        versions[resource, document["metadata"]["name"]] = reply.revision
    return versions


def names_are_in_the_way(at: Trainings) -> None:
    """Wait until each refusal of `take_names` is told."""
    for name in ("blocked", "crowded"):
        assert "is in the way" in at.wait_for(name, "Created", "False")["message"]
    at.site.wait_for_true(
        "submitter, Service and Volcano's PodGroup are refused",
        "SELECT count(DISTINCT j.name) = 3 FROM event e JOIN job j USING (stream_id) "
        "WHERE j.name IN ('taken', 'served', 'grouped') AND e.type = 'EffectFailed' "
        "AND e.data->>'trouble' LIKE '%%is in the way: nobody owns it%%'",
    )


def jobs_go_meanwhile(at: Trainings) -> None:
    """Delete jobs of both kinds while no controller runs."""
    unheld = {"metadata": {"finalizers": None}}
    for name in ("taken", "served", "grouped"):
        assert at.admin.merge(RAYJOBS, name, unheld).code == 200
        assert at.admin.delete(RAYJOBS, name).code == 200
    for name in ("blocked", "crowded", "homeless", "nowhere"):
        assert at.admin.delete(TRAINJOBS, name).code == 200


def ask_with_a_token(controller: Controller, claims: Api) -> None:
    """Ask the JSON API as the service account of the service itself."""
    path = claims.path("v1/serviceaccounts", ACCOUNT, "token")
    token = claims.request("POST", path, {"spec": {}}).body["status"]["token"]
    answer = urllib3.request(
        "GET", f"{controller.url}/api/v1/jobs", headers={"Authorization": f"Bearer {token}"}
    )
    assert answer.status == 200, answer.data


def submit_rayjobs(site: Site) -> None:
    """One is retried, of one the workers go, one deletes itself, one has a head with a token."""
    counter = site.directory / "counter"
    site.submit(
        rayjob(
            "retried",
            counting(counter, fails=1),
            mode="K8sJobMode",
            backoffLimit=1,
            shutdownAfterJobFinishes=True,
        )
    )
    workers = {"groupName": "w", "replicas": 1, "minReplicas": 1, "maxReplicas": 1}
    workers |= {"rayStartParams": {}, "template": cluster_spec()["headGroupSpec"]["template"]}
    for name, policy in (("reduced", "DeleteWorkers"), ("leaving", "DeleteSelf")):
        condition = {"jobStatus": "SUCCEEDED", "ttlSeconds": 0}
        rules = [{"policy": policy, "condition": condition}]
        ending = rayjob(name, "true", deletionStrategy={"deletionRules": rules})
        ending["spec"]["rayClusterSpec"]["workerGroupSpecs"] = [workers]
        site.submit(ending)
    site.submit(rayjob("taken", "true", mode="K8sJobMode"))
    site.submit(rayjob("served", "sleep 600"))
    site.submit(rayjob("grouped", "true"))
    guarded = rayjob("guarded", "true")
    guarded["spec"]["rayClusterSpec"]["authOptions"] = {"mode": "token"}
    site.submit(guarded)


def rayjobs_end(site: Site, watched: Witness) -> None:
    for name in ("retried", "reduced"):
        watched.wait_for_phase(name, "Complete")
    left = {"leaving": "deletes itself", "guarded": "goes with its user"}
    assert site.api.delete(RAYJOBS, "guarded").code == 200
    for name, what in left.items():
        watched.wait_until(lambda name=name: ended(watched, name), f"{name} {what}")  # type: ignore[misc]  # a default argument binds the loop's value


def ended(watched: Witness, name: str) -> bool:
    return any(life.ended is not None for life in watched.lives(RAYJOBS) if life.name == name)


def submit_trainjobs(at: Trainings) -> None:
    """One of each scheduler, one that fails, one with a deadline, and two without a runtime."""
    mpi = upstreams_runtime("deepspeed")
    mpi["kind"], mpi["metadata"]["name"] = "TrainingRuntime", "mpi"
    mpi["spec"]["podGroupPolicy"] = {"coscheduling": {}}
    node, launcher = mpi["spec"]["template"]["spec"]["replicatedJobs"]
    (server,) = node["template"]["spec"]["template"]["spec"]["containers"]
    server |= {"command": ["sleep"], "args": ["600"]}
    del server["readinessProbe"]
    launcher["template"]["spec"]["backoffLimit"] = 0
    gang = torch_runtime("gang")
    gang["spec"]["podGroupPolicy"] = {"volcano": {}}
    for runtime in (mpi, gang):
        at.runtime(runtime)
    at.submit(trainjob("world", "true", nodes=2, runtime="mpi"))
    at.submit(trainjob("crowded", "true", nodes=2, runtime="mpi"))
    at.submit(trainjob("blocked", "true", runtime="gang"))
    at.submit(trainjob("gang", "true", runtime="gang"))
    at.submit(trainjob("doomed", "false", runtime="gang"))
    at.submit(trainjob("slow", "sleep", "600", runtime="gang", activeDeadlineSeconds=5))
    at.submit(trainjob("homeless", "true", runtime="not-there"))
    without = trainjob("nowhere", "true")
    without["spec"]["runtimeRef"]["name"] = "not-there"
    at.submit(without)


def submit_jobs(at: Trainings) -> None:
    """One whose first attempt fails, and one that goes on until it is suspended."""
    mark = at.site.directory / "the first attempt was here"
    script = "import pathlib, sys; p = pathlib.Path(sys.argv[1]); "
    script += "sys.exit(0) if p.exists() else (p.touch(), sys.exit(1))"
    for name, command in (
        ("etl", [sys.executable, "-c", script, str(mark)]),
        ("held", ["sleep", "600"]),
    ):
        container = {"name": "main", "image": "any", "command": command}
        job = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": name, "annotations": {"jobledger.dev/backoff-limit": "1"}},
            "spec": {
                "managedBy": "jobledger.dev/job-controller",
                "backoffLimit": 0,
                "template": {"spec": {"restartPolicy": "Never", "containers": [container]}},
            },
        }
        reply = at.admin.create(JOBS, job)
        assert reply.code == 201, reply.message  # Created


def jobs_end(admin: Api) -> None:
    """One is retried on a new Job and completes; the other is suspended, resumed and deleted."""
    wait_until(lambda: has(admin, "etl", "Complete"), "etl is complete")
    status = admin.get(JOBS, "etl").body["status"]
    assert (status["succeeded"], status["failed"]) == (1, 1), "Pods, over both attempts"
    wait_until(lambda: admin.get(JOBS, "held").body.get("status", {}).get("active"), "held runs")
    for suspend in (True, False):
        assert admin.merge(JOBS, "held", {"spec": {"suspend": suspend}}).code == 200
        wait_until(lambda: has(admin, "held", "Suspended") is suspend, "it says so")  # noqa: B023 called at once
    background = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}
    assert admin.delete(JOBS, "held", background).code == 200


def has(admin: Api, name: str, condition: str) -> bool:
    """Return whether a condition of a Job is True."""
    found = admin.get(JOBS, name).body.get("status", {}).get("conditions", ())
    return any(one["type"] == condition and one["status"] == "True" for one in found)


def trainjobs_end(at: Trainings) -> None:
    for name in ("world", "gang"):
        at.wait_for(name, "Complete")
    for name in ("doomed", "slow"):
        at.wait_for(name, "Failed")
    for name in ("homeless", "nowhere"):
        at.wait_for(name, "Created", "False")
