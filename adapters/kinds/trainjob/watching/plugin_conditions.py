"""Asks plugins of others what they make of objects that TrainJobs own, and bounds what they cost.

A plugin gets a redacted copy of what the watch told. It has a limited time: a thread of its own
answers, and one that goes on is stopped and its answer is not waited for. So whatever a plugin
does, it takes from others a few seconds in all, and from its own job a condition.
"""

import ctypes
import hashlib
import threading
from collections.abc import Callable, Iterator
from functools import lru_cache

import msgspec
from msgspec.structs import replace

from jobledger.adapters.kinds.trainjob.installation import TrainInstallation
from jobledger.adapters.service.objects.object_cache import CachedJob, kept_as
from jobledger.adapters.service.observing.mapper import MESSAGE_CHARACTERS_MAX, ObservationMapper
from jobledger.adapters.telemetry.logging import get_logger
from jobledger.adapters.telemetry.metrics import Metrics
from jobledger.core.catalogue import JobEvent
from jobledger.core.log.redaction.redact import Redactor
from jobledger.core.trainjob.building.framework import Plugin
from jobledger.core.trainjob.building.runtimes import trainjob_owner
from jobledger.core.trainjob.contributions.answers import asked, unanswered
from jobledger.core.trainjob.contributions.contribution import Contribution, OwnedObject
from jobledger.core.trainjob.events import PluginConditionsObserved
from jobledger.core.trainjob.observations import PluginConditionsSeen
from jobledger.core.values.documents import Json, Manifest, child, number, text
from jobledger.core.values.ids import observation_id
from jobledger.core.values.instants import Instant

log = get_logger(__name__)

ANSWER_SECONDS = 5.0
"""How long an answer is waited for."""
OVERDUE_MAX = 3
"""Of so many jobs a plugin may owe an answer; then it is not asked any more."""
OBJECT_BYTES_MAX = 1024 * 1024
"""Larger objects are shown to no plugin."""
REFUSALS_MAX = 1000
"""How many refused conditions are remembered as said."""

THREAD = "plugin-conditions"
"""Name of the threads in which plugins answer."""

_OURS = "jobledger."


class PluginConditions:
    """What plugins make of objects; keeps who owes an answer. Called by one thread at a time."""

    def __init__(self) -> None:
        self._overdue: dict[str, set[str]] = {}
        """Plugin -> UIDs of jobs of which it has not answered in time."""

    def about(
        self, mapper: ObservationMapper, job: CachedJob, kind: str, manifest: Manifest, at: Instant
    ) -> Iterator[PluginConditionsSeen]:
        """Yield what each plugin makes of an object; of one that is not the job's, nothing."""
        plugins = [
            plugin
            for plugin in mapper.of(TrainInstallation).plugins
            if any(kept_as(one) == kind for one in plugin.conditions_from)
        ]
        if (
            not plugins
            or not mapper.of(TrainInstallation).policy.propagates
            or not _is_its(job, manifest)
        ):
            return
        source = _source(kind, manifest)
        for plugin in plugins:
            told = _redacted(self._of_plugin(plugin, job, manifest, source, at), job.redactor)
            stream = job.identity.stream_id
            mark = hashlib.sha256(repr((told.conditions, told.refused)).encode()).hexdigest()[:8]
            words = (plugin.name, source.uid, source.version, mark)
            name = observation_id(stream, "plugin conditions", *words)
            yield PluginConditionsSeen(id=name, at=at, contribution=told)

    def _of_plugin(
        self, plugin: Plugin, job: CachedJob, manifest: Manifest, source: OwnedObject, at: Instant
    ) -> Contribution:
        packed = msgspec.json.encode(manifest)
        if len(packed) > OBJECT_BYTES_MAX:
            problem = f"the object is larger than {OBJECT_BYTES_MAX} bytes"
            return unanswered(plugin.name, source, problem)
        own = _shown(job.manifest, job.redactor)
        observed = _shown(msgspec.json.decode(packed), job.redactor)

        def answer() -> Contribution:
            return asked(plugin, own, observed, source, at)

        if type(plugin).__module__.startswith(_OURS):
            return answer()
        overdue = self._overdue.setdefault(plugin.name, set())
        late = f"it gives no answer ({ANSWER_SECONDS:g} s are waited)"
        if len(overdue) >= OVERDUE_MAX:
            problem = f"{late} about {OVERDUE_MAX} jobs; it is asked again after a restart"
            return unanswered(plugin.name, source, problem)
        uid = job.identity.uid
        found = None if uid in overdue else _in_time(answer, ANSWER_SECONDS)
        if found is None:
            overdue.add(uid)
            problem = f"{late}; it is asked about this job again after a restart"
            return unanswered(plugin.name, source, problem)
        return found


def _in_time(answer: Callable[[], Contribution], limit_seconds: float) -> Contribution | None:
    """Return an answer; None if there is none in time. Its thread is stopped then, if it can be."""
    found: list[Contribution] = []

    def answering() -> None:
        try:
            found.append(answer())
        except BaseException:  # noqa: BLE001 it leaves its thread, or was told to stop
            return

    thread = threading.Thread(target=answering, name=THREAD, daemon=True)
    thread.start()
    thread.join(limit_seconds)
    if thread.is_alive():
        stop = ctypes.py_object(SystemExit)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), stop)
        return None
    return found[0] if found else None


def _is_its(job: CachedJob, manifest: Manifest) -> bool:
    """Return whether an object is the job's: a job is known by UID, but belongs to a namespace."""
    namespace = text(manifest, "metadata", "namespace")
    return trainjob_owner(manifest) == job.identity.uid and namespace == job.identity.namespace


def _source(kind: str, manifest: Manifest) -> OwnedObject:
    metadata = child(manifest, "metadata")
    return OwnedObject(
        kind=kind,
        name=text(metadata, "name"),
        uid=text(metadata, "uid"),
        version=text(metadata, "resourceVersion"),
        generation=number(metadata, "generation") or 0,
    )


def _shown(manifest: Manifest, redactor: Redactor) -> Manifest:
    """Return what a plugin sees of an object: no secrets, and nobody's bookkeeping."""
    metadata: dict[str, Json] = {
        key: value for key, value in child(manifest, "metadata").items() if key != "managedFields"
    }
    return redactor.manifest({**manifest, "metadata": metadata}, None)


def _redacted(told: Contribution, redactor: Redactor) -> Contribution:
    def clean(written: str) -> str:
        return redactor.text(written, MESSAGE_CHARACTERS_MAX)

    return replace(
        told,
        conditions=tuple(replace(item, message=clean(item.message)) for item in told.conditions),
        refused=tuple(
            replace(one, problem=clean(one.problem), type=clean(one.type)) for one in told.refused
        ),
    )


def note_refused(metrics: Metrics, event: JobEvent) -> None:
    """Count and log what was not taken of a plugin's conditions, once it is written down."""
    if not isinstance(event, PluginConditionsObserved):
        return
    told = event.contribution
    for one in told.refused:
        metrics.plugin_conditions_refused.labels(told.plugin).inc()
        say_refused(told.plugin, one.type, one.problem)


@lru_cache(maxsize=REFUSALS_MAX)
def say_refused(plugin: str, condition: str, problem: str) -> None:
    """Log what was not taken: once per process, not for every job."""
    log.warning("plugin_condition_refused", plugin=plugin, condition=condition, problem=problem)
