"""RayJobs of the size that people have."""

from typing import Any

Document = dict[str, Any]

IMAGE = "registry.example.com/research/train:2026.11.3"
WORKER_GROUPS = 2


def rayjob(name: str, namespace: str = "ml") -> Document:
    """Return a RayJob of some 9 kB: two worker groups, secrets in variables, a runtime env."""
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {"team": "research", "experiment": "ablation-17", "tier": "batch"},
            "annotations": {"example.com/owner": "someone@example.com"},
        },
        "spec": {
            "entrypoint": "python -m train --config configs/base.yaml --seed 17 --epochs 40",
            "backoffLimit": 1,
            "shutdownAfterJobFinishes": True,
            "submissionMode": "K8sJobMode",
            "runtimeEnvYAML": _RUNTIME_ENV,
            "rayClusterSpec": {
                "rayVersion": "2.52.0",
                "headGroupSpec": {
                    "rayStartParams": {"dashboard-host": "0.0.0.0"},
                    "template": _template("ray-head"),
                },
                "workerGroupSpecs": [
                    {
                        "groupName": f"group-{number}",
                        "replicas": 2,
                        "minReplicas": 1,
                        "maxReplicas": 4,
                        "rayStartParams": {},
                        "template": _template("ray-worker"),
                    }
                    for number in range(WORKER_GROUPS)
                ],
            },
        },
    }


def small_rayjob(name: str, namespace: str = "default") -> Document:
    """Return a RayJob of a head and no workers, as `shared/tools/dataplane` creates them."""
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "entrypoint": "python train.py",
            "backoffLimit": 1,
            "shutdownAfterJobFinishes": True,
            "rayClusterSpec": {
                "rayVersion": "2.52.0",
                "headGroupSpec": {
                    "rayStartParams": {},
                    "template": {"spec": {"containers": [{"name": "ray-head", "image": IMAGE}]}},
                },
            },
        },
    }


_RUNTIME_ENV = """\
working_dir: "https://example.com/code/train-3f2a.zip"
pip: ["torch==2.9.0", "transformers==5.0.1", "datasets==4.1.0"]
env_vars:
  WANDB_API_KEY: "0f6c1b7a206f1d9a523c0b5b0e9a518e0f6c1b7a"
  TOKENIZERS_PARALLELISM: "false"
"""


def _template(name: str) -> Document:
    variables = {f"SETTING_{number}": f"value-{number}-of-the-run" for number in range(26)}
    variables["DATABASE_PASSWORD"] = "correct-horse-battery-staple"
    return {
        "metadata": {"labels": {"team": "research", "app.kubernetes.io/part-of": "train"}},
        "spec": {
            "serviceAccountName": "train",
            "nodeSelector": {"example.com/gpu": "h200", "topology.example.com/zone": "eu-1a"},
            "tolerations": [
                {"key": "example.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
            ],
            "containers": [
                {
                    "name": name,
                    "image": IMAGE,
                    "ports": [
                        {"containerPort": 6379, "name": "gcs-server"},
                        {"containerPort": 8265, "name": "dashboard"},
                        {"containerPort": 10001, "name": "client"},
                    ],
                    "env": [{"name": key, "value": value} for key, value in variables.items()],
                    "resources": {
                        "limits": {"cpu": "8", "memory": "64Gi", "nvidia.com/gpu": "1"},
                        "requests": {"cpu": "8", "memory": "64Gi", "nvidia.com/gpu": "1"},
                    },
                    "volumeMounts": [
                        {"name": "data", "mountPath": "/mnt/data", "readOnly": True},
                        {"name": "checkpoints", "mountPath": "/mnt/checkpoints"},
                        {"name": "shm", "mountPath": "/dev/shm"},
                    ],
                }
            ],
            "volumes": [
                {"name": "data", "persistentVolumeClaim": {"claimName": "training-data"}},
                {"name": "checkpoints", "persistentVolumeClaim": {"claimName": "checkpoints"}},
                {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "16Gi"}},
            ],
        },
    }
