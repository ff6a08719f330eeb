"""TrainJobs to ask Trainer about whose Pods are told of its status server.

Trainer has its feature TrainJobStatus on and all else as it comes; here Pods are told of the same
address, and the same authority is known.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.upstream.answers_file import read_lines, write_lines
from tests.upstream.changing import Change, patch, put
from tests.upstream.runtime_changes import RUNTIME_CHANGES
from tests.upstream.trainjob_cases import Case, case_of, job_on
from tests.upstream.trainjob_changes import JOB_CHANGES

FILE = Path(__file__).with_name("status_server.jsonl.gz")

SERVER_ENV = {"name": "KUBEFLOW_TRAINER_SERVER_URL", "value": "https://mine"}
TOKEN_VOLUME = "kubeflow-trainer-token"
EDGES: Mapping[str, tuple[Change, ...]] = {
    "env-of-server": (put("spec.trainer.env", [SERVER_ENV, {"name": "A", "value": "1"}]),),
    "patch-env-of-server": (
        put(
            "spec.runtimePatches",
            [patch({"containers": [{"name": "node", "env": [SERVER_ENV]}]})],
        ),
    ),
    "patch-volume-of-server": (
        put(
            "spec.runtimePatches",
            [
                patch(
                    {
                        "volumes": [{"name": TOKEN_VOLUME, "emptyDir": {}}],
                        "containers": [
                            {
                                "name": "node",
                                "volumeMounts": [{"name": TOKEN_VOLUME, "mountPath": "/mine"}],
                            }
                        ],
                    }
                )
            ],
        ),
    ),
}
"""Jobs that have something of their own under a name of the server's."""


def cases(runtimes: Mapping[str, Any]) -> Iterator[Case]:
    """Yield every case on the shipped runtimes, in an order that stays."""
    for name, runtime in sorted(runtimes.items()):
        every = [("", change) for change in JOB_CHANGES]
        every += [(change, "plain") for change in RUNTIME_CHANGES]
        for of_runtime, of_job in every:
            yield _told(case_of(name, runtime, of_runtime, of_job), of_runtime, of_job)
        for edge, changes in EDGES.items():
            job = job_on(runtime)
            for change in changes:
                change(job)
            yield Case(id=f"{name}/server/{edge}", job=job, runtime=runtime, status_server=True)


def _told(case: Case, *changes: str) -> Case:
    name = case.id.split("/")[0]
    told = "/".join([name, "server", *filter(None, changes)])
    return replace(case, id=told, status_server=True)


def write(answers: Iterable[Mapping[str, Any]]) -> int:
    """Write the answers; return how many there are."""
    return write_lines(FILE, answers)


def read() -> dict[str, Any]:
    """Return the answers by the id of their case."""
    return {answer["id"]: answer for answer in read_lines(FILE)}
