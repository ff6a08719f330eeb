"""What is plugged in for each kind of job, as the service has it for those it was given."""

from collections.abc import Mapping

from jobledger.adapters.kinds.registry import ADAPTERS
from jobledger.adapters.service.effects.context import KindActing
from jobledger.adapters.service.watches.event_handlers import KindWatching


def actings() -> Mapping[str, KindActing]:
    """Return how effects of each kind of job are carried out."""
    return {name: adapter.acting for name, adapter in ADAPTERS.items()}


def watchings() -> Mapping[str, KindWatching]:
    """Return how each kind of job is watched."""
    return {name: adapter.watching for name, adapter in ADAPTERS.items()}
