"""The conditions of a TrainJob: setting, merging and ordering them."""

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from jobledger.core.trainjob.phases import CONDITIONS_MAX, CREATED, OURS, TERMINAL
from jobledger.core.values.instants import Instant


class Condition(Struct, frozen=True, kw_only=True):
    """One condition of a TrainJob."""

    type: str
    is_true: bool
    reason: str
    message: str
    since: Instant
    """lastTransitionTime: when the status last changed."""
    owner: str = ""
    """Name of the plugin that contributes it; empty for the controller's own."""
    unknown: bool = False
    """Whether nobody can tell; then it is not True either."""

    @property
    def status(self) -> str:
        """Return True, False or Unknown, as the API has it."""
        if self.unknown:
            return "Unknown"
        return "True" if self.is_true else "False"


Conditions = tuple[Condition, ...]
"""In the order in which they were first set."""


def found(conditions: Conditions, kind: str) -> Condition | None:
    """Return the condition of a type, or None."""
    return next((item for item in conditions if item.type == kind), None)


def is_true(conditions: Conditions, kind: str) -> bool:
    """Return whether there is a condition of a type, and it is True."""
    condition = found(conditions, kind)
    return condition is not None and condition.is_true


def with_condition(conditions: Conditions, new: Condition) -> Conditions:
    """Return the list with `new` in the place of its type, or at the end.

    The time of the last transition stays where the status does, and never goes back, though a
    clock does. Source: apimachinery's SetStatusCondition.
    """
    before = found(conditions, new.type)
    if before is None:
        return (*conditions, new)
    same = before.status == new.status
    new = replace(new, since=before.since if same else max(new.since, before.since))
    return tuple(new if item.type == new.type else item for item in conditions)


def without(conditions: Conditions, kind: str) -> Conditions:
    """Return the list without the condition of a type."""
    return tuple(item for item in conditions if item.type != kind)


def merged(conditions: Conditions, contributed: Iterable[Condition]) -> Conditions:
    """Return the list with what plugins contribute: of logs in which a JobSet's sighting has it.

    Since then a contribution is an event of its own, and what is not taken of it is said
    (`contributions.taking`). What this leaves out stays left out.

    A type belongs to the plugin that contributed it first; one that was found on the object, to
    the first that contributes to it. Contributions of the controller's own types, of another
    plugin's, and beyond what the API server takes are left out; room for the controller's own is
    always kept. A condition that is not True is never added, only flipped.
    """
    for new in contributed:
        before = found(conditions, new.type)
        if new.type in OURS or not new.owner:
            continue
        if before is not None:
            if before.owner in ("", new.owner):
                conditions = with_condition(conditions, new)
            continue
        contributed_by_now = sum(1 for item in conditions if item.type not in OURS)
        if new.is_true and contributed_by_now < CONDITIONS_MAX - len(OURS):
            conditions = (*conditions, new)
    return conditions


def in_seed_order(conditions: Conditions) -> Conditions:
    """Return Created first and the end of the job last; the others as they were first set.

    `kubectl get` shows the type of the last one.
    """

    def place(condition: Condition) -> int:
        if condition.type == CREATED:
            return 0
        return 2 if condition.type in TERMINAL else 1

    return tuple(sorted(conditions, key=place))
