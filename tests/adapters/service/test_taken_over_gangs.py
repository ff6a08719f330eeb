"""A JobSet that Trainer built in another order: its job is suspended and resumed here."""

from typing import Any

import pytest

from jobledger.core.ports.cluster import JOBSETS, Resource
from jobledger.core.values.documents import Manifest, child, items, text
from tests.support.train_world import TrainWorld, torch_runtime

OWN = [{"name": "MINE", "value": "1"}, {"name": "ALSO_MINE", "value": "2"}]


def env_of(jobset: Manifest) -> list[str]:
    job = items(jobset, "spec", "replicatedJobs")[0]
    pod = child(job, "template", "spec", "template", "spec")
    return [text(one, "name") for one in items(items(pod, "containers")[0], "env")]


@pytest.mark.parametrize("policy", ["jax", "xgboost"])
def test_it_is_suspended_and_resumed_in_the_order_that_is_there(
    policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = TrainWorld()
    sent: list[Manifest] = []
    apply = world.cluster.apply

    def noted(resource: Resource, manifest: Manifest, **more: Any) -> Manifest:  # noqa: ANN401 as given
        if resource == JOBSETS:
            sent.append(manifest)
        return apply(resource, manifest, **more)

    monkeypatch.setattr(world.cluster, "apply", noted)
    world.jobsets.holds = True
    runtime = torch_runtime()
    runtime["spec"]["mlPolicy"] = {"numNodes": 2, policy: {}}
    world.install_runtime(runtime)
    world.train(trainer={"env": OWN})
    world.run(world.is_so("Created"), "the objects")
    spec: Any = world.jobset["spec"]
    (container,) = spec["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["containers"]
    container["env"].reverse()
    world.cluster.edit(JOBSETS, "ml", "train", spec=spec)
    theirs = env_of(world.jobset)
    sent.clear()
    assert len(theirs) > len(OWN)
    world.change(suspend=True)
    world.run(world.is_so("Suspended"), "the suspension")
    world.run(lambda: child(world.jobset, "spec")["suspend"] is True, "the JobSet")
    assert world.condition("Created")[0] == "True"
    world.change(suspend=False)
    world.run(world.is_so("Suspended", "False"), "the resume")
    world.run(lambda: child(world.jobset, "spec")["suspend"] is False, "the JobSet")
    assert (env_of(world.jobset), world.condition("Created")[0]) == (theirs, "True")
    assert [env_of(one) for one in sent] == [theirs, theirs]
