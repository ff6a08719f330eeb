"""Words for what plugins make of a TrainJob's objects as conditions, and what was refused."""

from collections.abc import Iterator, Sequence

from jobledger.core.trainjob.conditions import Condition
from jobledger.core.trainjob.contributions.contribution import OwnedObject, refused_in_words
from jobledger.core.trainjob.events import PluginConditionsObserved
from jobledger.core.values.instants import rfc3339

MESSAGE_MAX = 160


def conditions_in_words(event: PluginConditionsObserved) -> str:
    """Return the conditions, the object and the plugin that they come from, and what was refused.

    An event that has neither says that a plugin gives none any more.
    """
    told = event.contribution
    refused = [_cut(refused_in_words(told, one)) for one in told.refused]
    if refused and not told.conditions:
        return "; ".join(refused)
    source = f"{told.source.kind} {told.source.name}{', which is gone' if event.gone else ''}"
    shown = ", ".join(f"{item.type}={item.status}/{item.reason}" for item in told.conditions)
    said = ", ".join(_cut(item.message) for item in told.conditions if item.message)
    first = f"{shown or 'no condition'} (plugin {told.plugin}, of {source})"
    return "; ".join([f"{first}: {said}" if said else first, *refused])


def conditions_told(events: Sequence[tuple[int, object]]) -> Iterator[tuple[str, int]]:
    """Yield each condition of a plugin as it is now, and what was refused last, with its event."""
    conditions: dict[str, tuple[str, int]] = {}
    refused: dict[tuple[str, str], tuple[tuple[str, int], ...]] = {}
    for version, event in events:
        if not isinstance(event, PluginConditionsObserved):
            continue
        told = event.contribution
        for item in told.conditions:
            conditions[item.type] = (_sentence(item, told.source, told.plugin), version)
        refused[told.plugin, told.source.uid] = tuple(
            (f"Not shown: {_cut(refused_in_words(told, one))}.", version) for one in told.refused
        )
    yield from conditions.values()
    for said in refused.values():
        yield from said


def _sentence(item: Condition, source: OwnedObject, plugin: str) -> str:
    which = f"{source.kind} {source.name}"
    version = f", resourceVersion {source.version}" if source.version else ""
    message = f": {_cut(item.message)}" if item.message else ""
    return (
        f"{item.type} is {item.status} since {rfc3339(item.since)} ({item.reason}{message}), "
        f"as the plugin {plugin} reads {which} (uid {source.uid}{version})."
    )


def _cut(message: str) -> str:
    line = " ".join(message.split()).rstrip(".")
    return line if len(line) <= MESSAGE_MAX else f"{line[:MESSAGE_MAX]}…"
