"""Names of the objects of a TrainJob, and the labels of its runtime."""

from jobledger.core.values.documents import Manifest

FIELD_MANAGER = "trainer"
"""Upstream's own, so that fields it once applied and we no longer do are removed."""

ANCESTOR_LABEL = "trainer.kubeflow.org/trainjob-ancestor-step"
TRAINER, DATASET, MODEL = "trainer", "dataset-initializer", "model-initializer"
NODE, LAUNCHER = "node", "launcher"
"""Names of containers and replicatedJobs that plugins look for."""

SNAPSHOT_KEY = "runtime"
SNAPSHOT_ENDING = "-runtime-snapshot"
MASTER_PORT = 29500
INDEX: Manifest = {
    "fieldRef": {"fieldPath": "metadata.annotations['batch.kubernetes.io/job-completion-index']"}
}
"""Where a Pod reads its number within the Job."""


def snapshot_name(job: str) -> str:
    """Return the name of the ConfigMap that holds the runtime as it was."""
    return f"{job}{SNAPSHOT_ENDING}"


def ssh_secret_name(job: str) -> str:
    """Return the name of the Secret with the keys of an MPI job."""
    return f"{job}-mpi-ssh-auth"


def hostfile_name(job: str) -> str:
    """Return the name of the ConfigMap with the hosts of an MPI job."""
    return f"{job}-mpi-hostfile"


def flux_scripts_name(job: str) -> str:
    """Return the name of the ConfigMap with the scripts of a Flux job."""
    return f"{job}-flux-entrypoint"


def curve_secret_name(job: str) -> str:
    """Return the name of the Secret with the key of a Flux job."""
    return f"{job}-flux-curve"


def master_address(job: str) -> str:
    """Return the host name of the first node; upstream's constant, whatever the Jobs are called."""
    return f"{job}-node-0-0.{job}"
