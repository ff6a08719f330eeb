"""Counts RayClusters that no rule will delete: somebody pays for each."""

from jobledger.adapters.service.shards.leasing import LeaseKeeper
from jobledger.adapters.telemetry.logging import get_logger
from jobledger.adapters.telemetry.metrics import Metrics
from jobledger.core.errors import LedgerError
from jobledger.core.ports.history import History, JobFilter

log = get_logger(__name__)

COUNTED_MAX = 10_000


def count_kept_clusters(
    history: History, leases: LeaseKeeper, metrics: Metrics, cluster: str = ""
) -> None:
    """Carry out the duty of counting them, those of the shards of a cluster that are held here."""
    try:
        rows = history.jobs(JobFilter(kept_only=True, cluster=cluster), COUNTED_MAX)
    except LedgerError as error:
        log.warning("kept_rayclusters_not_counted", error=str(error))
        return
    held = leases.held()
    metrics.kept_clusters.set(sum(row.shard in held for row in rows))
