"""The look before the start: is another controller at work on jobs that are to be controlled here?

One list per kind of job. Afterwards the same is watched for while the service runs.
"""

from collections.abc import Iterable

from adapters.service.hands import Hands
from adapters.telemetry.logging import get_logger
from core.errors import ClusterError, JobledgerError, ObjectNotFound
from core.jobs.whose import WHAT_TO_DO, Refusal
from core.ports.clock import Clock
from core.ports.cluster import RAYJOBS, TRAINJOBS, Cluster
from core.values.instants import Instant

log = get_logger(__name__)

SHOWN_MAX = 5
"""So many refusals are named."""

_RESOURCES = {"RayJob": RAYJOBS, "TrainJob": TRAINJOBS}


class OtherControllerAtWork(JobledgerError):
    """The status of jobs that are to be controlled here is written by another controller."""

    def __init__(self, refusals: list[Refusal]) -> None:
        self.refusals = refusals
        shown = "; ".join(one.words for one in refusals[:SHOWN_MAX])
        more = len(refusals) - SHOWN_MAX
        others = f"; and {more} namespaces more" if more > 0 else ""
        super().__init__(f"this controller does not start: {shown}{others}. {WHAT_TO_DO}")


def refuse_to_fight(
    cluster: Cluster, hands: Hands, kinds: Iterable[str], namespaces: Iterable[str], clock: Clock
) -> None:
    """Look at every job that is to be controlled.

    Without an answer nothing is known: then what the watches show first decides, namespace by
    namespace.

    Raises:
        OtherControllerAtWork: another controller drives one of them.
    """
    if hands.only_records:
        return
    try:
        found = _found(cluster, hands, kinds, namespaces, clock.now())
    except ClusterError as error:
        log.warning("other_controllers_not_looked_for", error=str(error))
        return
    if found:
        raise OtherControllerAtWork([found[key] for key in sorted(found)])


def _found(
    cluster: Cluster, hands: Hands, kinds: Iterable[str], namespaces: Iterable[str], now: Instant
) -> dict[tuple[str, str], Refusal]:
    found: dict[tuple[str, str], Refusal] = {}
    for kind in kinds:
        for namespace in tuple(namespaces) or ("",):
            try:
                jobs = cluster.list(_RESOURCES[kind], namespace).items
            except ObjectNotFound:  # the kind is not served
                continue
            for job in jobs:
                refusal = hands.at_start(kind, job, now)
                if refusal is not None:
                    found.setdefault((kind, refusal.namespace), refusal)
    return found
