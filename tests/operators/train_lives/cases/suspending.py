"""Suspending and resuming, and edits before, meanwhile and afterwards."""

from tests.acceptance.trainjobs import torch_runtime
from tests.acceptance.witness import TRAINJOBS
from tests.operators.train_lives.cases.table import begin, job, life, patch, running, unhooked
from tests.operators.train_lives.world import World


@life
def starts_suspended(w: World) -> None:
    begin(w, suspend=True)
    w.change(suspend=False)
    w.run()
    w.settle("runs")
    w.end()
    w.settle("ended")


@life
def is_suspended_while_running(w: World) -> None:
    running(w)
    w.change(suspend=True)
    w.settle("suspended")
    w.change(suspend=False)
    w.run()
    w.settle("resumed")
    w.end()
    w.settle("ended")
    w.change(suspend=True)
    w.settle("suspended after its end")
    w.change(suspend=False)
    w.settle("resumed after its end")


@life
def is_suspended_before_pods_run(w: World) -> None:
    begin(w)
    w.change(suspend=True)
    w.settle("suspended")
    w.change(suspend=False)
    w.settle("resumed")
    w.run()
    w.end(fails=True)
    w.settle("ended")
    w.change(suspend=True)
    w.settle("suspended after its failure")


@life
def suspend_is_switched_quickly(w: World) -> None:
    running(w)
    for _ in range(3):
        w.change(suspend=True)
        w.change(suspend=False)
    w.settle("switched")
    w.run()
    w.settle("runs again")
    w.end()
    w.settle("ended")


@life
def suspended_while_restarting(w: World) -> None:
    running(w, torch_runtime("torch", failurePolicy={"maxRestarts": 3}))
    w.end(fails=True)
    w.settle("failed once")
    w.change(suspend=True)
    w.settle("suspended")
    w.change(suspend=False)
    w.run()
    w.settle("runs again")
    w.end(fails=True)
    w.run()
    w.settle("failed again")
    w.end()
    w.settle("ended")


@life
def edits_while_running(w: World) -> None:
    running(w)
    w.change(trainer={"numNodes": 3})
    w.change(trainer={"image": "other"})
    w.change(trainer=None)
    w.change(runtimePatches=[patch(nodeSelector={"a": "b"})])
    w.change(activeDeadlineSeconds=1000)
    w.change(activeDeadlineSeconds=2000)
    w.change(runtimeRef={"name": "other"})
    w.change(managedBy="kueue.x-k8s.io/multikueue")
    w.settle("edited")


@life
def edits_while_suspended(w: World) -> None:
    begin(w, suspend=True)
    w.change(trainer={"numNodes": 3})
    w.change(trainer={"env": [{"name": "A", "value": "b"}]})
    w.settle("edited")
    w.change(runtimePatches=[patch(nodeSelector={"a": "b"})])
    w.settle("selector")
    w.change(runtimePatches=[patch(tolerations=[{"key": "x", "operator": "Exists"}])])
    w.settle("tolerations")
    w.change(
        runtimePatches=[
            patch(schedulingGates=[{"name": "acme.io/gate"}]),
            patch("acme.io/second", nodeSelector={"c": "d"}),
        ],
        suspend=False,
    )
    w.settle("gates and resumed")
    w.run()
    w.settle("runs")


@life
def affinity_while_suspended(w: World) -> None:
    begin(w, suspend=True)
    term = {"weight": 1, "preference": {"matchExpressions": [{"key": "x", "operator": "Exists"}]}}
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}
    w.change(runtimePatches=[patch(affinity=affinity)])
    w.settle("affinity")
    w.change(suspend=False)
    w.settle("resumed")
    w.change(suspend=True)
    w.change(runtimePatches=[])
    w.settle("suspended")
    w.change(suspend=False)
    w.settle("resumed without")


@life
def patches_and_suspend_in_one_edit(w: World) -> None:
    running(w)
    w.change(suspend=True, runtimePatches=[patch(nodeSelector={"a": "b"})])
    w.settle("both")
    w.change(suspend=True)
    w.settle("suspended")
    w.change(suspend=False, runtimePatches=[patch(nodeSelector={"a": "b"})])
    w.settle("resumed with it")
    w.change(suspend=True)
    w.settle("suspended again")
    w.change(runtimePatches=None)
    w.settle("taken back")
    w.change(suspend=False)
    w.settle("resumed without")


@life
def patches_at_creation(w: World) -> None:
    spec = patch(
        nodeSelector={"a": "b"},
        serviceAccountName="somebody",
        volumes=[{"name": "more", "emptyDir": {}}],
        terminationGracePeriodSeconds=7,
        imagePullSecrets=[{"name": "pull"}],
        securityContext={"runAsUser": 5},
        containers=[
            {"name": "node", "volumeMounts": [{"name": "more", "mountPath": "/more"}]},
        ],
    )
    template = spec["trainingRuntimeSpec"]["template"]
    template["metadata"] = {"labels": {"la": "bel"}, "annotations": {"an": "notation"}}
    running(w, runtimePatches=[spec])


@life
def amounts_in_another_form(w: World) -> None:
    w.runtime(torch_runtime("torch"))
    document = job(suspend=True)
    document["spec"]["trainer"]["resourcesPerNode"] = {"requests": {"cpu": "0.5"}}
    w.submit(document)
    w.settle("made")
    w.change(runtimePatches=[patch(nodeSelector={"a": "b"})])
    w.settle("patched")
    w.change(suspend=False)
    w.settle("resumed")


@life
def labels_of_the_trainjob(w: World) -> None:
    w.runtime(torch_runtime("torch"))
    document = job()
    document["metadata"] |= {"labels": {"a": "b"}, "annotations": {"c": "d"}}
    w.submit(document)
    w.settle("made")
    w.merge(TRAINJOBS, "fit", {"metadata": {"labels": {"a": "c"}}})
    w.settle("relabelled")


@unhooked
def edits_of_patches_while_running_without_webhooks(w: World) -> None:
    running(w)
    w.change(runtimePatches=[patch(nodeSelector={"a": "b"})])
    w.settle("patched")
    w.change(suspend=True)
    w.settle("suspended")
    w.change(suspend=False)
    w.settle("resumed")


@life
def managed_by_kueue(w: World) -> None:
    begin(w, managedBy="kueue.x-k8s.io/multikueue")
    w.change(suspend=True)
    w.settle("suspended")


@life
def managed_by_trainer(w: World) -> None:
    running(w, managedBy="trainer.kubeflow.org/trainjob-controller")


@life
def managed_by_others(w: World) -> None:
    begin(w, managedBy="acme.io/controller")
