"""What TrainJobs live through, told once for the sandbox and for a real API server."""

import base64
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

from tests.acceptance.trainjobs import (
    TRAINING,
    Trainings,
    torch_runtime,
    trainjob,
    upstreams_runtime,
)
from tests.acceptance.witness import BATCH_JOBS, JOBSETS, TRAINJOBS

Story: TypeAlias = Callable[[Trainings], None]


def a_two_node_job_trains(at: Trainings) -> None:
    """With upstream's runtime for torch as it is: the nodes find each other and agree."""
    at.runtime(upstreams_runtime("torch"))
    directory, gate = at.site.directory, at.site.directory / "gate"
    at.submit(trainjob("two", "python", str(TRAINING), str(directory), str(gate), nodes=2))
    at.wait_for_counts("two", active=1, ready=1)
    gate.touch()
    ending = at.wait_for("two", "Complete")
    assert (ending["reason"], ending["message"]) == (
        "AllJobsCompleted",
        "jobset completed successfully",
    )
    at.wait_for_counts("two", succeeded=1)
    assert list(at.conditions("two")) == ["Created", "Complete"]
    found = [json.loads((directory / f"{rank}.json").read_text()) for rank in (0, 1)]
    for rank, (told, (slope, start)) in enumerate(found):
        assert told == {
            "PET_NNODES": "2",
            "PET_NPROC_PER_NODE": "1",
            "PET_NODE_RANK": str(rank),
            "PET_MASTER_ADDR": "two-node-0-0.two",
        }
        assert abs(slope - 3) < 0.01
        assert abs(start - 1) < 0.01


def a_job_is_suspended_and_resumed(at: Trainings) -> None:
    """Suspended from the start, resumed, suspended while it runs, resumed, and done."""
    at.runtime(upstreams_runtime("torch"))
    gate = at.site.directory / "gate"
    at.submit(trainjob("pausing", *_waiting_for(gate), nodes=2, suspend=True))
    at.wait_for("pausing", "Suspended")
    at.wait_for_counts("pausing", suspended=1)
    assert at.pods("pausing") == []
    at.change("pausing", suspend=False)
    at.wait_for("pausing", "Suspended", "False")
    at.wait_for_counts("pausing", active=1, ready=1)
    at.change("pausing", suspend=True)
    at.wait_for("pausing", "Suspended")
    at.wait_for_counts("pausing", suspended=1)
    at.witness.wait_until(lambda: at.pods("pausing") == [], "its Pods have gone")
    at.change("pausing", suspend=False)
    at.wait_for_counts("pausing", active=1, ready=1)
    gate.touch()
    at.wait_for("pausing", "Complete")
    shown = at.shown("pausing")
    assert set(shown[:2]) == {("Created", "True"), ("Suspended", "True")}, "whichever is seen first"
    assert shown[2:] == [
        ("Suspended", "False"),
        ("Suspended", "True"),
        ("Suspended", "False"),
        ("Complete", "True"),
    ]
    assert len(at.witness.lives(JOBSETS)) == 1, "one JobSet through all of it"


def a_jobset_that_restarts_is_no_failure(at: Trainings) -> None:
    """The first attempt of both nodes fails, the second one succeeds."""
    at.runtime(torch_runtime("patient", failurePolicy={"maxRestarts": 2}))
    tries = at.site.directory / "tries"
    script = f"echo $PET_NODE_RANK >> {tries}; [ $(wc -l < {tries}) -gt 2 ]"
    at.submit(trainjob("lucky", "/bin/sh", "-c", script, nodes=2, runtime="patient"))
    at.wait_for("lucky", "Complete")
    assert at.jobset("lucky")["status"]["restarts"] >= 1
    assert ("Failed", "True") not in at.shown("lucky")


def a_jobset_that_fails_is_the_end(at: Trainings) -> None:
    """Reason and message are the JobSet's."""
    at.runtime(torch_runtime("strict", failurePolicy={"maxRestarts": 1}))
    at.submit(trainjob("doomed", "false", nodes=2, runtime="strict"))
    ending = at.wait_for("doomed", "Failed")
    message = "jobset failed due to reaching max number of restarts"
    assert ending["reason"] == "ReachedMaxRestarts"
    assert ending["message"] == f"{message} (first failed job: doomed-node-0)"
    assert list(at.conditions("doomed")) == ["Created", "Failed"]
    at.wait_for_counts("doomed", failed=1)


def a_runtime_may_come_later(at: Trainings) -> None:
    """Without it the job is not built; with it, it is built at once."""
    at.submit(trainjob("early", "true", runtime="late"))
    created = at.wait_for("early", "Created", "False")
    assert created["reason"] == "JobsBuildFailed"
    assert at.admin.get(JOBSETS, "early").code == 404
    at.runtime(torch_runtime("late"))
    at.wait_for("early", "Complete")
    assert at.shown("early") == [("Created", "False"), ("Created", "True"), ("Complete", "True")]


def what_cannot_be_created_says_why(at: Trainings) -> None:
    """The JobSet's webhook refuses a policy about Jobs that are not there."""
    policy = {"operator": "All", "targetReplicatedJobs": ["nobody"]}
    at.runtime(torch_runtime("odd", successPolicy=policy))
    at.submit(trainjob("refused", "true", runtime="odd"))
    created = at.wait_for("refused", "Created", "False")
    assert created["reason"] == "JobsCreationFailed"
    assert created["message"].startswith("Failed to create Jobs: ")
    assert "invalid replicatedJob name 'nobody'" in created["message"]


def a_deadline_ends_a_job(at: Trainings) -> None:
    """And with it its JobSet and its Pods."""
    at.runtime(torch_runtime("plain"))
    job = trainjob("slow", "sleep", "600", runtime="plain", activeDeadlineSeconds=3)
    at.submit(job)
    ending = at.wait_for("slow", "Failed")
    assert ending["reason"] == "DeadlineExceeded"
    assert ending["message"] == "TrainJob exceeded its active deadline"
    at.witness.wait_until(lambda: at.admin.get(JOBSETS, "slow").code == 404, "the JobSet has gone")
    at.witness.wait_until(lambda: at.pods("slow") == [], "its Pods have gone")


def a_finished_job_outlives_its_jobset(at: Trainings) -> None:
    """The JobSet goes after its time; nothing is made anew."""
    at.runtime(torch_runtime("brief", ttlSecondsAfterFinished=0))
    at.submit(trainjob("done", "true", runtime="brief"))
    at.wait_for("done", "Complete")
    at.witness.wait_until(lambda: at.admin.get(JOBSETS, "done").code == 404, "the JobSet has gone")
    reply = at.site.api.merge(TRAINJOBS, "done", {"metadata": {"labels": {"seen": "yes"}}})
    assert reply.code == 200
    at.site.wait_for_true("nothing is left to do", "SELECT NOT open FROM job")
    assert len(at.witness.lives(JOBSETS)) == 1
    assert at.conditions("done")["Complete"]["status"] == "True"


def an_mpi_job_gets_its_hosts_and_keys(at: Trainings) -> None:
    """Upstream's runtime for DeepSpeed, its servers replaced: the launcher finds what it needs."""
    runtime = upstreams_runtime("deepspeed")
    runtime["kind"], runtime["metadata"]["name"] = "TrainingRuntime", "mpi"
    node, launcher = runtime["spec"]["template"]["spec"]["replicatedJobs"]
    (server,) = node["template"]["spec"]["template"]["spec"]["containers"]
    server |= {"command": ["sleep"], "args": ["600"]}
    del server["readinessProbe"]
    launcher["template"]["spec"]["backoffLimit"] = 0
    at.runtime(runtime)
    script = (
        "cat /etc/mpi/hostfile; ls /home/mpiuser/.ssh; "
        "grep -q 'EC PRIVATE KEY' /home/mpiuser/.ssh/id_rsa && echo key; "
        "echo $OMPI_MCA_orte_set_default_slots"
    )
    said = at.site.directory / "said"
    command = ("/bin/sh", "-c", f"({script}) > {said}")
    at.submit(trainjob("world", *command, nodes=2, runtime="mpi"))
    at.wait_for("world", "Complete")
    assert said.read_text().splitlines() == [
        "world-node-0-0.world slots=1",
        "world-launcher-0-0.world slots=1",
        "authorized_keys",
        "id_rsa",
        "id_rsa.pub",
        "key",
        "1",
    ]


def a_flux_job_is_taken_as_it_is_built(at: Trainings) -> None:
    """Born suspended, for no image of Flux is here: every object of it is taken, and none is left.

    The Pod template is what the JobSet's Job would start.
    """
    runtime = torch_runtime("flux")
    runtime["spec"]["mlPolicy"] = {"numNodes": 1, "flux": {}}
    at.runtime(runtime)
    at.submit(trainjob("fluxed", "python", "train.py", nodes=2, runtime="flux", suspend=True))
    at.wait_for("fluxed", "Suspended")
    at.wait_for_counts("fluxed", suspended=1)
    (made,) = at.site.api.list(BATCH_JOBS).body["items"]
    pod = made["spec"]["template"]["spec"]
    assert [one["name"] for one in pod["initContainers"]] == ["flux-installer"]
    (node,) = pod["containers"]
    assert node["command"] == ["/bin/bash", "/etc/flux-config/entrypoint.sh", "python train.py"]
    mounted = {one["name"] for one in node["volumeMounts"]}
    assert mounted == {one["name"] for one in pod["volumes"]}
    scripts = at.admin.get("v1/configmaps", "fluxed-flux-entrypoint").body
    assert set(scripts["data"]) == {"init.sh", "entrypoint.sh"}
    key = at.admin.get("v1/secrets", "fluxed-flux-curve").body
    assert b'secret-key = "' in base64.b64decode(key["data"]["curve.cert"])
    assert at.site.api.delete(TRAINJOBS, "fluxed").code == 200
    at.witness.wait_until(
        lambda: at.admin.get("v1/secrets", "fluxed-flux-curve").code == 404, "no key is left"
    )


def everything_goes_with_the_job(at: Trainings) -> None:
    """JobSet, Pods and the runtime's snapshot are collected as garbage."""
    at.runtime(torch_runtime("plain"))
    at.submit(trainjob("brief", "sleep", "600", nodes=2, runtime="plain"))
    at.wait_for_counts("brief", active=1, ready=1)
    assert at.admin.get("v1/configmaps", "brief-runtime-snapshot").code == 200
    assert at.site.api.delete(TRAINJOBS, "brief").code == 200
    at.witness.wait_until(lambda: at.admin.get(JOBSETS, "brief").code == 404, "no JobSet is left")
    at.witness.wait_until(lambda: at.pods("brief") == [], "no Pod is left")
    at.witness.wait_until(
        lambda: at.admin.get("v1/configmaps", "brief-runtime-snapshot").code == 404,
        "no snapshot is left",
    )
    at.site.wait_for_true("nothing is left to do", "SELECT NOT open FROM job")


def _waiting_for(file: Path) -> tuple[str, ...]:
    return "/bin/sh", "-c", f"until [ -e {file} ]; do sleep 0.2; done"


def _stories() -> Iterator[Story]:
    for name, found in globals().items():
        if callable(found) and getattr(found, "__module__", "") == __name__ and name[0] != "_":
            yield found


STORIES: tuple[Story, ...] = tuple(_stories())
"""All stories, in the order in which they stand here."""
