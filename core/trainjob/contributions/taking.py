"""Which conditions of a plugin a job takes, and what happens to them when their object is deleted.

A type belongs to the plugin that contributed it first; one that was found on the object, to the
first that contributes to it. There is room for four types besides the controller's own. What is not
taken is said, with the reason.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from jobledger.core.trainjob.conditions import Condition, Conditions, found, with_condition
from jobledger.core.trainjob.contributions.contribution import (
    Contribution,
    OwnedObject,
    RefusedCondition,
)
from jobledger.core.trainjob.phases import CONDITIONS_MAX, OURS
from jobledger.core.values.instants import Instant

Contributions = tuple[Contribution, ...]
"""What was told last of each object by each plugin; the newest last."""

SOURCES_MAX = 32
"""So many objects of a job may give conditions; the last place is for saying that it was one more.
"""
GONE = "ObjectGone"
"""Reason of a condition whose object has gone."""

_ROOM = CONDITIONS_MAX - len(OURS)


def of_object(known: Contributions, plugin: str, uid: str) -> Contribution | None:
    """Return what a plugin told last of an object, or None."""
    return next((one for one in known if (one.plugin, one.source.uid) == (plugin, uid)), None)


def taken(conditions: Conditions, told: Contribution) -> Contribution:
    """Return a contribution with what a job takes of it, and why it does not take the others."""
    accepted: list[Condition] = []
    refused = list(told.refused)
    for new in told.conditions:
        if problem := _problem(conditions, new):
            refused.append(RefusedCondition(problem=problem, type=new.type))
            continue
        conditions = with_condition(conditions, new)
        accepted += [item for item in conditions if item.type == new.type]
    return replace(told, conditions=tuple(accepted), refused=tuple(refused))


def _problem(conditions: Conditions, new: Condition) -> str:
    before = found(conditions, new.type)
    if new.type in OURS:
        return f"the condition {new.type} belongs to the controller"
    if before is not None:
        is_anothers = before.owner not in ("", new.owner)
        return f"it belongs to the plugin {before.owner}" if is_anothers else ""
    if sum(1 for item in conditions if item.type not in OURS) >= _ROOM:
        return f"there is room for {_ROOM} conditions of plugins, and {_ROOM} others were first"
    return ""


def too_many(told: Contribution) -> Contribution:
    """Return that one object more than is looked at would give conditions."""
    problem = f"{SOURCES_MAX - 1} objects of this job give conditions already; no other is taken"
    return replace(told, conditions=(), refused=(RefusedCondition(problem=problem),))


def is_news(conditions: Conditions, known: Contribution | None, now: Contribution) -> bool:
    """Return whether a contribution tells anything that the job does not know."""
    if known is None:
        return bool(now.conditions or now.refused)
    if known.refused != now.refused or _said(known) != _said(now):
        return True
    shown = (found(conditions, item.type) for item in now.conditions)
    return any(item is None or item.owner != now.plugin for item in shown)


def _said(told: Contribution) -> list[tuple[str, str, str, str]]:
    return [(item.type, item.status, item.reason, item.message) for item in told.conditions]


def after_object_gone(
    known: Contributions, conditions: Conditions, uid: str, at: Instant
) -> Iterator[Contribution]:
    """Yield what each plugin's conditions are once the object that they came from has gone.

    They are Unknown: what was last seen is said in the message. One of which another object has
    told since is left as it is.
    """
    newest = {item.type: one for one in known for item in one.conditions}
    for one in known:
        if one.source.uid == uid:
            unknown = tuple(
                _unknown(item, one.source, at)
                for item in conditions
                if newest.get(item.type) is one
            )
            yield replace(one, conditions=unknown, refused=())


def _unknown(item: Condition, source: OwnedObject, at: Instant) -> Condition:
    was = f"{item.status}, {item.reason}" + (f": {item.message}" if item.message else "")
    message = f"{source.kind} {source.name} is gone; it was {was}"
    return replace(item, is_true=False, unknown=True, reason=GONE, message=message, since=at)
