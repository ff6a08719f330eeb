"""How the fields of a RayJob are changed, part by part."""

from tests.upstream.changing import Change, put

HEAD = "spec.rayClusterSpec.headGroupSpec"
HEAD_POD = f"{HEAD}.template.spec"
CONTAINER = f"{HEAD_POD}.containers.0"
GROUP = "spec.rayClusterSpec.workerGroupSpecs.0"

RESOURCES = {"requests": {"cpu": "1500m", "memory": "1Gi"}, "limits": {"cpu": "2", "gpu/x": 1}}
TOKENS = {"mode": "token"}
REDIS = {"redisAddress": "redis:6379"}
POD: dict[str, object] = {
    "containers": [
        {"name": "own", "image": "own:1", "env": [{"name": "A", "value": "1"}]},
        {"name": "other", "image": "other:1", "resources": {"requests": {"cpu": "1"}}},
    ],
    "restartPolicy": "OnFailure",
    "nodeSelector": {"pool": "small"},
    "tolerations": [{"key": "small", "operator": "Exists"}],
}
TEMPLATE: dict[str, object] = {
    "metadata": {"labels": {"mine": "x"}, "annotations": {"note": "y"}},
    "spec": POD,
}
"""A user's own Pod template of the submitter."""


def spec(**fields: object) -> tuple[Change, ...]:
    """Return the change that sets fields of a RayJob's specification."""
    return tuple(put(f"spec.{name}", value) for name, value in fields.items())


def template(**fields: object) -> tuple[Change, ...]:
    """Return the change to a Pod template of the submitter with some fields of its Pod."""
    return spec(submitterPodTemplate={**TEMPLATE, "spec": {**POD, **fields}})


def strategy(*rules: object, **old: object) -> tuple[Change, ...]:
    """Return the change to a deletionStrategy with rules, or with the old fields."""
    given = {"deletionRules": list(rules)} if rules else old
    return spec(deletionStrategy=given)


def rule(policy: str, **condition: object) -> dict[str, object]:
    """Return a rule of a deletionStrategy."""
    return {"policy": policy, "condition": condition}


def container(**fields: object) -> tuple[Change, ...]:
    """Return the change that sets fields of the container that runs Ray on the head."""
    return tuple(put(f"{CONTAINER}.{name}", value) for name, value in fields.items())


def group(**fields: object) -> tuple[Change, ...]:
    """Return the change that sets fields of the group of workers."""
    return tuple(put(f"{GROUP}.{name}", value) for name, value in fields.items())


def cluster(**fields: object) -> tuple[Change, ...]:
    """Return the change that sets fields of the RayCluster."""
    return tuple(put(f"spec.rayClusterSpec.{name}", value) for name, value in fields.items())
