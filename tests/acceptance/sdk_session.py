"""What somebody does with the Kubeflow SDK; run by `make sdk`'s Python, not by the tests' own.

Prints one JSON object with what the SDK said. Arguments: the namespace, the runtime, a file that
the training waits for, and the statuses to wait for, one after the other; with Failed as the last
of them the second node fails.
"""

import json
import sys
from pathlib import Path

from kubeflow.common.types import KubernetesBackendConfig
from kubeflow.trainer import CustomTrainer, TrainerClient

SECONDS = 120
"""Limit of each wait."""


def train(gate: str, failing: str) -> None:
    """Run on every node, as the SDK takes it from here: by its source alone."""
    import os  # noqa: PLC0415
    import sys  # noqa: PLC0415
    import time  # noqa: PLC0415

    print(f"rank {os.environ['RANK']} of {os.environ['WORLD_SIZE']}")  # noqa: T201
    while not os.path.exists(gate):  # noqa: PTH110
        time.sleep(0.05)
    if os.environ["PET_NODE_RANK"] == failing:
        print("no memory left")  # noqa: T201
        sys.exit(3)
    print("trained")  # noqa: T201


def main(namespace: str, runtime: str, gate: str, *statuses: str) -> int:
    """Train, wait, read the logs, look at the job, delete it."""
    client = TrainerClient(KubernetesBackendConfig(namespace=namespace))
    said: dict[str, object] = {"runtimes": [one.name for one in client.list_runtimes()]}
    failing = "1" if statuses[-1] == "Failed" else ""
    arguments = {"gate": gate, "failing": failing}
    trainer = CustomTrainer(func=train, func_args=arguments, num_nodes=2)
    name = client.train(runtime=runtime, trainer=trainer)
    reached = []
    for status in statuses:
        if status in ("Complete", "Failed"):
            Path(gate).touch()
        job = client.wait_for_job_status(name, {status}, timeout=SECONDS, polling_interval=1)
        reached.append(job.status)
    said["reached"] = reached
    said["logs"] = {
        step: list(client.get_job_logs(name, step=step)) for step in ("node-0", "node-1")
    }
    found = client.get_job(name)
    told = client.get_job_events(name)
    said["events"] = sorted({f"{one.involved_object_kind}: {one.reason}" for one in told})
    said["steps"] = {step.name: step.status for step in found.steps}
    said["nodes"] = found.num_nodes
    said["listed"] = [one.name for one in client.list_jobs()] == [name]
    client.delete_job(name)
    said["left"] = [one.name for one in client.list_jobs()]
    json.dump(said, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
