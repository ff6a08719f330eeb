"""Plugins of installed distributions: found by their entry point, refused if they are no good."""

import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobledger.adapters.kinds.trainjob.plugins import GROUP, BrokenPlugin, trainjob_plugins
from jobledger.core.trainjob.building.build import build
from jobledger.core.values.documents import child, items
from tests.rules.trainjob.plugins.runtimes import runtime, trainjob

THEIRS = """
from dataclasses import replace

from jobledger.core.trainjob.building.framework import Info, Plugin


class Labels(Plugin):
    name = "labels"

    def enforce_pod_spec(self, info: Info) -> Info:
        return replace(info, pod_labels={**info.pod_labels, "cost-centre": "42"})


class Broken(Plugin):
    name = "broken"

    def build(self, info: Info):
        raise RuntimeError("their disk is full")


class Jobset(Plugin):
    name = "jobset"


class NoPlugin:
    pass
"""


@pytest.fixture
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A distribution outside of this tree, on the path as if it were installed."""
    (tmp_path / "their_plugins.py").write_text(textwrap.dedent(THEIRS))
    info = tmp_path / "their_plugins-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: their-plugins\nVersion: 1.0\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield info / "entry_points.txt"
    sys.modules.pop("their_plugins", None)


def installed(file: Path, **found: str) -> None:
    entries = "\n".join(f"{name} = their_plugins:{cls}" for name, cls in found.items())
    file.write_text(f"[{GROUP}]\n{entries}\n")


def test_without_any_there_are_our_own() -> None:
    names = [plugin.name for plugin in trainjob_plugins()]
    first, last = (
        ["plainml", "torch", "mpi", "jax", "xgboost", "flux"],
        ["coscheduling", "volcano", "jobset"],
    )
    assert names == [*first, *last]


def test_a_plugin_from_outside_the_tree_takes_part(outside: Path) -> None:
    installed(outside, labels="Labels")
    plugins = trainjob_plugins()
    assert [plugin.name for plugin in plugins][6] == "labels"
    (jobset,) = build(plugins, trainjob(), runtime())
    (job,) = items(jobset.manifest, "spec", "replicatedJobs")
    template = child(job, "template", "spec", "template", "metadata")
    assert template == {"labels": {"cost-centre": "42"}}


def test_what_one_from_outside_raises_is_a_failed_build(outside: Path) -> None:
    installed(outside, broken="Broken")
    with pytest.raises(Exception, match="plugin broken: RuntimeError: their disk is full"):
        build(trainjob_plugins(), trainjob(), runtime())


@pytest.mark.parametrize(
    ("found", "problem"),
    [
        ({"x": "NoPlugin"}, "it is no Plugin with a name"),
        ({"x": "Missing"}, "AttributeError"),
        ({"x": "Jobset"}, "another plugin is called 'jobset'"),
        ({"x": "Labels", "y": "Labels"}, "another plugin is called 'labels'"),
    ],
)
def test_one_that_is_no_good_stops_the_start(
    outside: Path, found: dict[str, str], problem: str
) -> None:
    installed(outside, **found)
    with pytest.raises(BrokenPlugin) as caught:
        trainjob_plugins()
    assert problem in str(caught.value)
