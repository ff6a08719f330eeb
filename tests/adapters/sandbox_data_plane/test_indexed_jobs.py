"""What an Indexed Job does: one Pod per index, each done once."""

import pytest

from jobledger.core.ports.cluster import BATCH_JOBS, PODS
from jobledger.sandbox.controllers.batch_job.indexes import from_intervals, intervals
from tests.adapters.sandbox_data_plane.world import World, batch_job, shell
from tests.support.waiting import wait_until

INDEX = "batch.kubernetes.io/job-completion-index"


@pytest.mark.parametrize(
    ("indexes", "said"),
    [([], ""), ([0], "0"), ([0, 1], "0,1"), ([2, 0, 1], "0-2"), ([0, 2, 3, 4, 7], "0,2-4,7")],
)
def test_indexes_are_listed_as_intervals(indexes: list[int], said: str) -> None:
    assert intervals(indexes) == said
    assert from_intervals(said) == set(indexes)


def test_what_is_no_interval_is_passed_over() -> None:
    assert from_intervals("x,1,2-y,3-") == {1, 3}


def _indexed(script: str, **spec: object) -> dict[str, object]:
    return batch_job("j", shell(script), completionMode="Indexed", **spec)


def test_each_index_succeeds_once(world: World) -> None:
    world.create(BATCH_JOBS, _indexed("true", completions=3, parallelism=2))
    status = world.wait_for_condition(BATCH_JOBS, "j", "Complete")
    assert (status["succeeded"], status["completedIndexes"]) == (3, "0-2")
    indexes = sorted(pod["metadata"]["annotations"][INDEX] for pod in world.pods())
    assert indexes == ["0", "1", "2"]


def test_a_failed_index_is_tried_again_and_the_others_are_not(world: World) -> None:
    script = "[ $JOB_COMPLETION_INDEX != 1 ]"
    world.create(BATCH_JOBS, _indexed(script, completions=3, parallelism=3, backoffLimit=1))
    status = world.wait_for_condition(BATCH_JOBS, "j", "Failed")
    assert (status["failed"], status["completedIndexes"]) == (2, "0,2")
    indexes = sorted(pod["metadata"]["annotations"][INDEX] for pod in world.pods())
    assert indexes == ["0", "1", "1", "2"]


def test_a_lost_pod_is_replaced_by_one_of_its_index(world: World) -> None:
    world.create(BATCH_JOBS, _indexed("sleep 600", completions=2, parallelism=2))
    wait_until(lambda: world.status(BATCH_JOBS, "j").get("ready") == 2, "both run")
    (lost,) = [one for one in world.pods() if one["metadata"]["labels"][INDEX] == "1"]
    world.api.delete(PODS, "default", lost["metadata"]["name"])

    def indexes() -> list[str]:
        uid = lost["metadata"]["uid"]
        found = [one["metadata"] for one in world.pods() if one["metadata"]["uid"] != uid]
        return sorted(one["labels"][INDEX] for one in found)

    wait_until(lambda: indexes() == ["0", "1"], "the index has another Pod")


def test_a_suspension_is_no_failure(world: World) -> None:
    job = _indexed("sleep 600", completions=1, parallelism=1, backoffLimit=0)
    world.create(BATCH_JOBS, job)
    wait_until(lambda: world.status(BATCH_JOBS, "j").get("ready") == 1, "it runs")
    world.api.merge_patch(BATCH_JOBS, "default", "j", {"spec": {"suspend": True}})
    wait_until(lambda: world.pods() == [], "its Pod has gone")
    world.api.merge_patch(BATCH_JOBS, "default", "j", {"spec": {"suspend": False}})
    wait_until(lambda: world.status(BATCH_JOBS, "j").get("ready") == 1, "it runs again")
    assert "failed" not in world.status(BATCH_JOBS, "j")


def test_a_variable_of_the_users_is_kept(world: World) -> None:
    container = shell("test $JOB_COMPLETION_INDEX = mine")
    container["env"] = [{"name": "JOB_COMPLETION_INDEX", "value": "mine"}]
    job = batch_job("j", container, completionMode="Indexed", completions=1, backoffLimit=0)
    world.create(BATCH_JOBS, job)
    world.wait_for_condition(BATCH_JOBS, "j", "Complete")
