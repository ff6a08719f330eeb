"""What others do to the objects of a job: they delete them, change them, have their names."""

from tests.acceptance.trainjobs import torch_runtime
from tests.acceptance.witness import JOBSETS
from tests.operators.train_lives.cases.table import begin, job, life, running
from tests.operators.train_lives.world import NO_JOBSETS, QUOTAS, World
from tests.support.api import JOBS


@life
def jobset_is_deleted_while_running(w: World) -> None:
    running(w)
    w.delete(JOBSETS, "fit")
    w.settle("deleted")
    w.run()
    w.settle("runs again")
    w.end()
    w.settle("ended")


@life
def jobset_is_deleted_while_suspended(w: World) -> None:
    begin(w, suspend=True)
    w.delete(JOBSETS, "fit")
    w.settle("deleted")
    w.change(suspend=False)
    w.run()
    w.settle("runs")


@life
def jobset_is_deleted_after_success(w: World) -> None:
    running(w)
    w.end()
    w.settle("ended")
    w.delete(JOBSETS, "fit")
    w.settle("deleted")


@life
def jobset_is_deleted_after_failure(w: World) -> None:
    running(w)
    w.end(fails=True)
    w.settle("ended")
    w.delete(JOBSETS, "fit")
    w.settle("deleted")


@life
def jobset_is_deleted_in_the_foreground(w: World) -> None:
    running(w)
    w.delete(JOBSETS, "fit", "Foreground")
    w.settle("deleted")


@life
def jobset_is_orphaned_pods(w: World) -> None:
    running(w)
    w.delete(JOBSETS, "fit", "Orphan")
    w.settle("deleted")


@life
def jobset_of_somebody_else(w: World) -> None:
    w.runtime(torch_runtime("torch"))
    group = {
        "name": "theirs",
        "template": {
            "spec": {
                "template": {
                    "spec": {
                        "containers": [{"name": "c", "image": "i"}],
                        "restartPolicy": "Never",
                    }
                }
            }
        },
    }
    w.keep(
        w.api.create(
            JOBSETS,
            {
                "apiVersion": "jobset.x-k8s.io/v1alpha2",
                "kind": "JobSet",
                "metadata": {"name": "fit"},
                "spec": {"replicatedJobs": [group]},
            },
        )
    )
    w.submit(job())
    w.settle("taken")


@life
def drift_in_a_suspended_jobset(w: World) -> None:
    begin(w, suspend=True)
    w.merge(JOBSETS, "fit", {"metadata": {"labels": {"their": "label"}}})
    w.merge(JOBSETS, "fit", {"spec": {"suspend": False}})
    w.settle("resumed by hand")
    w.change(suspend=False)
    w.settle("resumed")


@life
def drift_in_a_running_jobset(w: World) -> None:
    running(w)
    w.merge(JOBSETS, "fit", {"metadata": {"labels": {"their": "label"}}})
    w.merge(JOBSETS, "fit", {"metadata": {"ownerReferences": None}})
    w.settle("without an owner")
    w.end()
    w.settle("ended")


@life
def a_running_jobset_is_suspended_by_hand(w: World) -> None:
    running(w)
    w.merge(JOBSETS, "fit", {"spec": {"suspend": True}})
    w.settle("suspended by hand")


@life
def jobset_managed_by_kueue(w: World) -> None:
    begin(w, torch_runtime("torch", managedBy="kueue.x-k8s.io/multikueue"))
    w.change(suspend=True)
    w.settle("suspended")


@life
def job_of_the_jobset_is_deleted(w: World) -> None:
    running(w)
    w.delete(JOBS, "fit-node-0")
    w.settle("deleted")
    w.run()
    w.settle("runs again")


@life
def job_of_the_jobset_is_deleted_after_the_end(w: World) -> None:
    running(w)
    w.end()
    w.settle("ended")
    w.delete(JOBS, "fit-node-0")
    w.settle("deleted")


@life
def quota_is_in_the_way(w: World) -> None:
    w.keep(w.api.create(QUOTAS, NO_JOBSETS))
    w.settle("quota")
    begin(w)
    w.delete(QUOTAS, "none")
    w.wait(w.has_jobset, 60)
    w.settle("free")


@life
def name_too_long_for_its_jobs(w: World) -> None:
    w.runtime(torch_runtime("torch"))
    document = job()
    document["metadata"]["name"] = "a" * 60
    w.submit(document)
    w.settle("made", 4)


@life
def status_is_written_by_somebody(w: World) -> None:
    running(w)
    condition = {
        "type": "Theirs",
        "status": "True",
        "reason": "Yes",
        "message": "m",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    w.conditions([condition])
    w.settle("added")
    w.end()
    w.settle("ended")


@life
def status_is_cleared_by_somebody(w: World) -> None:
    begin(w, suspend=True)
    w.conditions(None)
    w.settle("cleared")
    w.change(suspend=False)
    w.run()
    w.settle("runs")
    w.conditions(None)
    w.settle("cleared while running")
    w.end()
    w.settle("ended")
    w.conditions(None)
    w.settle("cleared after the end")
