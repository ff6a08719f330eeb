"""The watching half of the cluster port."""

from collections.abc import Callable
from datetime import timedelta

from jobledger.adapters.kube.decoding import ObjectDecoder
from jobledger.adapters.kube.transport import Transport
from jobledger.adapters.kube.watching.listing import Selection
from jobledger.adapters.kube.watching.reflector import Reflector
from jobledger.adapters.kube.watching.timing import WatchPace, WatchTiming
from jobledger.adapters.telemetry.clock import SystemClock
from jobledger.adapters.telemetry.dice import dice
from jobledger.adapters.telemetry.logging import get_logger
from jobledger.adapters.telemetry.repeated import Repeated
from jobledger.core.ports.clock import Clock
from jobledger.core.ports.cluster import ObjectListener, Resource

TELL_EVERY = timedelta(seconds=15)
"""A watch that fails at two looks in a row is told; an API server that starts anew is not."""

log = get_logger(__name__)


class KubernetesWatches:
    """Implements `core.ports.cluster.Watches`: one thread and one connection per watch."""

    def __init__(
        self,
        transport: Transport,
        *,
        pace: WatchPace | None = None,
        clock: Clock | None = None,
        dice: Callable[[], float] = dice,
    ) -> None:
        """Take what sends requests."""
        self._transport = transport
        self._timing = WatchTiming(
            clock=clock or SystemClock(), random=dice, pace=pace or WatchPace()
        )
        self._needed: list[Reflector] = []
        self._failing: set[Reflector] = set()
        """Those that failed at the last look."""
        self._told = Repeated(log, "watch_failing", self._timing.clock.monotonic)

    def watch(
        self,
        resource: Resource,
        listener: ObjectListener,
        *,
        namespace: str = "",
        selector: str = "",
        is_optional: bool = False,
    ) -> Reflector:
        """Start telling `listener` of every object (of a namespace, of a label selector).

        That an optional watch does not run is none of the `troubles`: its right may be missing.
        """
        reflector = Reflector(
            self._transport,
            Selection(resource=resource, namespace=namespace, labels=selector),
            listener,
            ObjectDecoder(resource),
            self._timing,
        )
        reflector.start()
        if not is_optional:
            self._needed.append(reflector)
        return reflector

    def troubles(self) -> list[str]:
        """Return why needed watches do not run at the moment, each reason once; empty if all do."""
        return sorted(set(self._errors().values()))

    def tell_troubles(self) -> None:
        """Carry out the duty of saying in the log which needed watches fail while others work.

        That the API server answers nobody is told by `Answering`.
        """
        errors = {} if self._transport.answering.trouble() else self._errors()
        for error in sorted({errors[one] for one in self._failing & errors.keys()}):
            self._told.warn(error)
        self._failing = set(errors)

    def _errors(self) -> dict[Reflector, str]:
        found = {one: one.health.last_error for one in self._needed if one.alive}
        return {one: error for one, error in found.items() if error}
