"""What a RayJob calls for again and again, refused or done, waits longer each time."""

import pytest

from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.rayjob.decide.decide import RAYJOB
from jobledger.core.rayjob.observations.observations import SeenStatus
from tests.support.rayjob_builders import (
    after,
    cluster,
    cluster_gone,
    done,
    due,
    manifest,
    outdated,
    refused,
    submission_of,
)
from tests.support.rayjob_stories import seen
from tests.support.rows import Outlook, Step, check_outlook, table

FIND, CREATE = EffectKind.FIND_CLUSTER, EffectKind.CREATE_CLUSTER
FINALIZER = EffectKind.ADD_FINALIZER
RETRY = DecisionKind.EFFECT_RETRY
MISSING = "RayCluster ml/shared is not found"
INITIALIZING = SeenStatus(
    phase="Initializing", cluster_name="shared", job_id=submission_of(), started_at=after(-60)
)


def adopted() -> tuple[Step, ...]:
    """Return a job whose status already names a selected RayCluster that nobody has."""
    return (manifest(cluster_selector="shared", finalizer=True, status=INITIALIZING),)


def comes_and_goes(times: int) -> tuple[Step, ...]:
    """Return that the RayCluster is made, and deleted by somebody before it is ready."""
    steps: list[Step] = []
    for number in range(times):
        uid, at = f"made-{number}", 10.0 + number
        steps += [done(CREATE, at, uid=uid), cluster("", at, uid=uid), cluster_gone(at, uid=uid)]
    return tuple(steps)


@table(
    Outlook(
        rule="a selected RayCluster that an adopted job names and nobody has is asked for later",
        story=(*adopted(), refused(FIND, 1, MISSING)),
        under_way=(),
        pending={"effect_retry": 11},
        status={"message": MISSING},
    ),
    Outlook(
        rule="and later still each time",
        story=(*adopted(), refused(FIND, 1, MISSING), due(RETRY), refused(FIND, 11.5, MISSING)),
        under_way=(),
        pending={"effect_retry": 31.5},
    ),
    Outlook(
        rule="one that is there is known by the answer, and not asked for again",
        story=(*adopted(), done(FIND, 1, uid="uid-of-shared")),
        under_way=(),
        pending={},
    ),
    Outlook(
        rule="an answer without a UID does not make it known, and is not asked for without end",
        story=(*adopted(), *(done(FIND, n, uid="") for n in range(1, 5))),
        under_way=(),
        pending={"effect_retry": 14},
    ),
    Outlook(
        rule="what was decided on a specification that is not there waits for it",
        story=(*seen(), outdated(CREATE, 2)),
        under_way=(),
        pending={"effect_retry": 12},
    ),
    Outlook(
        rule="it is decided anew as soon as that is there",
        story=(*seen(), outdated(CREATE, 2), manifest(3, generation=2)),
        under_way=("add_finalizer rayjob", f"create_cluster {cluster().name}"),
        pending={},
    ),
    Outlook(
        rule="a finalizer that somebody takes away again and again is put back later each time",
        story=(
            manifest(),
            *(
                step
                for n in range(2, 10, 2)
                for step in (
                    done(FINALIZER, n),
                    manifest(n + 0.5, finalizer=True),
                    manifest(n + 1),
                )
            ),
        ),
        under_way=(f"create_cluster {cluster().name}",),
        pending={"effect_retry": 18},
    ),
    Outlook(
        rule="a RayCluster that somebody deletes before it is ready is made again three times",
        story=(*seen(), *comes_and_goes(3)),
        under_way=(f"create_cluster {cluster().name}",),
        pending={},
    ),
    Outlook(
        rule="and then after a pause",
        story=(*seen(), *comes_and_goes(4)),
        under_way=(),
        pending={"effect_retry": 23},
    ),
    Outlook(
        rule="but at once, if the last was made from a specification that has changed since",
        story=(
            *seen(),
            *comes_and_goes(3),
            manifest(11.5, generation=2, finalizer=True),
            *comes_and_goes(4)[-3:],
        ),
        under_way=(f"create_cluster {cluster().name}",),
        pending={},
    ),
    Outlook(
        rule="and what was made from another specification is not counted",
        story=(
            *seen(),
            *comes_and_goes(3),
            manifest(11.5, generation=2, finalizer=True),
            *comes_and_goes(5)[-6:],
        ),
        under_way=(f"create_cluster {cluster().name}",),
        pending={},
    ),
)
def test_repetitions(row: Outlook) -> None:
    check_outlook(RAYJOB, row)


@pytest.mark.parametrize("times", [1, 2, 5])
def test_how_often_it_was_in_vain_is_in_the_log(times: int) -> None:
    """A restart folds the log, so it counts on where it stopped."""
    story: tuple[Step, ...] = adopted()
    for _ in range(times):
        story = (*story, refused(FIND, 1, MISSING), due(RETRY))
    row = Outlook(
        rule="counted on",
        story=(*story, refused(FIND, 1000, MISSING)),
        pending={"effect_retry": 1000 + min(10 * 2**times, 300)},
    )
    check_outlook(RAYJOB, row)
