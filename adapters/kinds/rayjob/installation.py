"""What RayJobs need to know of this installation, from settings."""

from jobledger.adapters.settings import Settings
from jobledger.core.rayjob.spec.installation import Installation


def installation(settings: Settings) -> Installation:
    """Return how objects are built here."""
    return Installation(
        cluster_domain=settings.cluster_domain,
        login_shell=settings.login_shell,
        head_cluster_ip=settings.head_cluster_ip,
        sidecar_restarts=settings.sidecar_restarts,
        batch_scheduler=settings.batch_scheduler,
    )
