"""The metric of RayClusters that nothing covers: somebody pays for each."""

from typing import Any, cast

from prometheus_client import CollectorRegistry

from jobledger.adapters.kinds.rayjob.kept_rayclusters import count_kept_clusters
from jobledger.adapters.service.shards.leasing import LeaseKeeper
from jobledger.adapters.telemetry.metrics import Metrics
from jobledger.core.errors import LedgerUnavailable
from jobledger.core.ports.history import History, JobFilter


class Shards:
    """Somebody who holds some of the shards."""

    def held(self) -> dict[int, int]:
        return {1: 7, 2: 7}


class Kept:
    """A history of three jobs whose RayClusters are kept, one in a shard of somebody else's."""

    def __init__(self) -> None:
        self.is_away = False

    def jobs(self, chosen: JobFilter, limit: int) -> list[Any]:
        assert chosen.kept_only
        assert limit > 3
        if self.is_away:
            raise LedgerUnavailable("away")
        return [type("Row", (), {"shard": shard}) for shard in (1, 2, 3)]


def test_what_is_kept_is_counted_by_whoever_holds_the_shard() -> None:
    registry, history = CollectorRegistry(), Kept()
    metrics = Metrics(registry)
    leases = cast("LeaseKeeper", Shards())
    count_kept_clusters(cast("History", history), leases, metrics)
    assert registry.get_sample_value("jobledger_kept_rayclusters") == 2
    history.is_away = True
    count_kept_clusters(cast("History", history), leases, metrics)
    assert registry.get_sample_value("jobledger_kept_rayclusters") == 2, "the last count stands"
