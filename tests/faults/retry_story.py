"""The jobs that faults befall, and how they must end whatever befalls them."""

import itertools
import json
from dataclasses import dataclass, field
from pathlib import Path

from tests.acceptance.jobs import counting, rayjob, runs
from tests.acceptance.site import Site
from tests.acceptance.witness import BATCH_JOBS, Life, Witness
from tests.faults.notary import Notary
from tests.support.processes import Controller

MODES = {"lucky": "K8sJobMode", "direct": "HTTPMode"}
"""Each fails once and succeeds on its second RayCluster."""


@dataclass
class RetryStory:
    """The same jobs for every fault; everything is told to `witness`."""

    site: Site
    """With good lines, for asking."""
    witness: Witness
    notary: Notary
    names: list[str] = field(default_factory=list)

    def submit(self, *names: str, gate: Path | None = None) -> None:
        """Create jobs: each of `MODES`, or some. Their entrypoints wait until a file is there."""
        wait = f"sh -c 'until [ -e {gate} ]; do sleep 0.2; done; " if gate else "sh -c '"
        for name in names or MODES:
            self.names.append(name)
            manifest = rayjob(
                name,
                counting(self.counter(name), fails=1).replace("sh -c '", wait, 1),
                mode=MODES[name],
                backoffLimit=1,
                shutdownAfterJobFinishes=True,
            )
            self.site.submit(manifest)

    def counter(self, name: str) -> Path:
        """Return where a job counts its runs."""
        return self.site.directory / f"counter-{name}"

    def wait_for_the_end(self) -> None:
        """Return once nothing is left to do."""
        for name in self.names:
            self.witness.wait_for_phase(name, "Complete")
        done = "SELECT count(*) = %s FROM job WHERE NOT open AND name = ANY (%s)"
        self.site.wait_for_true("nothing is left to do", done, len(self.names), self.names)

    def assert_same_end(self) -> None:
        """Everything is as it is without faults: in the cluster, in the log and in files."""
        self.wait_for_the_end()
        for name in self.names:
            status = self.witness.status(name)
            counts = {key: status[key] for key in ("jobStatus", "succeeded", "failed")}
            assert counts == {"jobStatus": "SUCCEEDED", "succeeded": 1, "failed": 1}, name
            assert runs(self.counter(name)) == 2, name
            clusters = self.witness.clusters_of(name)
            assert len({life.name for life in clusters}) == len(clusters) == 2, name
            assert_one_after_the_other(clusters)
            self.witness.wait_until(
                lambda name=name: all(life.ended for life in self.witness.clusters_of(name)),  # type: ignore[misc]  # mypy knows no defaults of lambdas
                f"the shutdown of {name}",
            )
        submitters = self.witness.lives(BATCH_JOBS)
        assert [life.name for life in submitters] == ["lucky"] * 2 * ("lucky" in self.names)
        self.assert_log()

    def assert_log(self) -> None:
        """The log is whole, its projections equal it, and every effect had been asked for."""
        assert not self.notary.unrecorded, self.notary.unrecorded
        assert self.notary.effects > 0
        assert self.site.rows("SELECT * FROM effect WHERE state = 'requested'") == []
        ends = self.site.rows(
            "SELECT kind, state, (SELECT count(*) FROM event WHERE type IN "
            "('DecisionFired', 'DecisionCancelled') "
            "AND data->>'decision_id' = d.decision_id::text) AS ends FROM decision AS d"
        )
        assert all(row["ends"] == 1 and row["state"] != "pending" for row in ends), ends
        self.site.terminal.jobledger("verify")
        self.site.terminal.jobledger("rebuild", "--check")


def assert_one_after_the_other(lives: list[Life]) -> None:
    """Each is gone before the next exists."""
    for earlier, later in itertools.pairwise(lives):
        assert earlier.ended is not None, lives
        assert earlier.ended < later.begun, lives


def readiness(controller: Controller) -> tuple[list[str], str]:
    """Return what a controller says it waits for, and the errors behind that."""
    told = json.loads(controller.get("/readyz")[1])
    return told["waits_for"], " | ".join(told.get("errors", []))


def assert_nothing_broke(controller: Controller) -> None:
    """The process never met anything it was not made for."""
    assert controller.running
    assert controller.get("/healthz")[0] == 200
    assert "Traceback" not in controller.log
    for name in ("poisoned_observations", "poisoned_jobs"):
        assert controller.metric(f"jobledger_{name}_total") == 0
