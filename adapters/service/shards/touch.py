"""Sends the API server a cheap request, to learn whether it is still reachable.

Watches may be silent for a minute and be well. Asked is for one object that is not there, by name:
the cheapest question there is. Nobody asks while there is no other replica that could do better.
"""

from collections.abc import Callable

from jobledger.adapters.telemetry.logging import get_logger
from jobledger.adapters.telemetry.repeated import Repeated
from jobledger.core.errors import ClusterError, ClusterUnreachable
from jobledger.core.ports.clock import Clock
from jobledger.core.ports.cluster import Cluster, Resource

log = get_logger(__name__)

ABSENT = "jobledger-is-there-anybody"


class Touch:
    """Whether the API server answers."""

    def __init__(
        self, cluster: Cluster, clock: Clock, resource: Resource, namespaces: tuple[str, ...]
    ) -> None:
        self._cluster = cluster
        self._clock = clock
        self._resource = resource
        self._namespace = namespaces[0] if namespaces else "default"
        self._answered = float("-inf")
        self._unheard = Repeated(log, "api_server_unheard", clock.monotonic)
        self.is_needed: Callable[[], bool] = lambda: True
        """Tells whether anybody wants to know."""

    def ask(self) -> None:
        """Carry out the duty of asking. Any answer counts, a refusal too, but not of who we are."""
        if not self.is_needed():
            return
        try:
            self._cluster.get(self._resource, self._namespace, ABSENT)
        except ClusterUnreachable as error:
            self._unheard.warn(error)
            return
        except ClusterError:
            pass
        self._answered = self._clock.monotonic()
        self._unheard.over()

    def answered_within(self, seconds: float) -> bool:
        """Return whether there was an answer within the last seconds."""
        return self._clock.monotonic() - self._answered <= seconds
