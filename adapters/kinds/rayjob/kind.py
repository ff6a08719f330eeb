"""The kind RayJob outside of the core, in one description."""

from jobledger.adapters.kinds.rayjob.acting.effects import RAYJOB_ACTING
from jobledger.adapters.kinds.rayjob.following import RayJobFollower
from jobledger.adapters.kinds.rayjob.resync import RAYJOB_RESYNC
from jobledger.adapters.kinds.rayjob.watching.watched import RAYJOB_WATCHING
from jobledger.adapters.service.kind_adapter import KindAdapter
from jobledger.adapters.settings import Settings
from jobledger.core.rayjob.spec.installation import Installation


def _installation(settings: Settings) -> Installation:
    """Return how objects are built here."""
    return Installation(
        cluster_domain=settings.cluster_domain,
        login_shell=settings.login_shell,
        head_cluster_ip=settings.head_cluster_ip,
        sidecar_restarts=settings.sidecar_restarts,
        batch_scheduler=settings.batch_scheduler,
    )


RAYJOB_ADAPTER = KindAdapter(
    watching=RAYJOB_WATCHING,
    acting=RAYJOB_ACTING,
    resync=RAYJOB_RESYNC,
    installation=_installation,
    follower=RayJobFollower,
)
