"""The framework: order, plugins from outside, and what becomes of one that fails."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import pytest

from jobledger.core.ports.cluster import CONFIGMAPS
from jobledger.core.trainjob.building.framework import BuildFailed, BuiltObject, Info, Plugin
from jobledger.core.trainjob.plugins import all_plugins
from jobledger.core.values.documents import Manifest
from tests.rules.trainjob.plugins.runtimes import jobset, objects, runtime, trainjob


class Tracer(Plugin):
    """Says at which points it is asked."""

    def __init__(self, name: str = "tracer") -> None:
        self.name = name
        self.asked: list[str] = []

    def validate(self, info: Info) -> Iterable[str]:
        self.asked.append("validate")
        return super().validate(info)

    def enforce_ml_policy(self, info: Info) -> Info:
        self.asked.append("enforce_ml_policy")
        return replace(info, labels={**info.labels, "traced": "yes"})

    def enforce_pod_group_policy(self, info: Info) -> Info:
        self.asked.append("enforce_pod_group_policy")
        return info

    def enforce_pod_spec(self, info: Info) -> Info:
        self.asked.append("enforce_pod_spec")
        return info

    def sync_before_build(self, info: Info) -> Info:
        self.asked.append("sync_before_build")
        return info

    def build(self, info: Info) -> Sequence[BuiltObject]:
        self.asked.append("build")
        manifest: Manifest = {"metadata": {"name": f"{info.name}-trace"}}
        return (BuiltObject(resource=CONFIGMAPS, manifest=manifest),)


def test_plugins_are_asked_in_a_fixed_order_those_of_others_by_name() -> None:
    found = all_plugins(Tracer("z"), Tracer("a"))
    assert [plugin.name for plugin in found] == [
        "plainml",
        "torch",
        "mpi",
        "jax",
        "xgboost",
        "flux",
        "a",
        "z",
        "coscheduling",
        "volcano",
        "jobset",
    ]


def test_extension_points_are_asked_in_their_order() -> None:
    tracer = Tracer()
    built = objects(trainjob(), runtime(), tracer)
    assert tracer.asked == [
        "validate",
        "enforce_ml_policy",
        "enforce_pod_group_policy",
        "enforce_pod_spec",
        "sync_before_build",
        "build",
    ]
    assert list(built) == ["ConfigMap/train-trace", "JobSet/train"]


def test_what_a_plugin_from_outside_decides_is_in_the_jobset() -> None:
    assert jobset(trainjob(), runtime(), Tracer())["metadata"]["labels"]["traced"] == "yes"


def failing(point: str, error: Exception | None = None) -> Plugin:
    """Return a plugin that raises at an extension point, or returns nonsense."""

    def broken(*_: object) -> object:
        if error is not None:
            raise error
        return None

    plugin = Tracer("theirs")
    setattr(plugin, point, broken)
    return plugin


@pytest.mark.parametrize(
    "point",
    ["validate", "enforce_ml_policy", "enforce_pod_spec", "sync_before_build", "build"],
)
def test_an_exception_in_any_plugin_is_a_failed_build_that_names_it(point: str) -> None:
    with pytest.raises(BuildFailed) as caught:
        objects(trainjob(), runtime(), failing(point, ZeroDivisionError("oh")))
    assert str(caught.value) == "plugin theirs: ZeroDivisionError: oh"


def test_nonsense_is_a_failed_build() -> None:
    with pytest.raises(BuildFailed, match="returned NoneType in place of the info"):
        objects(trainjob(), runtime(), failing("enforce_pod_spec"))


def test_a_cause_is_bounded() -> None:
    with pytest.raises(BuildFailed) as caught:
        objects(trainjob(), runtime(), failing("build", ValueError("x" * 100_000)))
    assert len(caught.value.cause) == 2000
