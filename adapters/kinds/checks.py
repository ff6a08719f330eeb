"""What kinds of job bring to `jobledger doctor`, and what the settings want of a cluster."""

from jobledger.adapters.kinds.trainjob.installation import status_authority
from jobledger.adapters.kinds.trainjob.progress.checks import CHECKS as OF_PROGRESS
from jobledger.adapters.kinds.trainjob.progress.checks import is_told
from jobledger.adapters.kube.checks.cluster import ClusterView
from jobledger.adapters.kube.checks.rights import Wants
from jobledger.adapters.settings import Settings
from jobledger.core.forensics.findings import Check

CHECKS: tuple[Check[ClusterView], ...] = (*OF_PROGRESS,)


def wants(settings: Settings) -> Wants:
    """Return what the settings call for."""
    return Wants(
        kinds=settings.job_kinds,
        only_records=settings.control == "nothing",
        reviews_tokens=settings.api_token_review,
        volcano=settings.batch_scheduler == "volcano",
        status_url=settings.trainer_status_url,
        status_authority=status_authority(settings),
    )


def left_out(wanted: Wants) -> tuple[Check[ClusterView], ...]:
    """Return the checks of what the settings do not ask for: "ok" would say that it is there."""
    return () if is_told(wanted) else OF_PROGRESS
