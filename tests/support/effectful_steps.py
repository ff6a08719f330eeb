"""Every step that may change something outside this process: generated from the ports.

A step is a public method of a Protocol in `core.ports`. Whatever `HARMLESS` does not excuse counts
as one, so a new method, or a new port, is a crash point until somebody says why it is none.
"""

import importlib
import inspect
import pkgutil
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from unittest.mock import patch

import jobledger.core.ports
from jobledger.adapters.service.effects.carrying_out import EffectTask
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.ports.cluster import Resource
from jobledger.core.ports.event_store import StreamAppend

_READS = "it reads only"
_INSIDE = "it changes this process only, and a process that dies forgets that"

HARMLESS: Mapping[str, str] = {
    "Alarms": _INSIDE,
    "Clock": _READS,
    "Cluster.each": _READS,
    "Cluster.get": _READS,
    "Cluster.list": _READS,
    "EventStore.has": _READS,
    "EventStore.last_position": _READS,
    "EventStore.read_after": _READS,
    "EventStore.read_rest": _READS,
    "EventStore.read_stream": _READS,
    "EventStore.read_streams": _READS,
    "EvidenceStore.get": _READS,
    "Following": _INSIDE,
    "History": _READS,
    "JobEnds": _READS,
    "Leases.current": _READS,
    "ObjectListener": _INSIDE,
    "PendingDecisions": _READS,
    "PodWitness": _READS,
    "RayJobs.info": _READS,
    "RayJobs.log_tail": _READS,
    "Replicas": "it says only who is there; what dies is off the list when its time is over",
    "Snapshots": "nothing follows from one: what is there or is not is folded from the log",
    "Subscription": _INSIDE,
    "Watches": _INSIDE,
}
"""Ports and methods at which a crash leaves nothing half done, with the reason."""

UNUSED: Mapping[str, str] = {
    "Cluster.replace": "the controller patches and applies, it never replaces",
    "EvidenceStore.put": "evidence is captured by threads, which these lives do without",
}
"""Methods that no life may call; with the reason. Once one does, it is a step like all others."""

LOOKS: Mapping[str, str] = {"find_cluster": "it asks the API server only"}
"""Kinds of effects whose act is no step, with the reason."""


def ports() -> dict[str, type]:
    """Return every Protocol of `core.ports` by its name."""
    modules = [
        importlib.import_module(f"{jobledger.core.ports.__name__}.{found.name}")
        for found in pkgutil.iter_modules(jobledger.core.ports.__path__)
    ]
    return {
        name: item
        for module in modules
        for name, item in vars(module).items()
        if inspect.isclass(item)
        and item.__module__ == module.__name__
        and getattr(item, "_is_protocol", False)
    }


def methods(port: type) -> list[str]:
    """Return the public methods of a Protocol."""
    return [
        name
        for name, item in vars(port).items()
        if inspect.isfunction(item) and not name.startswith("_")
    ]


def all_calls() -> set[str]:
    """Return every method of every port as `Port.method`."""
    return {f"{name}.{method}" for name, port in ports().items() for method in methods(port)}


def steps() -> set[str]:
    """Return every step as `Port.method`."""
    return {call for call in all_calls() if not is_harmless(call)} - set(UNUSED)


def is_harmless(call: str) -> bool:
    """Return whether `HARMLESS` excuses a call, or its whole port."""
    return call in HARMLESS or call.partition(".")[0] in HARMLESS


def wanted_points(unseen: Collection[str] = ()) -> set[str]:
    """Return the points that the lives together must hit.

    Every step, and every kind of effect three times: its intent, the act, its outcome. `unseen` are
    kinds of effects that these lives do not bring about.
    """
    found = steps()
    for kind in EffectKind:
        parts = ("intent", "outcome") if kind in LOOKS else ("intent", "act", "outcome")
        if kind.value not in unseen:
            found |= {f"{part} {kind}" for part in parts}
    return found


_doing = threading.local()


@contextmanager
def knowing_effects() -> Iterator[None]:
    """While this is open, `points` can tell on behalf of which effect a port is called."""
    true_call = EffectTask.__call__

    def call(effect_task: EffectTask) -> float | None:
        _doing.kind = effect_task.effect.desired.kind
        try:
            return true_call(effect_task)
        finally:
            _doing.kind = None

    with patch.object(EffectTask, "__call__", call):
        yield


def points(call: str, arguments: Sequence[object], named: Mapping[str, object]) -> list[str]:
    """Return the names of the points that a call of a step hits.

    The step itself; with the resource it writes; each type of event that is appended, with the kind
    of decision it is about; and which intent, act or outcome of an effect it is.
    """
    found = [call]
    for item in (*arguments, *named.values()):
        if isinstance(item, Resource):
            part = "/".join(filter(None, [item.plural, str(named.get("subresource", ""))]))
            found.append(f"{call} {part}")
        elif isinstance(item, list | tuple):
            found += _appended(item)
    kind: EffectKind | None = getattr(_doing, "kind", None)
    if kind is not None:
        found.append(f"act {kind}")
    return list(dict.fromkeys(found))


_OUTCOMES = {"EffectSucceeded", "EffectSuperseded", "EffectFailed"}
"""Which of them it is may depend on what is seen first."""


def _appended(batch: Sequence[object]) -> Iterator[str]:
    for part in batch:
        for event in part.events if isinstance(part, StreamAppend) else ():
            yield f"append {event.type}"
            kind = event.data.get("kind", "")
            if event.type == "EffectRequested":
                yield f"intent {kind}"
            elif event.type in _OUTCOMES:
                yield f"outcome {kind}"
            elif event.type.startswith("Decision"):
                yield f"append {event.type} {kind}"
