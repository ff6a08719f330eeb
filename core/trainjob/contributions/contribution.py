"""What one plugin makes of one object that a TrainJob owns: the words for it."""

from msgspec import Struct

from jobledger.core.trainjob.conditions import Conditions


class OwnedObject(Struct, frozen=True, kw_only=True):
    """The object that was looked at, in the form that was looked at."""

    kind: str
    """With the group, where the kind alone does not tell."""
    name: str
    uid: str
    version: str = ""
    """Its resourceVersion."""
    generation: int = 0
    """0: its kind does not count it."""


class RefusedCondition(Struct, frozen=True, kw_only=True):
    """A condition that was not taken."""

    problem: str
    type: str = ""
    """As it was answered, cut; empty: the whole answer was of no use."""


class Contribution(Struct, frozen=True, kw_only=True):
    """The conditions that a plugin makes of an object."""

    plugin: str
    source: OwnedObject
    conditions: Conditions = ()
    refused: tuple[RefusedCondition, ...] = ()


def refused_in_words(told: Contribution, refused: RefusedCondition) -> str:
    """Return what was not taken of a plugin's answer, and why."""
    of = f"{told.source.kind} {told.source.name}"
    what = f"the condition {refused.type}" if refused.type else "the answer"
    return f"{what} of the plugin {told.plugin} about {of} was not taken: {refused.problem}"
