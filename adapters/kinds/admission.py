"""The list of the admission webhooks that kinds of job bring."""

from collections.abc import Callable, Mapping

from jobledger.adapters.admission.reviews import Handler
from jobledger.adapters.kinds.rayjob.admission import rayjob_admission
from jobledger.adapters.kinds.trainjob.admission import TrainJobAdmission
from jobledger.adapters.kinds.trainjob.plugins import trainjob_plugins
from jobledger.core.ports.cluster import Cluster
from jobledger.core.values.instants import Instant


def handlers(
    cluster: Cluster, now: Callable[[], Instant], *, strict: bool
) -> Mapping[str, Handler]:
    """Return all handlers by path; `strict` refuses what a job's status would refuse.

    Raises:
        BrokenPlugin: an installed plugin cannot be used.
    """
    of_trainjobs = TrainJobAdmission(cluster=cluster, plugins=trainjob_plugins(), now=now)
    return {**rayjob_admission(strict=strict), **of_trainjobs.by_path()}
