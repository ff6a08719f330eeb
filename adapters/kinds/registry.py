"""The list of the kinds of job that can be controlled."""

from collections.abc import Iterable, Iterator, Mapping

from jobledger.adapters.kinds.batchjob.kind import BATCHJOB_ADAPTER
from jobledger.adapters.kinds.rayjob.kind import RAYJOB_ADAPTER
from jobledger.adapters.kinds.trainjob.kind import TRAINJOB_ADAPTER
from jobledger.adapters.service.kind_adapter import KindAdapter
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
