"""What `kubectl describe trainjob` tells: upstream's Kubernetes Events, and a few of ours."""

from uuid import UUID

import pytest

from jobledger.core.jobs import events as shared
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.jobs.status.kubernetes_events import KubernetesEvent
from jobledger.core.trainjob.events import TrainJobEvent
from jobledger.core.trainjob.status.kubernetes_events import kubernetes_events
from jobledger.core.values.ids import EffectId
from tests.support import trainjob_events as told
from tests.support.trainjobs import IDENTITY, after

BUILD = "TrainJob resources reconciliation failed: "


def warning(reason: str, action: str, note: str) -> KubernetesEvent:
    return KubernetesEvent("Warning", reason, action, note)


def refused(kind: EffectKind) -> shared.EffectFailed:
    effect = EffectId(UUID(int=7))
    return shared.EffectFailed(at=after(0), effect_id=effect, kind=kind, name="train", trouble="no")


@pytest.mark.parametrize(
    ("event", "shown"),
    [
        (
            told.not_built("plugin torch: no"),
            (
                warning(
                    "TrainJobResourcesCreationFailed", "Reconciling", f"{BUILD}plugin torch: no"
                ),
            ),
        ),
        (
            told.not_created("JobSet ml/train: no"),
            (
                warning(
                    "TrainJobResourcesCreationFailed", "Reconciling", f"{BUILD}JobSet ml/train: no"
                ),
            ),
        ),
        (
            told.failed("DeadlineExceeded", message="too late", ended_at=after(60)),
            (warning("TrainJobFailed", "Fail", "DeadlineExceeded: too late"),),
        ),
        (
            told.vanished(),
            (
                warning(
                    "JobSetLost",
                    "Watch",
                    "JobSet train is gone, and its deletion was not asked for here",
                ),
            ),
        ),
        (told.vanished(asked=True), ()),
        (
            refused(EffectKind.DELETE_JOBSET),
            (warning("JobSetDeletionFailed", "Delete", "Failed to delete JobSet ml/train: no"),),
        ),
        (refused(EffectKind.APPLY_OBJECTS), ()),
        (told.started(), ()),
        (
            told.started(2, cause="restarted"),
            (
                KubernetesEvent(
                    "Normal", "AttemptStarted", "Start", "Attempt 2 began: the JobSet was restarted"
                ),
            ),
        ),
        (told.complete(), ()),
    ],
    ids=[
        "a build that failed",
        "a creation that failed",
        "the failure",
        "a JobSet that somebody deleted",
        "one that was deleted here",
        "one that could not be deleted",
        "what is told as a creation that failed",
        "the first attempt",
        "a later one",
        "the success",
    ],
)
def test_what_users_are_told(event: TrainJobEvent, shown: tuple[KubernetesEvent, ...]) -> None:
    assert kubernetes_events(IDENTITY, event) == shown
