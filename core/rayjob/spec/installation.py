"""Settings for building objects that upstream's operator reads from its environment."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """Choices that hold for all jobs. The defaults are upstream's."""

    cluster_domain: str = "cluster.local"
    """DNS domain of the Kubernetes cluster. Source: KubeRay, CLUSTER_DOMAIN."""
    login_shell: bool = False
    """Whether submitters run their command in a login shell. Source: ENABLE_LOGIN_SHELL."""
    head_cluster_ip: bool = False
    """Whether heads' Services get an address of their own.

    Source: ENABLE_RAY_HEAD_CLUSTER_IP_SERVICE.
    """
    sidecar_restarts: bool = False
    """Whether the submitter beside the head is started again when it fails.

    Source: KubeRay's feature gate SidecarSubmitterRestart.
    """
    batch_scheduler: str = ""
    """Who places the Pods of a job together: volcano, yunikorn or kai-scheduler; empty: nobody.

    Source: KubeRay's flag `--batch-scheduler`.
    """


UPSTREAMS = Installation()
"""As upstream's operator does without anything set."""
