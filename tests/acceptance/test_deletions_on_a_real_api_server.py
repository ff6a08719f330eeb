"""Jobs, what they run on and their namespace are deleted in the middle of things.

Real are the API server with its rules for finalizers, the garbage collector, the controller of
namespaces and that of JobSets. For both kinds of job.
"""

import json
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from tests.acceptance.jobs import rayjob
from tests.acceptance.trainjobs import Trainings, real_trainings, torch_runtime, trainjob
from tests.acceptance.witness import JOBSETS, RAYCLUSTERS, RAYJOBS, TRAINJOBS
from tests.support.api import own_namespace
from tests.support.apiserver import ApiServer
from tests.support.processes import Terminal
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.faults, pytest.mark.apiserver, pytest.mark.postgres]

FOREIGN = "example.com/keeps"
EVENTS_MAX = 80
"""Of a job that is deleted; most have half as many."""
SECONDS = 120.0
"""Limit of every wait: garbage is collected when a busy controller manager gets to it."""
NOT_FOUND = 404
KINDS = ((RAYJOBS, RAYCLUSTERS), (TRAINJOBS, JOBSETS))


@pytest.fixture
def at(jobset_server: ApiServer, terminal: Terminal, ledger_url: str) -> Iterator[Trainings]:
    with real_trainings(jobset_server, terminal, ledger_url) as watched:
        watched.runtime(torch_runtime("torch"))
        yield watched


def submit(at: Trainings, resource: str, name: str, script: str, retries: int = 0) -> str:
    """Create a job of a kind; return its UID."""
    train = trainjob(name, "sh", "-c", script, runtime="torch")
    manifest = (
        rayjob(name, f"sh -c '{script}'", backoffLimit=retries) if resource == RAYJOBS else train
    )
    reply = at.site.api.create(resource, manifest)
    assert reply.code == 201, reply.message  # Created
    return str(reply.body["metadata"]["uid"])


def torn_away(at: Trainings, resource: str, name: str) -> bool:
    """Delete a job past its finalizer, which the controller may just put on; return if it went."""
    assert at.admin.merge(resource, name, {"metadata": {"finalizers": None}}).code in (200, 404)
    assert at.admin.delete(resource, name).code in (200, 202, 404)  # OK, Accepted, NotFound
    return at.admin.get(resource, name).code == 404  # NotFound


def made_for(at: Trainings, uid: str) -> list[str]:
    """Return what there is for a job to run on."""
    return [
        item["metadata"]["name"]
        for _, resource in KINDS
        for item in at.admin.list(resource).body["items"]
        if any(one["uid"] == uid for one in item["metadata"].get("ownerReferences", []))
    ]


def identities(at: Trainings, uid: str) -> list[str]:
    """Return the UIDs of what there is for a job to run on."""
    found = [item for _, one in KINDS for item in at.admin.list(one).body["items"]]
    names = made_for(at, uid)
    return [item["metadata"]["uid"] for item in found if item["metadata"]["name"] in names]


def has_begun(at: Trainings, uid: str) -> Callable[[], bool]:
    return lambda: bool(made_for(at, uid))


def assert_told(at: Trainings, *uids: str) -> None:
    """Assert that the log knows that these jobs have gone, in few events."""
    for uid in uids:
        at.site.wait_for_true(
            "it is told as gone",
            "SELECT EXISTS (SELECT FROM event e JOIN job j USING (stream_id) WHERE j.uid = %s"
            " AND e.type IN ('JobDeleted', 'TrainJobDeleted'))",
            uid,
        )
    most = "SELECT max(n) FROM (SELECT count(*) AS n FROM event GROUP BY stream_id) AS counted"
    assert at.site.value(most) <= EVENTS_MAX
    at.site.terminal.jobledger("verify")
    at.site.terminal.jobledger("rebuild", "--check")


@pytest.mark.parametrize("propagation", ["Background", "Foreground"])
def test_jobs_that_are_deleted_at_any_moment_leave_nothing(at: Trainings, propagation: str) -> None:
    uids, body = [], {"propagationPolicy": propagation}
    with at.site.controller() as controller:
        for number in range(4):
            for resource, _ in KINDS:
                name = f"gone-{number}"
                uid = submit(at, resource, name, "sleep 600")
                uids.append(uid)
                if number % 2:
                    wait_until(has_begun(at, uid), "it has begun", SECONDS)
                assert at.site.api.delete(resource, name, body).code in (200, 202)  # OK, Accepted
        for resource in (RAYJOBS, TRAINJOBS, RAYCLUSTERS, JOBSETS):
            wait_until(
                lambda resource=resource: at.admin.list(resource).body["items"] == [],  # type: ignore[misc]  # a default argument binds the loop's value
                f"no {resource} is left",
                SECONDS,
            )
        known = {row["uid"] for row in at.site.rows("SELECT uid FROM job")}
        assert_told(at, *[uid for uid in uids if uid in known])
        assert len(known) >= len(uids) // 2
        assert controller.metric("jobledger_poisoned_observations_total") == 0


def test_another_job_of_the_name_keeps_what_is_its_own(at: Trainings) -> None:
    gate = at.site.directory / "gate"
    until = f"until [ -e {gate} ]; do sleep 0.2; done"
    with at.site.controller():
        old = [submit(at, resource, "again", until) for resource, _ in KINDS]
        for uid in old:
            wait_until(has_begun(at, uid), "the first has begun", SECONDS)
        for resource, _ in KINDS:
            wait_until(partial(torn_away, at, resource, "again"), f"no {resource} is left", SECONDS)
        new = [submit(at, resource, "again", until) for resource, _ in KINDS]
        for uid in new:
            wait_until(has_begun(at, uid), "the second has begun", SECONDS)
        for uid in old:
            wait_until(lambda uid=uid: made_for(at, uid) == [], "the first is gone", SECONDS)  # type: ignore[misc]  # a default argument binds the loop's value
        kept = [made_for(at, uid) for uid in new]
        gate.touch()
        at.wait_for("again", "Complete")

        def is_complete() -> bool:
            status = at.admin.get(RAYJOBS, "again").body.get("status", {})
            return bool(status.get("jobDeploymentStatus") == "Complete")

        wait_until(is_complete, "the RayJob is complete", SECONDS)
        assert [made_for(at, uid) for uid in new] == kept
        assert_told(at, *old)


def test_what_others_keep_by_a_finalizer_is_waited_for(at: Trainings) -> None:
    """It was deleted by somebody: there is never another beside it."""
    with at.site.controller():
        uids = [submit(at, one, "kept", "sleep 600", retries=1) for one, _ in KINDS]
        for (_, resource), uid in zip(KINDS, uids, strict=True):
            wait_until(has_begun(at, uid), "it has begun", SECONDS)
            (name,) = made_for(at, uid)
            found = at.admin.get(resource, name).body["metadata"].get("finalizers", [])
            kept = {"metadata": {"finalizers": [*found, FOREIGN]}}
            assert at.admin.merge(resource, name, kept).code == 200  # OK
            assert at.admin.delete(resource, name).code in (200, 202)  # OK, Accepted
        at.site.wait_for_true(
            "both are known to go",
            "SELECT count(DISTINCT type) = 2 FROM event"
            " WHERE type IN ('ClusterObserved', 'JobSetObserved')"
            " AND (data ->> 'deleting')::boolean",
        )
        before = {uid: identities(at, uid) for uid in uids}
        assert [len(one) for one in before.values()] == [1, 1]
        for (_, resource), uid in zip(KINDS, uids, strict=True):
            (name,) = made_for(at, uid)
            assert at.admin.merge(resource, name, {"metadata": {"finalizers": None}}).code == 200

            def is_another(uid: str = uid) -> bool:
                return identities(at, uid) not in ([], before[uid])

            wait_until(is_another, "another is made", SECONDS)
        for resource, _ in KINDS:
            assert at.site.api.delete(resource, "kept").code in (200, 202)  # OK, Accepted
        assert_told(at, *uids)


def test_a_namespace_goes_with_its_jobs(at: Trainings) -> None:
    """The finalizer of a RayJob would keep it for ever."""
    with own_namespace(at.admin) as doomed:
        both = json.dumps([at.site.api.namespace, doomed.namespace])
        with at.site.controller(JOBLEDGER_NAMESPACES=both):
            there = Trainings(at.site, doomed, at.witness)
            there.runtime(torch_runtime("torch"))
            uids = []
            for resource, _ in KINDS:
                train = trainjob("doomed", "sleep", "600", runtime="torch")
                manifest = rayjob("doomed", "sleep 600") if resource == RAYJOBS else train
                reply = doomed.create(resource, manifest)
                assert reply.code == 201, reply.message  # Created
                uids.append(reply.body["metadata"]["uid"])
            for uid in uids:
                wait_until(has_begun(there, uid), "it has begun", SECONDS)
            path = f"/api/v1/namespaces/{doomed.namespace}"
            assert doomed.request("DELETE", path).code == 200  # OK
            wait_until(
                lambda: doomed.request("GET", path).code == 404, "it is gone", SECONDS
            )  # Not Found
            assert_told(at, *uids)
