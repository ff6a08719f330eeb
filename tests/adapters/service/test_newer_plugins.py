"""What could not be built is built again by another version of the program or of its plugins."""

from dataclasses import replace

from jobledger.adapters.kinds.trainjob.installation import TrainInstallation
from jobledger.adapters.kinds.trainjob.plugins import builder
from jobledger.core.trainjob.plugins import all_plugins
from jobledger.core.values.ids import StreamId
from tests.support.service_world import DOOR
from tests.support.train_world import TrainWorld, torch_runtime

EARLIER = tuple(plugin for plugin in all_plugins() if plugin.name != "flux")
"""The plugins of a version that did not know Flux."""


def failed_for_good() -> tuple[TrainWorld, StreamId]:
    """Return a job whose runtime no plugin carries out."""
    world = TrainWorld(
        mapper=DOOR.knowing(TrainInstallation(builder="jobledger 1", plugins=EARLIER))
    )
    runtime = torch_runtime()
    runtime["spec"]["mlPolicy"] = {"numNodes": 2, "flux": {}}
    world.install_runtime(runtime)
    stream = world.train(trainer={"numNodes": 2, "command": ["run"]})
    world.run(world.is_so("Created", "False"), "the failed build")
    return world, stream


def started_as(world: TrainWorld, version: str) -> None:
    """Start the service anew as another version, and let everything be heard."""
    installed = world.mapper.of(TrainInstallation)
    world.mapper = world.mapper.knowing(replace(installed, builder=version))
    world.clock.advance(60)
    world.restart()
    world.run(world.service.controller.knows_all, "the watches")
    world.run(lambda: True, "what follows")


def test_a_plugin_that_is_installed_builds_what_could_not_be_built() -> None:
    world, stream = failed_for_good()
    installed = world.mapper.of(TrainInstallation)
    world.mapper = world.mapper.knowing(replace(installed, plugins=all_plugins()))
    started_as(world, "jobledger 1, flux 1")
    world.run(world.is_so("Created"), "the objects")
    assert world.told(stream).count("BuilderChanged") == 1


def test_the_same_version_does_not_try_again_and_each_other_does_once() -> None:
    world, stream = failed_for_good()
    tries = []
    for version in ("1", "2", "2", "1", "1"):
        started_as(world, f"jobledger {version}")
        tries.append(world.told(stream).count("JobsBuildFailed"))
    assert tries == [1, 2, 2, 3, 3]
    assert world.condition("Created") == ("False", "JobsBuildFailed")


def test_the_versions_are_those_of_what_is_installed() -> None:
    assert builder().startswith("jobledger ")
