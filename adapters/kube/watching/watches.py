"""The watching half of the cluster port."""

from collections.abc import Callable

from jobledger.adapters.kube.decoding import ObjectDecoder
from jobledger.adapters.kube.transport import Transport
from jobledger.adapters.kube.watching.listing import Selection
from jobledger.adapters.kube.watching.reflector import Reflector
from jobledger.adapters.kube.watching.timing import WatchPace, WatchTiming
from jobledger.adapters.telemetry.clock import SystemClock
from jobledger.adapters.telemetry.dice import dice
from jobledger.core.ports.clock import Clock
from jobledger.core.ports.cluster import ObjectListener, Resource


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
        found = [one.health.last_error for one in self._needed if one.alive]
        return sorted({error for error in found if error})
