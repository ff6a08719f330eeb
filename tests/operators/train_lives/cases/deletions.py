"""Deletions of the TrainJob."""

from tests.acceptance.trainjobs import torch_runtime
from tests.acceptance.witness import TRAINJOBS
from tests.operators.train_lives.cases.table import begin, job, life, running
from tests.operators.train_lives.world import World


@life
def deleted_before_pods_run(w: World) -> None:
    begin(w)
    w.delete(TRAINJOBS, "fit")
    w.settle("deleted")


@life
def deleted_while_running(w: World) -> None:
    running(w)
    w.delete(TRAINJOBS, "fit")
    w.settle("deleted")


@life
def deleted_in_the_foreground(w: World) -> None:
    running(w)
    w.delete(TRAINJOBS, "fit", "Foreground")
    w.settle("deleted")


@life
def deleted_while_suspended(w: World) -> None:
    begin(w, suspend=True)
    w.delete(TRAINJOBS, "fit")
    w.settle("deleted")


@life
def deleted_after_the_end(w: World) -> None:
    running(w)
    w.end()
    w.settle("ended")
    w.delete(TRAINJOBS, "fit")
    w.settle("deleted")


@life
def orphaning_deletion(w: World) -> None:
    running(w)
    w.delete(TRAINJOBS, "fit", "Orphan")
    w.settle("orphaned")


@life
def held_by_a_finalizer(w: World) -> None:
    w.runtime(torch_runtime("torch"))
    document = job()
    document["metadata"]["finalizers"] = ["acme.io/hold"]
    w.submit(document)
    w.settle("made")
    w.run()
    w.settle("runs")
    w.delete(TRAINJOBS, "fit")
    w.settle("deleted")
    w.change(suspend=True)
    w.settle("suspended")
    w.change(suspend=False)
    w.run()
    w.end()
    w.settle("ended")
    w.merge(TRAINJOBS, "fit", {"metadata": {"finalizers": None}})
    w.settle("gone")


@life
def made_anew_under_the_same_name(w: World) -> None:
    running(w)
    w.delete(TRAINJOBS, "fit")
    w.submit(job(suspend=True))
    w.wait(w.has_jobset, 60)
    w.settle("anew", 6)
