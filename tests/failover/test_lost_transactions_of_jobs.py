"""A ledger loses its last transactions, and `batch/v1` Jobs have gone on.

As `test_lost_transactions` has it of RayJobs and TrainJobs: nothing runs twice, nothing final
changes, nothing live is deleted, and all come to rest.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from jobledger.core.batchjob.names import MANAGED_BY
from tests.acceptance.jobs import runs
from tests.acceptance.site import Site
from tests.acceptance.witness import BATCH_JOBS, Witness
from tests.failover.losses import Loss, dump, point_in_time, promotion

pytestmark = [pytest.mark.faults, pytest.mark.postgres]

Document = dict[str, Any]
NAMES = ("done", "long", "retried", "gone")
RUNS = {"done": 1, "long": 1, "retried": 2, "gone": 1, "new": 1}


@pytest.fixture
def of_jobs(site: Site) -> Site:
    """A site whose controllers work on Jobs alone."""
    kinds = site.terminal.with_environment(JOBLEDGER_JOB_KINDS=json.dumps(["Job"]))
    return replace(site, terminal=kinds)


@pytest.fixture
def watched(site: Site) -> Iterator[Witness]:
    """Somebody who watches all Jobs: those of users, and those of attempts."""
    with Witness(site.api, (BATCH_JOBS,)) as witness:
        yield witness


@pytest.fixture(
    params=[
        pytest.param(promotion, id="a promoted replica"),
        pytest.param(dump, id="a dump"),
        pytest.param(point_in_time, id="a point in time"),
    ]
)
def loss(site: Site, request: pytest.FixtureRequest) -> Iterator[Loss]:
    """A way in which the site's ledger loses its last transactions."""
    with request.param(site.database_url) as way:
        yield way


def a_job(name: str, directory: Path) -> Document:
    """Return a Job that says that it runs; it fails first, if there is a file for that."""
    file, gate, fails = (directory / f"{name}{end}" for end in ("", ".gate", ".fails"))
    waits = f"until [ -e {gate} ] || [ -e {fails} ]; do sleep 0.2; done"
    script = f"echo run >> {file}; {waits}; [ ! -e {fails} ] || {{ rm {fails}; exit 1; }}"
    container = {"name": "main", "image": "etl:1", "command": ["sh", "-c", script]}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "annotations": {"jobledger.dev/backoff-limit": "1"}},
        "spec": {
            "managedBy": MANAGED_BY,
            "backoffLimit": 0,
            "template": {"spec": {"restartPolicy": "Never", "containers": [container]}},
        },
    }


def shown(witness: Witness, name: str) -> Document:
    told = witness.told(BATCH_JOBS, name)
    return dict(told[-1].document.get("status", {})) if told else {}


def is_complete(witness: Witness, name: str) -> bool:
    conditions = shown(witness, name).get("conditions", [])
    return any(one["type"] == "Complete" and one["status"] == "True" for one in conditions)


def is_begun(witness: Witness, name: str) -> bool:
    return "startTime" in shown(witness, name)


def alive(witness: Witness) -> set[tuple[str, int]]:
    """Return the Jobs that are there, and since when."""
    there = (life for life in witness.lives(BATCH_JOBS) if life.ended is None)
    return {(life.name, life.begun) for life in there}


def goes_on_after_the_cut(site: Site, watched: Witness, loss: Loss, files: Path) -> None:
    """Let Jobs run, cut the replica off, and let them end, retry, begin and be deleted."""
    with site.controller() as controller:
        for name in NAMES:
            assert site.api.create(BATCH_JOBS, a_job(name, files)).code == 201  # Created
        watched.wait_until(lambda: all(runs(files / one) == 1 for one in NAMES), "they run")
        watched.wait_until(lambda: all(is_begun(watched, one) for one in NAMES), "and show it")
        loss.cut()
        (files / "done.gate").touch()
        (files / "retried.fails").touch()
        site.api.delete(BATCH_JOBS, "gone", {"propagationPolicy": "Background"})
        watched.wait_until(lambda: is_complete(watched, "done"), "it is Complete")
        watched.wait_until(lambda: runs(files / "retried") == 2, "the second attempt runs")
        assert site.api.create(BATCH_JOBS, a_job("new", files)).code == 201  # Created
        watched.wait_until(lambda: runs(files / "new") == 1, "it runs")
        watched.wait_until(lambda: is_begun(watched, "new"), "it shows that it has begun")
        controller.kill()


def test_nothing_is_done_twice_or_undone(
    of_jobs: Site, watched: Witness, loss: Loss, tmp_path: Path
) -> None:
    goes_on_after_the_cut(of_jobs, watched, loss, tmp_path)
    before = alive(watched)
    ended = shown(watched, "done")
    url = loss.restored()
    there = replace(
        of_jobs, database_url=url, terminal=of_jobs.terminal.with_environment(DATABASE_URL=url)
    )
    with there.controller("successor") as successor:
        there.wait_for_true(
            "what was lost is taken over",
            "SELECT count(*) FILTER (WHERE type = 'RecoveredFromCluster') >= 3 FROM event",
        )
        # While the claim of the one that was killed is fresh, another ledger may be at work.
        watched.wait_until(lambda: successor.get("/readyz")[0] == 200, "it is ready")  # OK
        assert before <= alive(watched), "a live Job was deleted"
        for name in ("long", "retried", "new"):
            (tmp_path / f"{name}.gate").touch()
        for name in ("long", "retried", "new"):
            watched.wait_until(partial(is_complete, watched, name), f"{name} is Complete")
        there.wait_for_true("all have come to rest", "SELECT count(*) = 0 FROM job WHERE open")
    assert {name: runs(tmp_path / name) for name in RUNS} == RUNS
    assert shown(watched, "done") == ended, "nothing final changes"
    there.terminal.jobledger("verify")
    there.terminal.jobledger("rebuild", "--check")
