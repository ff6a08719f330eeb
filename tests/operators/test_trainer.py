"""Recorder, adoption and hand-over beside the real Trainer manager and the real JobSet controller.

Trainer's webhooks are asked as in a cluster, also while it is switched off: then they refuse.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.jobs import runs
from tests.acceptance.trainjobs import RUNTIMES, torch_runtime, trainjob
from tests.acceptance.witness import JOBSETS, TRAINJOBS
from tests.operators.processes import TRAINER_WEBHOOKS
from tests.operators.stage import SEEN_SECONDS, Document, Stage, stepwise_command
from tests.support.api import Api
from tests.support.waiting import wait_until
from tests.support.webhooks import ADMISSION

pytestmark = [pytest.mark.apiserver, pytest.mark.postgres]

UNAVAILABLE = 500
"""What the API server answers where a webhook that must be asked cannot be."""


@pytest.fixture(autouse=True)
def without_webhooks_afterwards(stage: Stage) -> Iterator[None]:
    """Leave none of Trainer's webhooks behind, which would refuse what others make."""
    yield
    remove_webhooks(stage.admin)


def remove_webhooks(admin: Api) -> None:
    """Delete the configurations of Trainer's webhooks, as adopt.md says."""
    for kind, name in TRAINER_WEBHOOKS:
        reply = admin.request("DELETE", f"{ADMISSION}/{kind}/{name}")
        assert reply.code in (200, 404), reply.message  # OK, NotFound


def submit(stage: Stage, name: str, steps: Path, *, fails: int = 0) -> None:
    """Create a TrainJob of one node that waits until it may end."""
    command = stepwise_command(steps, fails=fails)
    reply = stage.site.api.create(TRAINJOBS, trainjob(name, *command, runtime="torch"))
    assert reply.code == 201, reply.message  # Created


def make_runtime(stage: Stage) -> None:
    """Create the runtime, with the admission of whoever runs."""
    reply = stage.admin.create(RUNTIMES, torch_runtime("torch"))
    assert reply.code == 201, reply.message  # Created


def test_trainjobs_are_recorded_in_full(stage: Stage) -> None:
    """The recorder has a TrainJob that succeeds and one that fails, and writes nothing."""
    good, bad = stage.site.directory / "good", stage.site.directory / "bad"
    with stage.trainer(), stage.recorder():
        make_runtime(stage)
        submit(stage, "good", good)
        submit(stage, "bad", bad, fails=1)
        for name, steps in (("good", good), ("bad", bad)):
            stage.has_begun(steps, 1)
            stage.wait_for_phase(name, "Running")
            stage.goes_on(steps, 1)
        stage.wait_for_phase("good", "Complete")
        stage.wait_for_phase("bad", "Failed")
    assert [row[0] for row in stage.attempts("good")] == ["succeeded"]
    assert [row[0] for row in stage.attempts("bad")] == ["failed"]
    for name in ("good", "bad"):
        assert not any("jobledger" in writer for writer in stage.writers(name, TRAINJOBS))
        stage.forensics_hold(name)


def test_trainjobs_are_taken_over_while_they_run_and_given_back(stage: Stage) -> None:
    """Trainer is switched off: one job ends here, one after Trainer is back; none begins anew."""
    here, there = stage.site.directory / "here", stage.site.directory / "there"
    namespace = stage.site.api.namespace
    with stage.trainer():
        make_runtime(stage)
        for name, steps in (("here", here), ("there", there)):
            submit(stage, name, steps)
            stage.has_begun(steps, 1)
            stage.wait_for_counts(name, active=1)
        jobsets = {name: stage.uid(JOBSETS, name) for name in ("here", "there")}
    taken = stage.service("controller", "--control-namespace", namespace, "--take-over")
    with taken:
        stage.wait_for_phase("here", "Running")
        stage.wait_for_phase("there", "Running")
        stage.goes_on(here, 1)
        stage.wait_for_condition("here", "Complete")
        stage.wait_for_phase("here", "Complete")
        taken.terminate()
    with stage.trainer(), stage.recorder(replica="again"):
        stage.wait_for_event("there", "ControlReleased")
        stage.goes_on(there, 1)
        stage.wait_for_condition("there", "Complete")
        stage.wait_for_phase("there", "Complete")
    for name, steps in (("here", here), ("there", there)):
        assert stage.uid(JOBSETS, name) == jobsets[name]
        assert runs(steps / "runs") == 1
        stage.forensics_hold(name)


def test_a_suspended_trainjob_is_taken_over_resumed_and_given_back(stage: Stage) -> None:
    """Suspended by Trainer, resumed and suspended here, resumed by Trainer: attempts since then."""
    steps, namespace = stage.site.directory / "steps", stage.site.api.namespace
    with stage.trainer():
        make_runtime(stage)
        submit(stage, "fit", steps)
        stage.has_begun(steps, 1)
        suspend(stage, suspended=True)
        stage.wait_for_condition("fit", "Suspended")
    remove_webhooks(stage.admin)
    taken = stage.service("controller", "--control-namespace", namespace, "--take-over")
    with taken:
        stage.wait_for_phase("fit", "Suspended")
        suspend(stage, suspended=False)
        stage.has_begun(steps, 2)
        stage.wait_for_condition("fit", "Suspended", "False")
        suspend(stage, suspended=True)
        stage.wait_for_condition("fit", "Suspended")
        stage.wait_for_phase("fit", "Suspended")
        taken.terminate()
    with stage.trainer(), stage.recorder(replica="again"):
        stage.wait_for_event("fit", "ControlReleased")
        suspend(stage, suspended=False)
        stage.has_begun(steps, 3)
        stage.goes_on(steps, 3)
        stage.wait_for_condition("fit", "Complete")
        stage.wait_for_phase("fit", "Complete", 2)
    assert runs(steps / "runs") == 3
    stage.forensics_hold("fit")


@pytest.mark.parametrize("policy", ["jax", "xgboost"])
def test_jobs_of_two_nodes_are_taken_over_suspended_and_resumed(stage: Stage, policy: str) -> None:
    """Of JAX and XGBoost, built by Trainer: JobSet's webhooks take what is applied here."""
    runs_file, gate = stage.site.directory / "runs", stage.site.directory / "gate"
    script = f"echo run >> {runs_file}; until [ -e {gate} ]; do sleep 0.2; done"
    namespace = stage.site.api.namespace
    job = trainjob("fit", "sh", "-c", script, nodes=2, runtime=policy)
    job["spec"]["trainer"]["env"] = [{"name": name, "value": "1"} for name in ("MINE", "ALSO_MINE")]
    runtime = torch_runtime(policy)
    runtime["spec"]["mlPolicy"] = {"numNodes": 2, policy: {}}
    with stage.trainer():
        assert stage.admin.create(RUNTIMES, runtime).code == 201  # Created
        assert stage.site.api.create(TRAINJOBS, job).code == 201  # Created
        stage.wait_for_counts("fit", active=1)
        both_nodes_run(stage, runs_file, 2)
        before = stage.admin.get(JOBSETS, "fit").body
    remove_webhooks(stage.admin)
    with stage.service("controller", "--control-namespace", namespace, "--take-over"):
        stage.wait_for_phase("fit", "Running")
        suspend(stage, suspended=True)
        stage.wait_for_condition("fit", "Suspended")
        stage.wait_for_phase("fit", "Suspended")
        stage.wait_for_counts("fit", suspended=1)
        suspend(stage, suspended=False)
        stage.wait_for_condition("fit", "Suspended", "False")
        both_nodes_run(stage, runs_file, 4)
        gate.touch()
        stage.wait_for_condition("fit", "Complete")
        stage.wait_for_phase("fit", "Complete", 2)
    after = stage.admin.get(JOBSETS, "fit").body
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert container_of(after) == container_of(before)
    assert runs(runs_file) == 4
    refused = "SELECT count(*) FROM event WHERE type IN ('JobsCreationFailed', 'EffectFailed')"
    assert stage.site.value(refused) == 0
    stage.forensics_hold("fit")


def both_nodes_run(stage: Stage, file: Path, count: int) -> None:
    """Return once the nodes have begun so often, together."""
    wait_until(lambda: runs(file) == count, f"{count} runs of nodes", SEEN_SECONDS)
    stage.wait_for_counts("fit", active=1, ready=1)


def container_of(jobset: Document) -> Document:
    """Return the container of the nodes, its environment in the order in which it stands."""
    (group,) = jobset["spec"]["replicatedJobs"]
    (container,) = group["template"]["spec"]["template"]["spec"]["containers"]
    return dict(container)


def suspend(stage: Stage, *, suspended: bool) -> None:
    """Set `spec.suspend`."""
    reply = stage.site.api.merge(TRAINJOBS, "fit", {"spec": {"suspend": suspended}})
    assert reply.code == 200, reply.message  # OK


def test_webhooks_of_a_trainer_that_is_off_refuse_new_jobs_and_no_status(stage: Stage) -> None:
    """What adopt.md says: delete the webhooks, and TrainJobs are taken again; status goes on."""
    steps, later = stage.site.directory / "steps", stage.site.directory / "later"
    namespace = stage.site.api.namespace
    with stage.trainer():
        make_runtime(stage)
        submit(stage, "fit", steps)
        stage.has_begun(steps, 1)
        stage.wait_for_counts("fit", active=1)
    with stage.service("controller", "--control-namespace", namespace, "--take-over"):
        refused = stage.site.api.create(TRAINJOBS, trainjob("later", runtime="torch"))
        assert refused.code == UNAVAILABLE, refused
        assert "failed calling webhook" in refused.message
        stage.goes_on(steps, 1)
        stage.wait_for_condition("fit", "Complete")
        remove_webhooks(stage.admin)
        stage.wait_until_admitted(trainjob("later", runtime="torch"))
        submit(stage, "later", later)
        stage.has_begun(later, 1)
        stage.goes_on(later, 1)
        stage.wait_for_condition("later", "Complete")
