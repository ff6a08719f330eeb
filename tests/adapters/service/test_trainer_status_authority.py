"""By whom the trainer-status server's certificate is signed: put into a ConfigMap of each job."""

from jobledger.adapters.kinds.trainjob.installation import TrainInstallation
from jobledger.core.ports.cluster import CONFIGMAPS
from jobledger.core.trainjob.plugins import all_plugins
from jobledger.core.values.documents import child, items, text
from tests.support.service_world import DOOR
from tests.support.train_world import TrainWorld

TOLD = DOOR.knowing(
    TrainInstallation(
        plugins=all_plugins(status_url="https://status.jobledger.svc:10443"),
        status_authority=("ml", "status-ca"),
    )
)


def publish(world: TrainWorld) -> None:
    """Say who signs, as the server does."""
    metadata = {"namespace": "ml", "name": "status-ca"}
    world.cluster.create(CONFIGMAPS, {"metadata": metadata, "data": {"ca.crt": "an authority"}})


def test_a_job_gets_it_before_its_jobset() -> None:
    world = TrainWorld(mapper=TOLD)
    publish(world)
    world.install_runtime()
    world.train()
    world.run(world.is_so("Complete"), "the end")
    made = world.cluster.get(CONFIGMAPS, "ml", "train-tls-config")
    assert child(made, "data") == {"ca.crt": "an authority"}


def test_where_nobody_has_said_it_the_job_waits_in_words_and_goes_on_by_itself() -> None:
    world = TrainWorld(mapper=TOLD)
    world.install_runtime()
    world.train()
    world.run(world.is_so("Created", "False"), "the refusal")
    messages = [text(one, "message") for one in items(world.trainjob, "status", "conditions")]
    assert any("jobledger trainer-status" in message for message in messages)
    publish(world)
    world.run(world.is_so("Complete"), "the end")
