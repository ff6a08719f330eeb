"""Runtimes that are missing, come later, change or go, and their snapshots."""

from tests.acceptance.trainjobs import RUNTIMES, torch_runtime
from tests.acceptance.witness import JOBSETS
from tests.operators.train_lives.cases.table import (
    begin,
    container_of,
    groups_of,
    job,
    life,
    patch,
    running,
    unhooked,
)
from tests.operators.train_lives.world import World
from tests.support.api import CONFIGMAPS


@life
def no_runtime(w: World) -> None:
    w.submit(job())
    w.settle("refused")


@unhooked
def runtime_comes_later(w: World) -> None:
    w.submit(job())
    w.settle("no runtime")
    w.runtime(torch_runtime("torch"))
    w.wait(w.has_jobset, 60)
    w.settle("there")
    w.run()
    w.settle("runs")


@unhooked
def runtime_comes_later_to_a_suspended_job(w: World) -> None:
    w.submit(job(suspend=True))
    w.settle("no runtime")
    w.runtime(torch_runtime("torch"))
    w.wait(w.has_jobset, 60)
    w.settle("there")


@life
def runtime_is_deleted(w: World) -> None:
    running(w)
    w.delete(RUNTIMES, "torch")
    w.settle("deleted")
    w.change(suspend=True)
    w.settle("suspended")
    w.change(runtimePatches=[patch(nodeSelector={"a": "b"})])
    w.settle("patched")
    w.change(suspend=False)
    w.settle("resumed")


@life
def runtime_is_changed(w: World) -> None:
    begin(w, suspend=True)
    runtime = w.api.get(RUNTIMES, "torch").body
    groups = groups_of(runtime)
    container_of(groups[0])["image"] = "other"
    w.keep(w.api.put(RUNTIMES, runtime))
    w.settle("changed")
    w.change(suspend=False)
    w.settle("resumed")


@life
def snapshot_is_deleted(w: World) -> None:
    running(w)
    w.delete(CONFIGMAPS, "fit-runtime-snapshot")
    w.settle("deleted")
    w.end()
    w.settle("ended")
    w.delete(CONFIGMAPS, "fit-runtime-snapshot")
    w.settle("deleted after the end")


@life
def snapshot_is_spoilt(w: World) -> None:
    begin(w, suspend=True)
    w.merge(CONFIGMAPS, "fit-runtime-snapshot", {"data": {"runtime": "{"}})
    w.settle("spoilt")
    w.change(suspend=False)
    w.settle("resumed")
    w.delete(CONFIGMAPS, "fit-runtime-snapshot")
    w.settle("deleted", 6)


@unhooked
def a_bad_runtime_is_mended(w: World) -> None:
    runtime = torch_runtime("torch")
    groups = groups_of(runtime)
    groups[0]["name"] = "x" * 60
    w.runtime(runtime)
    w.submit(job())
    w.settle("refused")
    runtime = w.api.get(RUNTIMES, "torch").body
    groups = groups_of(runtime)
    groups[0]["name"] = "node"
    w.keep(w.api.put(RUNTIMES, runtime))
    w.settle("mended")
    w.delete(CONFIGMAPS, "fit-runtime-snapshot")
    w.settle("snapshot deleted")


@life
def runtime_is_made_anew_and_the_jobset_goes(w: World) -> None:
    running(w)
    w.delete(RUNTIMES, "torch")
    other = torch_runtime("torch")
    groups = groups_of(other)
    container_of(groups[0])["image"] = "other"
    w.runtime(other)
    w.settle("made anew")
    w.delete(JOBSETS, "fit")
    w.settle("deleted")
    w.delete(CONFIGMAPS, "fit-runtime-snapshot")
    w.settle("snapshot deleted")
    w.change(suspend=True)
    w.settle("suspended")


@unhooked
def unsupported_runtime(w: World) -> None:
    document = job()
    document["spec"]["runtimeRef"] = {"apiGroup": "acme.io", "kind": "Thing", "name": "x"}
    w.submit(document)
    w.settle("made", 6)
    w.change(suspend=True)
    w.settle("suspended", 4)
