"""Builds the container that runs `ray job submit`, in the submitter's Pod or beside the head.

Source: KubeRay's GetDefaultSubmitterContainer, configureSubmitterContainer and
SetContainerTokenAuthEnvVars. The default resources are part of the contract: Kueue counts them.
"""

from dataclasses import dataclass

from jobledger.core.ports.ray_jobs import TOKEN_KEY
from jobledger.core.rayjob.names import SUBMITTER_CONTAINER
from jobledger.core.rayjob.spec.go_values import env_value, ray_container
from jobledger.core.values.documents import Json, Manifest, child, items, text

COMMAND = ("/bin/bash", "-ce", "--")
"""Without `-e` the shell would go on after a step that failed."""

LOGIN_COMMAND = ("/bin/bash", "-cel", "--")
"""With what a login shell reads first."""

SECRET_NAME_MAX = 50
"""Longer names of RayClusters lose their beginning in the name of their token's Secret."""
TOKEN_VOLUME = "ray-token"  # noqa: S105 the name of a volume
TOKEN_PATH = "/var/run/secrets/ray.io/serviceaccount"  # noqa: S105 where it is mounted


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerContext:
    """What the container is told about the attempt, and where it runs."""

    address: str
    """`host:port` of the head; empty beside the head, where it is not known yet."""
    job_id: str
    cluster_name: str
    cluster_spec: Manifest
    login_shell: bool = False


def default_container(cluster_spec: Manifest) -> Manifest:
    """Return the container for a job that brings none: the head's image, upstream's resources."""
    image = text(ray_container(child(cluster_spec, "headGroupSpec")), "image")
    return {
        "name": SUBMITTER_CONTAINER,
        **({"image": image} if image else {}),
        "resources": {
            "limits": {"cpu": "1", "memory": "1Gi"},
            "requests": {"cpu": "500m", "memory": "200Mi"},
        },
    }


def configured(container: Manifest, command: str, around: ContainerContext) -> Manifest:
    """Return the container with its command (unless it has one), environment and credentials."""
    own = len(items(container, "command")) > 0
    env: list[Json] = [
        *items(container, "env"),
        _variable("PYTHONUNBUFFERED", "1"),
        _variable("RAY_DASHBOARD_ADDRESS", around.address),
        _variable("RAY_JOB_SUBMISSION_ID", around.job_id),
    ]
    built: dict[str, Json] = {
        **container,
        **({} if own else {"command": [*shell(around)], "args": [command]}),
        "env": env,
    }
    if checks_tokens(around.cluster_spec):
        _add_credentials(built, env, around)
    return built


def shell(around: ContainerContext) -> tuple[str, ...]:
    """Return the shell that runs the command."""
    return LOGIN_COMMAND if around.login_shell else COMMAND


def _variable(name: str, value: str) -> Manifest:
    # Go leaves out what is empty; the API server would keep it, and the objects would differ.
    return {"name": name, "value": value} if value else {"name": name}


def checks_tokens(cluster_spec: Manifest) -> bool:
    """Return whether the RayCluster lets in only those who show a token."""
    return text(cluster_spec, "authOptions", "mode") == "token"


def takes_service_account_tokens(cluster_spec: Manifest) -> bool:
    """Return whether the tokens are those of Kubernetes ServiceAccounts."""
    by_kubernetes = child(cluster_spec, "authOptions").get("enableK8sTokenAuth") is True
    return checks_tokens(cluster_spec) and by_kubernetes


def _add_credentials(built: dict[str, Json], env: list[Json], around: ContainerContext) -> None:
    if env_value(built, "RAY_AUTH_MODE") is None:
        env.append(_variable("RAY_AUTH_MODE", "token"))
    if takes_service_account_tokens(around.cluster_spec):
        if env_value(built, "RAY_ENABLE_K8S_TOKEN_AUTH") is None:
            env.append(_variable("RAY_ENABLE_K8S_TOKEN_AUTH", "true"))
        mounts = items(built, "volumeMounts")
        if not any(text(mount, "name") == TOKEN_VOLUME for mount in mounts):
            mount: Manifest = {"name": TOKEN_VOLUME, "mountPath": TOKEN_PATH, "readOnly": True}
            built["volumeMounts"] = [*mounts, mount]
    elif env_value(built, "RAY_AUTH_TOKEN") is None:
        secret = token_secret(around.cluster_spec, around.cluster_name)
        reference: Manifest = {"secretKeyRef": {"name": secret, "key": TOKEN_KEY}}
        env.append({"name": "RAY_AUTH_TOKEN", "valueFrom": reference})


def token_secret(cluster_spec: Manifest, cluster_name: str) -> str:
    """Return the Secret that holds the token of a RayCluster; empty if it asks for none."""
    if not checks_tokens(cluster_spec):
        return ""
    return text(cluster_spec, "authOptions", "secretName") or _secret_name(cluster_name)


def _secret_name(cluster_name: str) -> str:
    """Return the name of the Secret that KubeRay makes for a RayCluster.

    Source: KubeRay's CheckName: the last 50 characters, beginning with a letter.
    """
    kept = cluster_name[-SECRET_NAME_MAX:]
    return kept if kept[:1].isalpha() else f"r{kept[1:]}"
