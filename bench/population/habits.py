"""Who runs what on the made-up platform, how long that takes, and how it fails."""

from dataclasses import dataclass, replace
from random import Random

from jobledger.core.values.documents import Json, Manifest

USERS = (
    "amara", "bela", "chidi", "dana", "emil", "farah", "goran", "hana", "ines", "jonas",
    "kaito", "lena", "milo", "nadia", "omar", "petra", "quinn", "ravi", "sofia", "tariq",
)  # fmt: skip
USER_WEIGHTS = tuple(1 / (place + 2) for place in range(len(USERS)))
"""A few people start most of the jobs."""

TEAMS = {"vision": "gpu-vision", "speech": "gpu-shared", "ranking": "gpu-batch", "llm": "gpu-llm"}
"""Namespace -> queue of Kueue."""

REGISTRY = "registry.example.com"


@dataclass(frozen=True, slots=True)
class Workload:
    """One kind of work: its image, how long it runs, how often an attempt fails."""

    family: str
    """What names of its jobs begin with."""
    kind: str
    namespace: str
    runtime: str
    """RayJob: submission mode. TrainJob: name of the runtime."""
    image: str
    weight: float
    minutes: float
    """Median of how long an attempt runs; a tenth runs four times as long."""
    failing: float
    """Share of attempts that fail."""


WORKLOADS = (
    Workload(
        "tune-vit", "RayJob", "vision", "K8sJobMode", f"{REGISTRY}/vision/tune:3.2", 14, 22, 0.16
    ),
    Workload(
        "batch-infer", "RayJob", "vision", "HTTPMode", f"{REGISTRY}/vision/infer:1.9", 22, 7, 0.07
    ),
    Workload(
        "asr-prep", "RayJob", "speech", "K8sJobMode", f"{REGISTRY}/speech/prep:0.8", 12, 12, 0.28
    ),
    Workload(
        "rank-eval", "RayJob", "ranking", "HTTPMode", f"{REGISTRY}/ranking/eval:5.1", 20, 4, 0.05
    ),
    Workload(
        "rank-train",
        "TrainJob",
        "ranking",
        "torch-distributed",
        f"{REGISTRY}/ranking/train:5.1",
        12,
        35,
        0.10,
    ),
    Workload(
        "llm-sft", "TrainJob", "llm", "torch-distributed", f"{REGISTRY}/llm/sft:2.4", 10, 95, 0.22
    ),
    Workload(
        "llm-dpo",
        "TrainJob",
        "llm",
        "deepspeed-distributed",
        f"{REGISTRY}/llm/dpo:0.3-rc1",
        5,
        70,
        0.36,
    ),
    Workload(
        "asr-train",
        "TrainJob",
        "speech",
        "jax-distributed",
        f"{REGISTRY}/speech/train:1.1",
        5,
        50,
        0.12,
    ),
)

RELEASED = {
    work.family: replace(work, image=image, failing=failing)
    for work in WORKLOADS
    for family, image, failing in (
        ("batch-infer", f"{REGISTRY}/vision/infer:2.0", 0.3),
        ("llm-sft", f"{REGISTRY}/llm/sft:2.5", 0.1),
    )
    if work.family == family
}
"""Work that has a new image some day: one that fails more, one that fails less."""


@dataclass(frozen=True, slots=True)
class Mishap:
    """A way to fail."""

    name: str
    weight: float
    message: str = ""
    exit_code: int | None = None
    part: float = 1.0
    """After which part of its usual time it fails."""


RAY_FAILED = "Job entrypoint command failed with exit code"

MISHAPS = (
    Mishap("application", 26, f"{RAY_FAILED} 1, last log lines: ValueError: bad row 1842", 1, 0.4),
    Mishap("application", 14, f"{RAY_FAILED} 1, last log lines: loss is nan at step 4182", 1, 0.7),
    Mishap(
        "application",
        12,
        f"{RAY_FAILED} 1, last log lines: ModuleNotFoundError: No module named 'peft'",
        1,
        0.02,
    ),
    Mishap(
        "application",
        16,
        f"{RAY_FAILED} 1, last log lines: torch.OutOfMemoryError: CUDA out of memory",
        1,
        0.3,
    ),
    Mishap("head-lost", 12, part=0.5),
    Mishap("cluster-lost", 4, part=0.6),
    Mishap("image-pull", 8, part=0.0),
    Mishap("deadline", 8, part=3.0),
)
"""How RayJobs fail, by how often."""

JOBSET_MESSAGES = (
    "jobset failed due to one or more job failures (first failed job: node-0)",
    "jobset failed due to reaching max number of restarts",
)


def minutes_of(dice: Random, median: float) -> float:
    """Return a length of time: lognormal, a tenth above four times the median."""
    return dice.lognormvariate(0, 1.08) * median


def pick_workload(dice: Random) -> Workload:
    """Return a kind of work, by how often it is done."""
    return dice.choices(WORKLOADS, [one.weight for one in WORKLOADS])[0]


def pick_user(dice: Random) -> str:
    """Return a user, by how much they run."""
    return dice.choices(USERS, USER_WEIGHTS)[0]


def pick_mishap(dice: Random) -> Mishap:
    """Return a way to fail, by how often it happens."""
    return dice.choices(MISHAPS, [one.weight for one in MISHAPS])[0]


def document_of(work: Workload, user: str, *, suspend: bool) -> Manifest:
    """Return the specification and labels of a job, as they are recorded."""
    labels = {
        "jobledger.dev/user": user,
        "kueue.x-k8s.io/queue-name": TEAMS[work.namespace],
        "team": work.namespace,
    }
    spec: dict[str, Json] = {"suspend": suspend}
    if work.kind == "TrainJob":
        resources = {"limits": {"nvidia.com/gpu": 8}}
        spec["runtimeRef"] = {"name": work.runtime}
        spec["trainer"] = {"image": work.image, "numNodes": 2, "resourcesPerNode": resources}
        return {"spec": spec, "labels": labels}
    limits = {"limits": {"cpu": "8", "memory": "32Gi"}}
    head: Manifest = {"name": "ray-head", "image": work.image, "resources": limits}
    spec["entrypoint"] = f"python -m {work.family.replace('-', '_')} --config base.yaml"
    spec["submissionMode"] = work.runtime
    spec["rayClusterSpec"] = {
        "rayVersion": "2.52.0",
        "headGroupSpec": {"template": {"spec": {"containers": [head]}}},
    }
    return {"spec": spec, "labels": labels}
