"""Complete and Failed are final (invariant 4): nothing leaves them, only clean-up follows."""

import pytest

from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.rayjob.decide.decide import RAYJOB
from jobledger.core.rayjob.ending import is_open
from jobledger.core.rayjob.phases import FINAL
from jobledger.core.rayjob.status.status import status
from tests.support.rayjob_builders import (
    cluster,
    cluster_gone,
    done,
    due,
    interrupted,
    manifest,
    not_found,
    poll,
    refused,
    silence,
    submitter,
    submitter_gone,
)
from tests.support.rayjob_stories import Story, failing, initializing, succeeded, working
from tests.support.rows import Outlook, Step, check_outlook, play, table

ENDS: dict[str, Story] = {
    "Complete": succeeded(),
    "Failed": (*working(), *failing()),
}
NEWS: dict[str, Step] = {
    "another answer of the head": poll("FAILED", 60, message="after all"),
    "a running Ray job": poll("RUNNING", 60),
    "an unknown Ray job": not_found(60),
    "a silent head": silence(60),
    "a failed submitter": submitter("Failed", 60),
    "a submitter that goes": submitter_gone(60),
    "a RayCluster that is no longer ready": cluster("failed", 60),
    "an invalid edit": manifest(60, generation=2, problem="bad", finalizer=True),
    "a suspension": manifest(60, generation=2, suspend=True, finalizer=True),
    "a higher limit": manifest(60, generation=2, backoff_limit=9, finalizer=True),
    "a passed deadline": manifest(60, generation=2, active_deadline_seconds=1, finalizer=True),
    "a gap in what was seen": interrupted(50, 60),
    "a RayCluster that goes": cluster_gone(60),
}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("news", NEWS)
def test_no_news_changes_what_is_final(end: str, news: str) -> None:
    before = status(play(RAYJOB, ENDS[end]).state)
    after = status(play(RAYJOB, (*ENDS[end], NEWS[news])).state)
    of_the_job = ("jobDeploymentStatus", "jobStatus", "reason", "message", "endTime", "failed")
    assert {name: after.get(name) for name in of_the_job} == {
        name: before.get(name) for name in of_the_job
    }


@pytest.mark.parametrize("end", ENDS)
def test_a_job_without_shutdown_is_closed_when_it_ends(end: str) -> None:
    state = play(RAYJOB, ENDS[end]).state
    assert state.phase in FINAL
    assert not is_open(state)


QUOTA = (
    *initializing(active_deadline_seconds=60)[:-1],
    refused(EffectKind.CREATE_CLUSTER, 2),
)


@table(
    Outlook(
        rule="what was refused before the end is forgotten with it: nothing is tried again",
        story=(*QUOTA, due(DecisionKind.ACTIVE_DEADLINE, looked=False)),
        status={"jobDeploymentStatus": "Failed", "reason": "DeadlineExceeded"},
        under_way=[],
        pending={},
        facts={"refused": ()},
    ),
    Outlook(
        rule="a refused clean-up does not become the reason of the job's end",
        story=(
            *working(shutdown_after_job_finishes=True),
            *failing(),
            due(DecisionKind.TTL_SHUTDOWN),
            refused(EffectKind.DELETE_CLUSTER, 50),
        ),
        status={
            "jobDeploymentStatus": "Failed",
            "reason": "AppFailed",
            "message": "ValueError: 42",
        },
        pending={"effect_retry": 60},
    ),
    Outlook(
        rule="a finalizer that is still being added when the job ends is left alone",
        story=(
            manifest(active_deadline_seconds=60),
            done(EffectKind.CREATE_CLUSTER, uid="cluster-1"),
            due(DecisionKind.ACTIVE_DEADLINE, looked=False),
        ),
        under_way=[],
        pending={},
    ),
)
def test_ends(row: Outlook) -> None:
    check_outlook(RAYJOB, row)


def test_a_job_that_failed_while_something_was_refused_is_closed() -> None:
    story = (*QUOTA, due(DecisionKind.ACTIVE_DEADLINE, looked=False))
    assert not is_open(play(RAYJOB, story).state)
