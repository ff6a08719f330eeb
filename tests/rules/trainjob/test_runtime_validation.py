"""The rules of upstream's webhook for runtimes, with its messages (6.4)."""

from typing import Any

import pytest

from jobledger.core.trainjob.building.build import build
from jobledger.core.trainjob.building.framework import BuildFailed
from jobledger.core.trainjob.building.runtime_validation import runtime_problems
from jobledger.core.trainjob.plugins import all_plugins
from tests.support.train_world import a_trainjob

JOBS = "spec.template.spec.replicatedJobs"
CONTAINERS = "template.spec.template.spec.containers"
REQUIRED = "must contain the required container for the ancestor"


def a_job(step: str, container: str, **fields: int) -> dict[str, Any]:
    """Return a replicatedJob that takes a step."""
    label = {"trainer.kubeflow.org/trainjob-ancestor-step": step} if step else {}
    pod = {"spec": {"containers": [{"name": container}]}}
    return {
        "name": "x",
        **fields,
        "template": {"metadata": {"labels": label}, "spec": {"template": pod}},
    }


def a_runtime(*jobs: dict[str, Any], **labels: str) -> dict[str, Any]:
    """Return a runtime with replicatedJobs."""
    marks = {key.replace("_", "-"): value for key, value in labels.items()}
    metadata = {
        "name": "torch",
        "labels": {f"trainer.kubeflow.org/{k}": v for k, v in marks.items()},
    }
    return {"metadata": metadata, "spec": {"template": {"spec": {"replicatedJobs": list(jobs)}}}}


@pytest.mark.parametrize(
    ("jobs", "problems"),
    [
        (
            [
                a_job("trainer", "node", replicas=1),
                a_job("dataset-initializer", "dataset-initializer"),
            ],
            [],
        ),
        ([a_job("", "anything", replicas=3), a_job("unheard-of", "anything", replicas=3)], []),
        (
            [a_job("", "x"), a_job("trainer", "node", replicas=2)],
            [f"{JOBS}[1].replicas: Invalid value: 2: always must be 1"],
        ),
        (
            [a_job("model-initializer", "node", replicas=0)],
            [
                f"{JOBS}[0].replicas: Invalid value: 0: always must be 1",
                f"{JOBS}[0].{CONTAINERS}: {REQUIRED}: model-initializer",
            ],
        ),
        ([a_job("trainer", "trainer")], [f"{JOBS}[0].{CONTAINERS}: {REQUIRED}: trainer"]),
    ],
)
def test_what_takes_a_step_is_one_job_with_the_container_of_that_step(
    jobs: list[dict[str, Any]], problems: list[str]
) -> None:
    assert runtime_problems(a_runtime(*jobs)) == problems


def test_a_runtime_may_be_excluded_from_validation() -> None:
    assert runtime_problems(a_runtime(a_job("trainer", "x"), webhook_validation="disabled")) == []


def test_a_job_on_a_runtime_that_is_no_good_says_so_as_a_failed_build() -> None:
    with pytest.raises(BuildFailed, match="for the ancestor: trainer"):
        build(all_plugins(), a_trainjob(), a_runtime(a_job("trainer", "x")))
