"""What Pods that go within seconds leave behind: the stories."""

import json
from collections.abc import Callable

from jobledger.core.batchjob.names import MANAGED_BY
from jobledger.sandbox.agent.agent import NODE_NAME
from tests.acceptance.trainjobs import Document, Trainings, torch_runtime, trainjob
from tests.acceptance.witness import BATCH_JOBS, JOBSETS, TRAINJOBS
from tests.support.api import PODS

Story = Callable[[Trainings], None]

FAILS = "import time; print('epoch 3', flush=True); import no_such_module"
RUNS = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
    "print('step 7: loss is 0.31', flush=True); time.sleep(600)"
)
"""The first process of a container takes no notice of SIGTERM, unless it asks for it."""
ON_A_NODE = {
    "restartPolicy": "OnFailure",
    "nodeName": NODE_NAME,
    "terminationGracePeriodSeconds": 5,
}
"""A Pod that is on a node is asked to end; any other is gone at once."""


def started_again(backoff_limit: int) -> Document:
    """Return a runtime whose containers are started again in place: JobSet's default."""
    runtime = torch_runtime("again")
    (group,) = runtime["spec"]["template"]["spec"]["replicatedJobs"]
    group["template"]["spec"]["backoffLimit"] = backoff_limit
    group["template"]["spec"]["template"]["spec"] |= ON_A_NODE
    return runtime


def batch_job(name: str, program: str) -> Document:
    """Return a Job of this controller's whose container is started again in place."""
    one = {"name": "main", "image": "python:3.12", "command": ["python", "-c", program]}
    pod = {"spec": {**ON_A_NODE, "containers": [one]}}
    spec = {"managedBy": MANAGED_BY, "backoffLimit": 1, "template": pod}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec}


def explained(at: Trainings, name: str) -> str:
    """Return what is said of a job, each sentence in a line."""
    account = json.loads(at.site.terminal.jobledger("explain", name, "-o", "json").out)
    return "\n".join(one["text"] for one in account["sentences"])


def kept_logs(at: Trainings, name: str) -> list[str]:
    """Return the logs that are kept of a job."""
    listed = json.loads(at.site.terminal.jobledger("evidence", name, "-o", "json").out)
    digests = dict.fromkeys(row["digest"] for row in listed if row["what"] == "log")
    return [at.site.terminal.jobledger("evidence", name, one[:12]).out for one in digests]


def wait_for_capture(at: Trainings, occasion: str) -> None:
    """Wait until something was captured on an occasion."""
    at.site.wait_for_true(
        f"evidence is in the log: {occasion}",
        "SELECT count(*) > 0 FROM event WHERE type = 'EvidenceCaptured' "
        f"AND data->>'occasion' LIKE '{occasion}%%'",
    )


def has_written(at: Trainings, selector: str) -> bool:
    """Return whether the only Pod with a label has written the line of `RUNS`."""
    for pod in at.admin.list(PODS, labelSelector=selector).body["items"]:
        path = f"{at.admin.path(PODS, pod['metadata']['name'])}/log"
        answer = at.admin.pool.request("GET", f"{at.admin.url}{path}", headers=at.admin.headers)
        if b"step 7" in answer.data:
            return True
    return False


def wait_for_a_step(at: Trainings, selector: str) -> None:
    """Wait until the program of the only Pod with a label is at work."""
    at.witness.wait_until(lambda: has_written(at, selector), "the program is at work")


def a_trainjob_whose_pod_its_job_has_removed(at: Trainings) -> None:
    """The container is started again once, then the Job deletes its Pod and has failed."""
    at.runtime(started_again(1))
    at.submit(trainjob("lost", "python", "-c", FAILS, runtime="again"))
    at.wait_for("lost", "Failed")
    wait_for_capture(at, "failure/1")
    told = explained(at, "lost")
    assert "ModuleNotFoundError: No module named 'no_such_module'" in told.splitlines()[0]
    assert "Its Pods were gone" not in told
    assert any("epoch 3" in log for log in kept_logs(at, "lost"))


def a_trainjob_whose_container_is_started_again_and_again(at: Trainings) -> None:
    """It goes on, and is told of what it dies every time; within bounds."""
    at.runtime(started_again(60))
    at.submit(trainjob("looping", "python", "-c", FAILS, runtime="again"))
    wait_for_capture(at, "pod/1/")
    at.site.wait_for_true(
        "the second failure is told",
        "SELECT count(*) > 1 FROM event WHERE type = 'EvidenceCaptured' "
        "AND data->>'occasion' LIKE 'pod/1/%%'",
    )
    told = explained(at, "looping")
    assert "No module named 'no_such_module'" in told
    assert "has failed" in told


def a_trainjob_that_its_user_deletes(at: Trainings) -> None:
    """Its Pod is asked to end when the TrainJob, its JobSet and its Job are gone already."""
    at.runtime(started_again(1))
    at.submit(trainjob("dropped", "python", "-u", "-c", RUNS, runtime="again"))
    wait_for_a_step(at, "jobset.sigs.k8s.io/jobset-name=dropped")
    at.site.api.delete(TRAINJOBS, "dropped")
    wait_for_capture(at, "deleted/1/JobSet")
    told = explained(at, "dropped")
    assert "before it had ended" in told
    assert "step 7: loss is 0.31" in told


def a_trainjob_whose_jobset_somebody_deletes(at: Trainings) -> None:
    """The attempt is lost; what its Pods had written by then is kept."""
    at.runtime(started_again(1))
    at.submit(trainjob("bereft", "python", "-u", "-c", RUNS, runtime="again"))
    wait_for_a_step(at, "jobset.sigs.k8s.io/jobset-name=bereft")
    at.admin.delete(JOBSETS, "bereft")
    at.site.wait_for_true(
        "the log of its Pod is kept",
        "SELECT count(*) > 0 FROM event WHERE type = 'EvidenceCaptured' "
        "AND json_array_length(coalesce(data->'logs', '[]')) > 0",
    )
    assert any("step 7: loss is 0.31" in log for log in kept_logs(at, "bereft"))


def a_job_that_its_user_deletes(at: Trainings) -> None:
    """So it is with a Job that is retried on new Jobs."""
    assert at.admin.create(BATCH_JOBS, batch_job("etl", RUNS)).code == 201  # Created
    wait_for_a_step(at, "batch.kubernetes.io/job-name")
    at.admin.request("DELETE", at.admin.path(BATCH_JOBS, "etl"), BACKGROUND)
    wait_for_capture(at, "deleted/1/Job")
    told = explained(at, "etl")
    assert "before it had ended" in told
    assert "step 7: loss is 0.31" in told


BACKGROUND = {"kind": "DeleteOptions", "propagationPolicy": "Background"}

STORIES: tuple[Story, ...] = (
    a_trainjob_whose_pod_its_job_has_removed,
    a_trainjob_whose_container_is_started_again_and_again,
    a_trainjob_that_its_user_deletes,
    a_trainjob_whose_jobset_somebody_deletes,
    a_job_that_its_user_deletes,
)
