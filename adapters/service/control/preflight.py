"""Checks before the start whether another controller drives the jobs to be controlled here.

One list per kind of job, before anything is decided: so a namespace in which another controller is
met is only recorded from the first job on. Afterwards the same is watched for while the service
runs.
"""

import contextlib
from collections.abc import Iterable

from jobledger.adapters.service.control.control_policy import (
    FIRST_SIGHT,
    ControlPolicy,
    names_another,
)
from jobledger.adapters.telemetry.logging import get_logger
from jobledger.core.errors import ClusterError, ObjectNotFound
from jobledger.core.kinds import KINDS
from jobledger.core.ports.clock import Clock
from jobledger.core.ports.cluster import Cluster

log = get_logger(__name__)


def look_for_others(
    cluster: Cluster,
    control_policy: ControlPolicy,
    kinds: Iterable[str],
    namespaces: Iterable[str],
    clock: Clock,
) -> None:
    """Look at every job that is to be controlled, and take note of whom another one drives.

    Without an answer nothing is known: then what the watches show first decides.
    """
    if control_policy.only_records:
        return
    for kind in kinds:
        try:
            for namespace in tuple(namespaces) or ("",):
                _look(cluster, control_policy, kind, namespace, clock)
        except ClusterError as error:  # of another kind there may be an answer
            log.warning("other_controllers_not_looked_for", kind=kind, error=str(error))


def _look(
    cluster: Cluster, control_policy: ControlPolicy, kind: str, namespace: str, clock: Clock
) -> None:
    with contextlib.suppress(ObjectNotFound):  # the kind is not served
        for job in cluster.each(KINDS[kind].resource, namespace):
            # Of batch Jobs another's are most: the log is asked for none.
            if not names_another(kind, job):
                control_policy.note(kind, job, FIRST_SIGHT, clock.now())
