"""Two Kubernetes clusters, each with its controller, and one ledger for both."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import pytest

from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.sandbox.wiring import Sandbox, start_sandbox
from tests.acceptance.conftest import at_sandbox
from tests.acceptance.jobs import counting, rayjob, runs, waiting_for
from tests.acceptance.site import Site, namespace_of
from tests.acceptance.witness import Witness
from tests.support.processes import Controller, Terminal

pytestmark = pytest.mark.postgres

NAMES = ("east", "west")


@dataclass(frozen=True, slots=True)
class Place:
    """One of the clusters: in each there is a namespace of the same name."""

    name: str
    site: Site
    witness: Witness

    def controller(self) -> Controller:
        """Return this cluster's controller, not started yet."""
        return self.site.controller(self.name, JOBLEDGER_CLUSTER=self.name)

    def told(self, *arguments: str) -> Any:  # noqa: ANN401  # JSON
        """Return what a command says of this cluster, which the ledger's other one is not."""
        answer = self.site.terminal.jobledger(*arguments, "--cluster", self.name, "-o", "json")
        return json.loads(answer.out)


@pytest.fixture
def places(sandbox: Sandbox, terminal: Terminal, ledger_url: str) -> Iterator[tuple[Place, Place]]:
    """Two sandboxes, one ledger; the second sandbox is of this test alone."""
    with ExitStack() as stack:
        other = start_sandbox(terminal.directory / "other-sandbox", "127.0.0.1", 0)
        stack.callback(other.stop)
        namespace, found = "", []
        for name, running in zip(NAMES, (sandbox, other), strict=True):
            api = stack.enter_context(namespace_of(running, namespace))
            namespace = api.namespace
            directory = terminal.directory / name
            directory.mkdir()
            site = Site(
                api=api,
                terminal=at_sandbox(replace(terminal, directory=directory), running, ledger_url),
                database_url=ledger_url,
                proxy_url=running.data_plane.proxy_url,
            )
            found.append(Place(name, site, stack.enter_context(Witness(api))))
        yield found[0], found[1]


def test_jobs_of_one_name_in_two_clusters_are_two_jobs(places: tuple[Place, Place]) -> None:
    """One fails and is retried, one is still running; neither controller touches the other's."""
    east, west = places
    counter, gate = east.site.directory / "counter", west.site.directory / "gate"
    namespace = east.site.api.namespace
    with east.controller(), west.controller():
        east.site.submit(rayjob("train", counting(counter, fails=1), backoffLimit=1))
        west.site.submit(rayjob("train", waiting_for(gate)))
        east.witness.wait_for_phase("train", "Complete")
        west.witness.wait_for_status("train", jobDeploymentStatus="Running", jobStatus="RUNNING")
        assert [row["phase"] for row in east.told("get")] == ["Complete"]
        assert [row["phase"] for row in west.told("get")] == ["Running"]
        gate.touch()
        west.witness.wait_for_phase("train", "Complete")
    assert runs(counter) == 2
    assert len(east.witness.clusters_of("train")) == 2
    assert len(west.witness.clusters_of("train")) == 1
    counted = [place.told("get", "train", "-n", namespace)[0] for place in places]
    assert [(row["cluster"], row["failed"], row["succeeded"]) for row in counted] == [
        ("east", 1, 1),
        ("west", 0, 1),
    ]
    unclear = east.site.terminal.jobledger("explain", "train", "-n", namespace, code=ExitCode.USAGE)
    assert "--cluster" in unclear.err
    east.site.terminal.jobledger("verify")
    east.site.terminal.jobledger("rebuild", "--check")
