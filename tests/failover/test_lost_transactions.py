"""A ledger loses its last transactions in one of three ways, and jobs of both kinds have gone on.

Nothing runs twice, nothing final changes, nothing live is deleted, and all come to rest.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from tests.acceptance.jobs import rayjob, runs, waiting_for
from tests.acceptance.site import Site
from tests.acceptance.trainjobs import RUNTIMES, trainjob
from tests.acceptance.witness import JOBSETS, RAYCLUSTERS, RAYJOBS, TRAINJOBS, Witness
from tests.failover.losses import Loss, dump, point_in_time, promotion

pytestmark = [pytest.mark.faults, pytest.mark.postgres]

RUNTIME = Path(__file__).resolve().parents[2] / "ops" / "samples" / "trainjob" / "runtime.yaml"


@pytest.fixture
def watched(site: Site) -> Iterator[Witness]:
    """Somebody who watches all that the jobs make."""
    with Witness(site.api, (RAYJOBS, RAYCLUSTERS, TRAINJOBS, JOBSETS)) as witness:
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


def conditions(witness: Witness, name: str) -> dict[str, str]:
    told = witness.told(TRAINJOBS, name)
    status = told[-1].document.get("status", {}) if told else {}
    return {one["type"]: one["status"] for one in status.get("conditions", [])}


def once(counter: Path, gate: Path) -> str:
    """Return an entrypoint that says that it runs, and succeeds once a file is there."""
    return waiting_for(gate).replace("sh -c 'n=0;", f"sh -c 'echo run >> {counter}; n=0;")


def failing_then(counter: Path, fail: Path, gate: Path) -> str:
    """Return an entrypoint that fails once a file is there, and succeeds later by another."""
    waits = f"until [ -e {fail} ]; do sleep 0.2; done; exit 1"
    first = f"[ $(wc -l < {counter}) -gt 1 ] || {{ {waits}; }};"
    return once(counter, gate).replace(" n=0;", f" {first} n=0;")


FILES = ("done", "retried", "long", "trained", "gone", "again", "dropped")


TRAINED = ("trained", "again", "dropped")


def begin_training(site: Site, files: dict[str, Path], gates: dict[str, Path], fail: Path) -> None:
    """Create TrainJobs that wait; the second is started anew by its JobSet once it may fail."""
    first_fails = f"[ $(wc -l < {files['again']}) -gt 1 ] || {{ until [ -e {fail} ]; "
    first_fails += "do sleep 0.2; done; exit 1; };"
    for name in TRAINED:
        fails = first_fails if name == "again" else ""
        waits = f"until [ -e {gates[name]} ]; do sleep 0.2; done"
        script = f"echo run >> {files[name]}; {fails} {waits}"
        manifest = trainjob(name, "sh", "-c", script, runtime="two-nodes")
        assert site.api.create(TRAINJOBS, manifest).code == 201  # Created


def goes_on_after_the_cut(site: Site, watched: Witness, loss: Loss, tmp_path: Path) -> None:
    """Let jobs run, cut the replica off, and let them end, retry, begin and be deleted."""
    files = {name: tmp_path / name for name in FILES}
    gates = {name: tmp_path / f"{name}.gate" for name in FILES}
    runtime = yaml.safe_load(RUNTIME.read_text()) | {"kind": "TrainingRuntime"}
    assert site.api.create(RUNTIMES, runtime).code == 201  # Created
    with site.controller() as controller:
        site.submit(rayjob("done", once(files["done"], gates["done"])))
        site.submit(rayjob("long", once(files["long"], gates["long"])))
        site.submit(rayjob("gone", once(files["gone"], gates["gone"])))
        retried = failing_then(files["retried"], tmp_path / "fail", gates["retried"])
        site.submit(rayjob("retried", retried, backoffLimit=1))
        begin_training(site, files, gates, tmp_path / "fail")
        for name in ("done", "long", "gone", "retried"):
            watched.wait_for_status(name, jobDeploymentStatus="Running")
        watched.wait_until(lambda: all(runs(files[name]) == 1 for name in TRAINED), "they train")
        loss.cut()
        for gate in (gates["done"], gates["trained"], tmp_path / "fail"):
            gate.touch()
        site.api.delete(RAYJOBS, "gone")
        site.api.delete(TRAINJOBS, "dropped")
        watched.wait_for_phase("done", "Complete")
        watched.wait_until(
            lambda: conditions(watched, "trained").get("Complete") == "True", "it is Complete"
        )
        watched.wait_until(lambda: runs(files["retried"]) == 2, "the second attempt runs")
        watched.wait_until(lambda: runs(files["again"]) == 2, "the JobSet has started anew")
        watched.wait_for_status("retried", jobDeploymentStatus="Running")
        site.submit(rayjob("new", once(tmp_path / "new", gates["long"])))
        watched.wait_for_status("new", jobDeploymentStatus="Running")
        controller.kill()


def test_nothing_is_done_twice_or_undone(
    site: Site, watched: Witness, loss: Loss, tmp_path: Path
) -> None:
    files = {name: tmp_path / name for name in FILES}
    gates = {name: tmp_path / f"{name}.gate" for name in FILES}
    goes_on_after_the_cut(site, watched, loss, tmp_path)
    before = {life.name for life in watched.lives(RAYCLUSTERS) if life.ended is None}
    ended = dict(watched.status("done"))
    url = loss.restored()
    there = replace(
        site, database_url=url, terminal=site.terminal.with_environment(DATABASE_URL=url)
    )
    with there.controller("successor") as successor:
        there.wait_for_true(
            "what was lost is taken over",
            "SELECT count(*) FILTER (WHERE type = 'RecoveredFromCluster') >= 3 FROM event",
        )
        # While the claim of the one that was killed is fresh, another ledger may be at work.
        watched.wait_until(lambda: successor.get("/readyz")[0] == 200, "it is ready")  # OK
        alive = {life.name for life in watched.lives(RAYCLUSTERS) if life.ended is None}
        assert before <= alive, "a live RayCluster was deleted"
        gates["long"].touch()
        gates["retried"].touch()
        gates["again"].touch()
        for name in ("long", "retried", "new"):
            watched.wait_for_phase(name, "Complete")
        watched.wait_until(
            lambda: conditions(watched, "again").get("Complete") == "True", "it is Complete"
        )
        there.wait_for_true("all have come to rest", "SELECT count(*) = 0 FROM job WHERE open")
    assert sorted(life.name for life in watched.lives(JOBSETS)) == ["again", "dropped", "trained"]
    assert {name: runs(file) for name, file in files.items()} == {
        "done": 1,
        "long": 1,
        "gone": 1,
        "retried": 2,
        "trained": 1,
        "again": 2,
        "dropped": 1,
    }
    kept = ("jobDeploymentStatus", "jobStatus", "endTime", "succeeded", "failed", "rayClusterName")
    now = watched.status("done")
    assert {field: now.get(field) for field in kept} == {f: ended.get(f) for f in kept}
    assert conditions(watched, "trained")["Complete"] == "True"
    assert watched.status("retried")["failed"] == 1
    there.terminal.jobledger("verify")
    there.terminal.jobledger("rebuild", "--check")
