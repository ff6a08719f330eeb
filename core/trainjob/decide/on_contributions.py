"""Events that follow from what plugins make of a TrainJob's objects as conditions of it."""

from jobledger.core.jobs.control.dormancy import is_dormant, is_leaving
from jobledger.core.jobs.control.went_back import is_older_version
from jobledger.core.trainjob.contributions.taking import (
    SOURCES_MAX,
    after_object_gone,
    is_news,
    of_object,
    taken,
    too_many,
)
from jobledger.core.trainjob.events import PluginConditionsObserved, TrainJobEvent
from jobledger.core.trainjob.observations import PluginConditionsSeen
from jobledger.core.trainjob.state import TrainJobState, is_final
from jobledger.core.values.instants import Instant

News = tuple[TrainJobEvent, ...]


def on_plugin_conditions_seen(state: TrainJobState, seen: PluginConditionsSeen) -> News:
    """Return what a plugin newly makes of an object; of a job that has ended nothing is new."""
    manifest, told = state.manifest, seen.contribution
    if is_dormant(state) or is_final(state):
        return ()
    if manifest is None or not manifest.policy.propagates:
        return ()
    known = of_object(state.contributions, told.plugin, told.source.uid)
    if told.source.uid in state.gone or (
        known is not None and is_older_version(told.source.version, known.source.version)
    ):
        return ()
    places = SOURCES_MAX - len(state.contributions)
    one_more = too_many(told)
    if known is None and places <= 0:
        return ()  # said, with the one that has the last place
    beyond = known.refused == one_more.refused if known is not None else places == 1
    now = one_more if beyond else taken(state.conditions, told)
    if not is_news(state.conditions, known, now):
        return ()
    return (PluginConditionsObserved(at=seen.at, contribution=now),)


def on_source_gone(state: TrainJobState, uid: str, at: Instant) -> News:
    """Return what becomes of conditions whose object has gone.

    Those of a job that has ended, or is being deleted with all that it owns, stay as they are.
    """
    if is_final(state) or is_leaving(state):
        return ()
    return tuple(
        PluginConditionsObserved(at=at, contribution=now, gone=True)
        for now in after_object_gone(state.contributions, state.conditions, uid, at)
    )
