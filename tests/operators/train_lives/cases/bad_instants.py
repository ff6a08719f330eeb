"""What others do at a bad instant: while an object goes, is held, or is about to be made."""

from tests.acceptance.trainjobs import RUNTIMES
from tests.acceptance.witness import JOBSETS, TRAINJOBS
from tests.operators.train_lives.cases.table import begin, job, life, patch, running, unhooked
from tests.operators.train_lives.world import NO_JOBSETS, QUOTAS, World
from tests.support.api import CONFIGMAPS


def hold(w: World) -> None:
    """Keep the JobSet from going."""
    w.merge(JOBSETS, "fit", {"metadata": {"finalizers": ["acme.io/hold"]}})


def let_go(w: World) -> None:
    """Let the JobSet go."""
    w.merge(JOBSETS, "fit", {"metadata": {"finalizers": None}})


@life
def jobset_is_held_while_it_goes(w: World) -> None:
    running(w)
    hold(w)
    w.delete(JOBSETS, "fit")
    w.settle("held")
    w.change(suspend=True)
    w.settle("suspended")
    let_go(w)
    w.wait(w.has_jobset)
    w.settle("gone")
    w.change(suspend=False)
    w.run()
    w.settle("resumed")


@life
def job_is_resumed_while_its_jobset_goes(w: World) -> None:
    begin(w, suspend=True)
    hold(w)
    w.delete(JOBSETS, "fit", "Foreground")
    w.change(suspend=False, runtimePatches=[patch(nodeSelector={"a": "b"})])
    w.settle("resumed")
    let_go(w)
    w.run()
    w.settle("runs")


@life
def made_anew_while_the_old_jobset_is_held(w: World) -> None:
    running(w)
    hold(w)
    w.delete(TRAINJOBS, "fit")
    w.settle("deleted")
    w.submit(job(suspend=True))
    w.settle("made anew", 6)
    let_go(w)
    w.settle("gone", 15)
    w.change(suspend=False)
    w.run()
    w.settle("resumed")


@life
def made_anew_after_orphaning(w: World) -> None:
    running(w)
    w.delete(TRAINJOBS, "fit", "Orphan")
    w.wait(lambda: w.api.get(TRAINJOBS, "fit").code == 404)  # Not Found
    w.submit(job())
    w.settle("made anew", 6)
    w.delete(JOBSETS, "fit")
    w.delete(CONFIGMAPS, "fit-runtime-snapshot")
    w.wait(w.has_jobset)
    w.run()
    w.settle("free")


@life
def suspended_while_its_jobset_goes(w: World) -> None:
    running(w)
    w.change(suspend=True)
    w.delete(JOBSETS, "fit")
    w.settle("suspended")
    w.change(suspend=False)
    w.delete(JOBSETS, "fit")
    w.run()
    w.settle("resumed")


@life
def both_are_deleted(w: World) -> None:
    running(w)
    w.delete(JOBSETS, "fit")
    w.delete(TRAINJOBS, "fit")
    w.settle("deleted")


@unhooked
def runtime_goes_before_the_jobset_is_made(w: World) -> None:
    w.keep(w.api.create(QUOTAS, NO_JOBSETS))
    w.settle("quota")
    begin(w)
    w.delete(RUNTIMES, "torch")
    w.settle("without a runtime")
    w.delete(QUOTAS, "none")
    w.wait(w.has_jobset)
    w.settle("free")


@life
def snapshot_loses_its_owner(w: World) -> None:
    begin(w, suspend=True)
    w.merge(CONFIGMAPS, "fit-runtime-snapshot", {"metadata": {"ownerReferences": None}})
    w.settle("of nobody")
    w.change(suspend=False)
    w.settle("resumed")
    w.delete(CONFIGMAPS, "fit-runtime-snapshot")
    w.settle("deleted", 6)


@life
def jobset_is_changed_by_hand_while_suspended(w: World) -> None:
    running(w)
    w.change(suspend=True)
    w.settle("suspended")
    document = w.api.get(JOBSETS, "fit").body
    template = document["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    template["spec"]["nodeSelector"] = {"by": "hand"}
    document["spec"]["suspend"] = False
    w.keep(w.api.put(JOBSETS, document))
    w.settle("changed and resumed by hand")
    w.change(suspend=False)
    w.run()
    w.settle("resumed")
