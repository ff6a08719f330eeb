"""How the `.status` of each kind of job is written, and which phases must not be skipped."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from jobledger.core.ports.cluster import RAYJOBS, TRAINJOBS, Resource
from jobledger.core.rayjob.status import status as rayjob
from jobledger.core.trainjob.status import status as trainjob
from jobledger.core.values.documents import Manifest, items, number, text


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusFormat:
    """What is different about the status of one kind of job."""

    resource: Resource
    fields: frozenset[str]
    """Every field that is ours."""
    milestone: Callable[[Manifest], str]
    """Statuses of one milestone that follow each other may go out as one write."""
    words: Callable[[Manifest], str]
    """What the log says was published."""
    is_merged: bool
    """Whether it is written as a merge patch, which replaces lists, and not applied."""


def _phase(status: Manifest) -> str:
    return text(status, "jobDeploymentStatus")


def _conditions(status: Manifest) -> str:
    return ", ".join(
        f"{text(item, 'type')}={text(item, 'status')}" for item in items(status, "conditions")
    )


def _train_milestone(status: Manifest) -> str:
    reasons = [text(item, "reason") for item in items(status, "conditions")]
    jobs = [
        f"{text(item, 'name')}:{bool(number(item, 'active'))}:"
        f"{(number(item, 'ready') or 0) + (number(item, 'succeeded') or 0)}"
        for item in items(status, "jobsStatus")
    ]
    return " ".join([_conditions(status), *reasons, *jobs])


FACES: Mapping[str, StatusFormat] = {
    "RayJob": StatusFormat(
        resource=RAYJOBS,
        fields=rayjob.FIELDS,
        milestone=_phase,
        words=_phase,
        is_merged=False,
    ),
    "TrainJob": StatusFormat(
        resource=TRAINJOBS,
        fields=trainjob.FIELDS,
        milestone=_train_milestone,
        words=_conditions,
        is_merged=True,
    ),
}
"""Kind of job -> its face. A TrainJob's status is merged, as upstream does: its conditions are
one list in one order, whoever wrote them before, and `trainerStatus` is left alone."""

OURS = frozenset().union(*(status_format.fields for status_format in FACES.values()))
"""The fields of every kind."""
