"""A condition of an installed plugin on a real API server: it follows a PodGroup's status.

Real are the API server with its garbage collection, the JobSet controller, the controller's rights,
the plugin's installation and its process. The scheduler of the gang is played: its part is what it
writes into the status of the PodGroup.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.trainjobs import Document, Trainings, real_trainings, torch_runtime, trainjob
from tests.support.apiserver import ApiServer
from tests.support.example_plugin import ROOT, install
from tests.support.processes import Controller, Terminal

pytestmark = [pytest.mark.faults, pytest.mark.apiserver, pytest.mark.postgres]

POD_GROUPS = "scheduling.x-k8s.io/v1alpha1/podgroups"
KIND = "GangScheduled"


@pytest.fixture
def at(jobset_server: ApiServer, terminal: Terminal, ledger_url: str) -> Iterator[Trainings]:
    with real_trainings(jobset_server, terminal, ledger_url) as watched:
        yield watched


def controller(at: Trainings, place: Path) -> Controller:
    """Return a controller beside which the example is installed."""
    return at.site.controller(
        PYTHONPATH=f"{place}:{ROOT}", JOBLEDGER_TRAINJOB_PROPAGATE_CONDITIONS="true"
    )


def scheduler_says(at: Trainings, phase: str) -> None:
    reply = at.admin.merge(POD_GROUPS, "ganged", {"status": {"phase": phase}}, "status")
    assert reply.code == 200, reply.message


def wait_for_reason(at: Trainings, status: str, reason: str) -> Document:
    """Wait for the condition with a reason; return it."""

    def reached() -> bool:
        found = at.conditions("ganged").get(KIND) or {}
        return (found.get("status"), found.get("reason")) == (status, reason)

    at.witness.wait_until(reached, f"{KIND}={status}/{reason}")
    return at.conditions("ganged")[KIND]


def test_a_condition_follows_the_pod_group_through_a_kill_and_a_loss(
    at: Trainings, tmp_path: Path
) -> None:
    place, gate = tmp_path / "place", at.site.directory / "gate"
    install(place, tmp_path)
    runtime = torch_runtime("gang")
    runtime["spec"]["podGroupPolicy"] = {"coscheduling": {}}
    at.runtime(runtime)
    command = ("/bin/sh", "-c", f"until [ -e {gate} ]; do sleep 0.2; done")
    at.submit(trainjob("ganged", *command, runtime="gang"))
    with controller(at, place) as running:
        wait_for_reason(at, "Unknown", "NotSeenYet")
        scheduler_says(at, "PreScheduling")
        waiting = wait_for_reason(at, "False", "PreScheduling")
        scheduler_says(at, "Scheduling")
        still = wait_for_reason(at, "False", "Scheduling")
        assert still["lastTransitionTime"] == waiting["lastTransitionTime"]
        running.kill()
        scheduler_says(at, "Scheduled")
        running.start()
        wait_for_reason(at, "True", "Scheduled")
        first = at.admin.get(POD_GROUPS, "ganged").body["metadata"]["uid"]
        assert at.admin.delete(POD_GROUPS, "ganged").code == 200
        wait_for_reason(at, "Unknown", "NotSeenYet")  # of the one that is made in its place
        second = at.admin.get(POD_GROUPS, "ganged").body["metadata"]["uid"]
        scheduler_says(at, "Running")
        wait_for_reason(at, "True", "Running")
        gate.touch()
        at.wait_for("ganged", "Complete")
        at.site.wait_for_true("nothing is left to do", "SELECT NOT open FROM job")
    assert list(at.conditions("ganged")) == ["Created", KIND, "Complete"]
    assert at.conditions("ganged")[KIND]["status"] == "True"
    assert first != second
    told = at.site.rows(
        "SELECT data->'contribution'->'source'->>'uid' AS uid, data->'gone' AS gone, "
        "data->'contribution'->'conditions'->0->>'reason' AS reason "
        "FROM event WHERE type = 'PluginConditionsObserved' ORDER BY position"
    )
    assert [(row["uid"], row["reason"]) for row in told] == [
        (first, "NotSeenYet"),
        (first, "PreScheduling"),
        (first, "Scheduling"),
        (first, "Scheduled"),
        (first, "ObjectGone"),
        (second, "NotSeenYet"),
        (second, "Running"),
    ]
    assert [row["gone"] is True for row in told] == [False] * 4 + [True] + [False] * 2
    terminal, where = at.site.terminal, ("ganged", "-n", at.site.api.namespace)
    assert f"{KIND}=True/Running" in terminal.jobledger("history", *where).out
    assert f"{KIND} is True" in terminal.jobledger("explain", *where).out
    terminal.jobledger("replay", *where)
    terminal.jobledger("verify")
    assert "equal the fold of the log" in terminal.jobledger("rebuild", "--check").out
