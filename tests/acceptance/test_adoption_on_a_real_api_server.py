"""Jobs in any state at first sight: taken over as another controller left them, on a real server.

All jobs of both kinds are there before the controller starts, in one namespace; nothing but the
API server, the controller manager and the JobSet controller is at work besides it. Each test then
looks at one of them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from jobledger.sandbox.postgres.embedded import EmbeddedPostgres
from tests.acceptance.found_in_other_modes import FOUND_IN_OTHER_MODES
from tests.acceptance.found_rayjobs import FOUND, Found, leave
from tests.acceptance.found_trainjobs import FOUND_TRAININGS, RUNTIME, FoundTraining, leave_training
from tests.acceptance.other_controllers import KubeRay, Trainer
from tests.acceptance.prepared_interpreter import PreparedInterpreter
from tests.acceptance.real_site import leave_nothing
from tests.acceptance.site import Site
from tests.acceptance.trainjobs import RUNTIMES, torch_runtime
from tests.acceptance.witness import BATCH_JOBS, JOBSETS, RAYCLUSTERS, RAYJOBS, TRAINJOBS
from tests.support.api import Api, own_namespace
from tests.support.apiserver import ApiServer
from tests.support.postgres import fresh_database
from tests.support.processes import Terminal, plain_environment
from tests.support.told_heads import ToldHeads
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.apiserver, pytest.mark.postgres]

RAYJOBS_FOUND = (*FOUND, *FOUND_IN_OTHER_MODES)
HEADS = {found.cluster_name: found.head for found in RAYJOBS_FOUND if found.head}

SETTLED_SECONDS = 90.0
"""Limit until all jobs are where they are to be; a busy machine takes a few seconds."""

KINDS = {"RayCluster": RAYCLUSTERS, "Job": BATCH_JOBS, "JobSet": JOBSETS}
Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Scene:
    """Where all jobs are, before and after a controller has taken them over."""

    site: Site
    before: dict[str, dict[str, str]]
    """Kind -> name -> UID of what was there."""

    def made(self, kind: str, job: str) -> list[str]:
        """Return the objects of a kind that were made for a job since."""
        return [
            item["metadata"]["name"]
            for item in self.there(kind)
            if item["metadata"]["uid"] not in self.before[kind].values() and _is_of(item, job)
        ]

    def kept(self, kind: str, name: str) -> bool:
        """Return whether the very object that was there is there, and stays."""
        uid = self.before[kind][name]
        found = [item for item in self.there(kind) if item["metadata"]["uid"] == uid]
        return found != [] and "deletionTimestamp" not in found[0]["metadata"]

    def there(self, kind: str) -> list[Document]:
        """Return all objects of a kind."""
        return list(self.site.api.list(KINDS[kind]).body["items"])

    def job(self, name: str, kind: str) -> Document:
        """Return a job's row of the ledger."""
        (row,) = self.site.rows("SELECT * FROM job WHERE kind = %s AND name = %s", kind, name)
        return row

    def pending(self, name: str) -> list[str]:
        """Return the decisions that are pending for a job."""
        rows = self.site.rows(
            "SELECT d.kind FROM decision d JOIN job j USING (stream_id) "
            "WHERE j.name = %s AND d.state = 'pending' ORDER BY d.kind",
            name,
        )
        return [row["kind"] for row in rows]


def _is_of(item: Document, job: str) -> bool:
    return any(one["name"] == job for one in item["metadata"].get("ownerReferences", []))


@pytest.fixture(scope="module")
def scene(
    jobset_server: ApiServer,
    postgres_server: EmbeddedPostgres,
    ledger_template: str,
    prepared: PreparedInterpreter,
    bytecode: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Scene]:
    """Every job, found and taken over; the controller goes on while the tests look."""
    directory = tmp_path_factory.mktemp("adoption")
    terminal = Terminal(directory, plain_environment(directory, bytecode), prepared)
    admin = jobset_server.api()
    with (
        fresh_database(postgres_server, ledger_template) as url,
        own_namespace(admin) as api,
        ToldHeads(HEADS) as heads,
    ):
        site = Site(
            api=api,
            terminal=terminal.with_environment(
                KUBECONFIG=str(jobset_server.kubeconfig("controller")),
                DATABASE_URL=url,
                HTTP_PROXY=heads.url,
                NO_PROXY="127.0.0.1,localhost",
                JOBLEDGER_DATA_DIR=str(directory / "data"),
            ),
            database_url=url,
            proxy_url=heads.url,
        )
        _leave_all(api)
        found = Scene(site, _uids(api))
        try:
            with site.controller(JOBLEDGER_TAKE_OVER="true"):
                _wait_until_settled(found)
                yield found
        finally:
            leave_nothing(api)
    admin.pool.clear()


def _leave_all(api: Api) -> None:
    runtime = torch_runtime(RUNTIME)
    reply = api.create(RUNTIMES, runtime)
    assert reply.code == 201, reply
    for found in RAYJOBS_FOUND:
        leave(KubeRay(api), found)
    for training in FOUND_TRAININGS:
        leave_training(Trainer(api), training, runtime)


def _uids(api: Api) -> dict[str, dict[str, str]]:
    return {
        kind: {
            item["metadata"]["name"]: item["metadata"]["uid"]
            for item in api.list(resource).body["items"]
        }
        for kind, resource in KINDS.items()
    }


def _wait_until_settled(scene: Scene) -> None:
    """Return once every job is where it is to be; say which are not."""
    left: list[str] = []

    def are_settled() -> bool:
        left[:] = _unsettled(scene)
        return not left

    try:
        wait_until(are_settled, "all jobs are settled", SETTLED_SECONDS)
    except AssertionError as error:
        error.add_note(f"not settled: {left}")
        raise


def _unsettled(scene: Scene) -> list[str]:
    api = scene.site.api
    shown = {
        item["metadata"]["name"]: item.get("status", {}).get("jobDeploymentStatus", "")
        for item in api.list(RAYJOBS).body["items"]
    }
    left = [
        f"{one.name} shows {shown[one.name]}"
        for one in RAYJOBS_FOUND
        if shown[one.name] != (one.shows or one.phase)
    ]
    for one in RAYJOBS_FOUND:
        if one.cluster and not one.keeps and scene.kept("RayCluster", one.cluster_name):
            left.append(f"{one.name} has its RayCluster")
        if (pending := scene.pending(one.name)) != sorted(one.pending):
            left.append(f"{one.name} waits for {pending}")
        left += [
            f"{one.name} has no {kind}" for kind in one.makes if not scene.made(kind, one.name)
        ]
    for training in FOUND_TRAININGS:
        job = api.get(TRAINJOBS, training.name).body
        if not training.needs_no_look(job):
            left.append(f"{training.name} shows {job.get('status')}")
    known = {row["name"] for row in scene.site.rows("SELECT name FROM job")}
    return [*left, *({one.name for one in (*RAYJOBS_FOUND, *FOUND_TRAININGS)} - known)]


@pytest.mark.parametrize("found", RAYJOBS_FOUND, ids=lambda found: found.name)
def test_a_rayjob_goes_on_as_it_was_found(scene: Scene, found: Found) -> None:
    row = scene.job(found.name, "RayJob")
    assert row["attempt"] == found.attempt
    assert row["failed"] - found.fails == found.status.get("failed", 0)
    assert scene.pending(found.name) == sorted(found.pending)
    for kind in KINDS:
        assert len(scene.made(kind, found.name)) == found.makes.count(kind), f"{kind}s were made"
    if found.cluster:
        assert scene.kept("RayCluster", found.cluster_name) is found.keeps
    if found.is_submitted:
        assert scene.kept("Job", found.name) is found.keeps
    said = scene.site.terminal.jobledger("history", found.name, "-n", scene.site.api.namespace).out
    if found.phase or found.status:
        words = f"found in phase {found.phase or 'New'}; what had happened before was not seen"
        assert words in " ".join(said.split())


@pytest.mark.parametrize("found", FOUND_TRAININGS, ids=lambda found: found.name)
def test_a_trainjob_goes_on_as_it_was_found(scene: Scene, found: FoundTraining) -> None:
    shown = scene.site.api.get(TRAINJOBS, found.name).body
    assert found.needs_no_look(shown)
    assert len(scene.made("JobSet", found.name)) == found.makes_jobset
    if found.has_jobset:
        assert scene.kept("JobSet", found.name)
    said = scene.site.terminal.jobledger("history", found.name, "-n", scene.site.api.namespace).out
    if found.conditions:
        assert "what had happened before was not seen" in " ".join(said.split())


def test_what_was_taken_over_stands_in_the_ledger_as_anything_else(scene: Scene) -> None:
    assert "equal the fold of the log" in scene.site.terminal.jobledger("rebuild", "--check").out
    scene.site.terminal.jobledger("verify")
    for name in ("running-third", "retrying", "suspending"):
        scene.site.terminal.jobledger("replay", name, "-n", scene.site.api.namespace)
    told = scene.site.terminal.jobledger(
        "explain", "running-third", "-n", scene.site.api.namespace
    ).out
    assert "What had happened before" in told
    assert "was not seen" in told
