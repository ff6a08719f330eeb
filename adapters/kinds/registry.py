"""The list of the kinds of job that can be controlled."""

from collections.abc import Iterable, Iterator, Mapping

from jobledger.adapters.kinds.batchjob.kind import BATCHJOB_ADAPTER
from jobledger.adapters.kinds.rayjob.kind import RAYJOB_ADAPTER
from jobledger.adapters.kinds.trainjob.kind import TRAINJOB_ADAPTER
from jobledger.adapters.service.effects.context import KindActing
from jobledger.adapters.service.kind_adapter import KindAdapter
from jobledger.adapters.service.watches.event_handlers import KindWatching
from jobledger.adapters.settings import Settings

ADAPTERS: Mapping[str, KindAdapter] = {
    adapter.name: adapter for adapter in (RAYJOB_ADAPTER, TRAINJOB_ADAPTER, BATCHJOB_ADAPTER)
}


def adapters(names: Iterable[str]) -> tuple[KindAdapter, ...]:
    """Return the kinds of job of these names, in their order."""
    return tuple(ADAPTERS[name] for name in names)


def installations(settings: Settings) -> Iterator[object]:
    """Yield what each kind of job needs to know of this installation."""
    for adapter in ADAPTERS.values():
        if adapter.installation is not None:
            yield adapter.installation(settings)


def actings(names: Iterable[str] = ADAPTERS) -> Mapping[str, KindActing]:
    """Return how effects of the kinds of job of these names are carried out."""
    return {name: ADAPTERS[name].acting for name in names}


def watchings(names: Iterable[str] = ADAPTERS) -> Mapping[str, KindWatching]:
    """Return how the kinds of job of these names are watched."""
    return {name: ADAPTERS[name].watching for name in names}
