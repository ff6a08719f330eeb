"""Asks a plugin what it makes of an object, and keeps of the answer what a condition can be.

The limits of types, reasons and messages are those of metav1.Condition; one condition that the API
server refuses would keep the whole status back.
"""

import re
from collections.abc import Iterator
from datetime import datetime
from itertools import islice

from jobledger.core.log.storable import storable_text
from jobledger.core.trainjob.building.framework import Plugin, PluginCondition
from jobledger.core.trainjob.conditions import Condition
from jobledger.core.trainjob.contributions.contribution import (
    Contribution,
    OwnedObject,
    RefusedCondition,
)
from jobledger.core.trainjob.phases import OURS
from jobledger.core.values.documents import Manifest
from jobledger.core.values.instants import Instant

ANSWERS_MAX = 8
"""So many conditions of one answer are looked at; a TrainJob takes no more."""
MESSAGE_MAX = 1000
"""How much of a message is kept."""
MESSAGE_TAKEN_MAX = 32_768
"""A longer one is no message of a condition."""
ERROR_MAX = 200
"""How much of what a plugin raises is kept."""
SHOWN_MAX = 80
"""How much of a wrong word is shown."""
STATUSES = ("True", "False", "Unknown")

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_TYPE = re.compile(rf"({_LABEL}(\.{_LABEL})*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])")
_TYPE_MAX = 316
_REASON = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?")
_REASON_MAX = 1024


def asked(
    plugin: Plugin, job: Manifest, observed: Manifest, source: OwnedObject, at: Instant
) -> Contribution:
    """Return what a plugin makes of an object; it raises nothing, whatever the plugin does.

    Args:
        plugin: Whom to ask.
        job: The TrainJob, redacted.
        observed: The object, redacted.
        source: Which object that is.
        at: When it was seen: since when a condition is so, where the plugin does not say.
    """
    try:
        answered = list(islice(plugin.conditions(job, observed), ANSWERS_MAX + 1))
        return _sorted_out(plugin, answered, source, at)
    except Exception as error:  # noqa: BLE001 another's plugin must not keep the object from being seen
        return unanswered(plugin.name, source, f"it fails: {_told(error)}")


def _told(error: Exception) -> str:
    try:
        said = " ".join(str(error).split())
    except Exception:  # noqa: BLE001 their own exception may fail as well
        said = ""
    return f"{type(error).__name__}: {said}"[:ERROR_MAX] if said else type(error).__name__


def _sorted_out(
    plugin: Plugin, answered: list[PluginCondition], source: OwnedObject, at: Instant
) -> Contribution:
    taken: dict[str, Condition] = {}
    refused = []
    for item in answered[:ANSWERS_MAX]:
        problem = _problem(plugin, item, taken)
        if problem is not None:
            refused.append(problem)
        else:
            taken[item.type] = _condition(plugin, item, at)
    if len(answered) > ANSWERS_MAX:
        refused.append(RefusedCondition(problem=f"it gives more than {ANSWERS_MAX} conditions"))
    return Contribution(
        plugin=plugin.name,
        source=source,
        conditions=tuple(taken.values()),
        refused=tuple(refused),
    )


def unanswered(plugin: str, source: OwnedObject, problem: str) -> Contribution:
    """Return that a plugin has given no answer, and why."""
    refused = (RefusedCondition(problem=problem),)
    return Contribution(plugin=plugin, source=source, refused=refused)


def _condition(plugin: Plugin, item: PluginCondition, at: Instant) -> Condition:
    message = storable_text(item.message)
    if len(message) > MESSAGE_MAX:
        message = f"{message[: MESSAGE_MAX - 1]}…"
    return Condition(
        type=item.type,
        is_true=item.status == "True",
        unknown=item.status == "Unknown",
        reason=item.reason,
        message=message,
        since=at if item.since is None else min(item.since, at),
        owner=plugin.name,
    )


def _problem(plugin: Plugin, item: object, taken: dict[str, Condition]) -> RefusedCondition | None:
    """Return why an answer is none that can be taken; None if it can."""
    if not isinstance(item, PluginCondition):
        return RefusedCondition(problem=f"it gives {type(item).__name__} in place of a condition")
    if problem := type_problem(item.type):
        return RefusedCondition(problem=problem, type=_shown(item.type))
    problem = next(_problems(plugin, item, taken), "")
    return RefusedCondition(problem=problem, type=item.type) if problem else None


def _problems(plugin: Plugin, item: PluginCondition, taken: dict[str, Condition]) -> Iterator[str]:
    if item.type not in plugin.condition_types:
        yield "it is not among the condition_types that the plugin declares"
    if item.type in taken:
        yield "it is given twice"
    if item.status not in STATUSES:
        yield f"{_quoted(item.status)} is no status: it is True, False or Unknown, as a text"
    if not (_is_text(item.reason, _REASON_MAX) and _REASON.fullmatch(item.reason)):
        yield f"{_quoted(item.reason)} is no reason: it is one word, as PodsPending"
    if not _is_text(item.message, MESSAGE_TAKEN_MAX):
        yield f"its message is no text of at most {MESSAGE_TAKEN_MAX} characters"
    if not _is_instant_or_none(item.since):
        yield "its `since` is no instant with a time zone"


def _is_text(value: object, most: int) -> bool:
    return isinstance(value, str) and len(value) <= most


def _is_instant_or_none(value: object) -> bool:
    return value is None or (isinstance(value, datetime) and value.utcoffset() is not None)


def type_problem(kind: object) -> str:
    """Return why a type of a condition is none that a plugin may write; empty if it may."""
    if not isinstance(kind, str) or len(kind) > _TYPE_MAX or not _TYPE.fullmatch(kind):
        return f"{_quoted(kind)} is no type of a condition: it is a name, as GangScheduled"
    if kind in OURS:
        return f"the condition {kind} belongs to the controller"
    return ""


def _quoted(value: object) -> str:
    return repr(_shown(value)) if isinstance(value, str) else f"a {type(value).__name__}"


def _shown(value: object) -> str:
    if not isinstance(value, str):
        return ""
    cut = storable_text(value[:SHOWN_MAX])
    return cut if len(value) <= SHOWN_MAX else f"{cut}…"
