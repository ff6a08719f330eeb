"""The example of a plugin: installed by pip, found by its entry point, changed, and asked again."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from jobledger.adapters.kinds.trainjob.installation import TrainInstallation
from jobledger.adapters.kinds.trainjob.plugins import BrokenPlugin, builder, trainjob_plugins
from jobledger.core.ports.cluster import VOLCANO_POD_GROUPS
from jobledger.core.trainjob.policy import TrainPolicy
from jobledger.core.values.documents import Manifest
from tests.support.example_plugin import EXAMPLE, MODULE, ROOT, install
from tests.support.service_world import DOOR
from tests.support.train_world import TrainWorld, torch_runtime

PAGE = ROOT / "docs" / "howto" / "write-a-plugin.md"

Installer = Callable[..., None]


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Installer]:
    """Give what installs the example in a version, in place of the one before."""
    path = list(sys.path)

    def at_version(version: str, *changes: tuple[str, str]) -> None:
        target = tmp_path / version
        named = ('version = "0.1.0"', f'version = "{version}"')
        install(target, tmp_path, named, *changes)
        sys.modules.pop(MODULE, None)
        monkeypatch.setattr(sys, "path", [str(target), *path])

    yield at_version
    sys.modules.pop(MODULE, None)


def a_world(policy: str = "coscheduling") -> TrainWorld:
    mapper = DOOR.knowing(
        TrainInstallation(
            plugins=trainjob_plugins(),
            builder=builder(),
            policy=TrainPolicy(propagates=True),
        )
    )
    world = TrainWorld(mapper=mapper)
    world.jobsets.holds = True
    runtime = torch_runtime()
    runtime["spec"]["podGroupPolicy"] = {policy: {}}
    world.install_runtime(runtime)
    return world


def test_the_page_shows_the_example_as_it_is() -> None:
    page = PAGE.read_text()
    for name in (f"{MODULE}.py", "pyproject.toml"):
        assert (EXAMPLE / name).read_text() in page


def test_the_example_shows_that_a_gang_finds_no_place(installed: Installer) -> None:
    installed("0.1.0")
    world = a_world("volcano")
    world.train()
    world.run(world.is_so("GangScheduled", "Unknown"), "the first look")
    unschedulable = {
        "type": "Unschedulable",
        "status": "True",
        "reason": "NotEnoughResources",
        "message": "2/2 tasks in gang unschedulable",
        "lastTransitionTime": "2026-11-21T12:00:30Z",
    }
    scheduled = {
        "type": "Scheduled",
        "status": "True",
        "reason": "tasks in gang are ready to be scheduled",
        "lastTransitionTime": "2026-11-21T12:01:30Z",
    }
    seen: Manifest = {"phase": "Pending", "conditions": [unschedulable]}
    world.cluster.edit(VOLCANO_POD_GROUPS, "ml", "train", status=seen)
    world.run(world.is_so("GangScheduled", "False"), "no place")
    assert world.condition("GangScheduled") == ("False", "Unschedulable")
    seen = {"phase": "Running", "conditions": [scheduled, unschedulable]}
    world.cluster.edit(VOLCANO_POD_GROUPS, "ml", "train", status=seen)
    world.run(world.is_so("GangScheduled"), "a place")


def test_another_version_builds_what_failed_for_good(installed: Installer) -> None:
    fails = (
        "class GangScheduled(Plugin):\n",
        (
            "class GangScheduled(Plugin):\n"
            "    def validate(self, info):\n"
            '        return ["this version cannot"]\n\n'
        ),
    )
    installed("0.1.0", fails)
    world = a_world()
    stream = world.train()
    world.run(world.is_so("Created", "False"), "the failed build")
    assert world.condition("Created") == ("False", "JobsBuildFailed")
    assert "jobledger-gang-scheduled 0.1.0" in builder()
    installed("0.2.0")
    here = world.mapper.of(TrainInstallation)
    world.mapper = world.mapper.knowing(
        replace(here, plugins=trainjob_plugins(), builder=builder())
    )
    world.clock.advance(60)
    world.restart()
    world.run(world.is_so("Created"), "the objects")
    world.run(world.is_so("GangScheduled", "Unknown"), "its condition")
    assert world.told(stream).count("JobsBuildFailed") == 1
    assert world.told(stream).count("BuilderChanged") == 1
    assert "jobledger-gang-scheduled 0.2.0" in builder()


def test_one_that_declares_what_is_the_controllers_stops_the_start(installed: Installer) -> None:
    installed("0.3.0", ('= ("GangScheduled",)', '= ("Complete",)'))
    with pytest.raises(BrokenPlugin) as caught:
        trainjob_plugins()
    assert str(caught.value) == (
        "the TrainJob plugin gang-scheduled cannot be used: the condition Complete belongs to the "
        "controller; mend or remove it"
    )
