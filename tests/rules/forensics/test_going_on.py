"""The account of a job that has not ended: its phase, what it waits for, what was seen last."""

from collections.abc import Callable

import pytest

from jobledger.core.forensics.bundles.dossier import Dossier, reader_of
from jobledger.core.forensics.story.explain import explain
from jobledger.core.forensics.story.going_on import THEN
from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.values.documents import Manifest
from tests.support import batchjobs
from tests.support import rayjob_stories as stories
from tests.support.batch_lives import recorded_job
from tests.support.rayjob_builders import (
    cluster,
    cluster_gone,
    done,
    due,
    faltered,
    manifest,
    manifest_gone,
    poll,
    refused,
    unwritten,
    written,
)
from tests.support.recorded import dossier_of, stored
from tests.support.rows import Step


def told(*story: Step) -> list[str]:
    """Return the sentences of the account."""
    account = explain(dossier_of(story))
    assert account.outcome == "going on"
    return [sentence.text for sentence in account.sentences]


def test_the_phase_and_the_attempt_are_told_with_since_when() -> None:
    first = told(*stories.working())[0]
    assert first.startswith(
        "RayJob ml/train is Running since 2026-11-21T12:00:11Z, in attempt 1 since "
        "2026-11-21T12:00:00Z;"
    )


def test_a_job_that_was_deleted_while_it_was_not_valid_is_told_as_deleted() -> None:
    """Nobody can correct its manifest any more, and it does not go on."""
    story = (
        *stories.working(),
        manifest(60, generation=2, problem="The RayJob spec is invalid: no RayCluster"),
        manifest_gone(),
    )
    account = explain(dossier_of(story))
    assert (account.outcome, account.advice) == ("deleted", "")
    first, second, *_ = (sentence.text for sentence in account.sentences)
    assert first.startswith("RayJob ml/train was deleted at 2026-11-21T12:15:00Z, before it had")
    assert second == (
        "Its manifest was not valid since 2026-11-21T12:01:00Z: "
        "The RayJob spec is invalid: no RayCluster."
    )


def test_a_job_that_was_given_to_another_controller_says_so() -> None:
    """Its phase stays as it is, whatever becomes of what it ran on."""
    elsewhere = manifest(60, generation=2, managed_by="kueue.x-k8s.io/multikueue", finalizer=True)
    first = told(*stories.working(), elsewhere)[0]
    assert "; nothing is done for it while its spec.managedBy is 'kueue.x-k8s.io/mul" in first
    back = told(*stories.working(), elsewhere, manifest(70, generation=3, finalizer=True))[0]
    assert "; it has not ended, " in back


def test_a_job_that_somebodys_finalizer_keeps_is_told_as_one_that_is_being_deleted() -> None:
    """Nothing said why it does not go on."""
    first = told(*stories.working(), manifest(60, deleting=True, finalizer=True))[0]
    assert "; its deletion was asked for at 2026-11-21T12:01:00Z: it goes once " in first


SLIP = "annotation jobledger.dev/backoff-limit is left out: '1000': write a whole number"


@pytest.mark.parametrize("story", [batchjobs.running, batchjobs.failing])
def test_an_annotation_that_is_left_out_is_told(
    story: Callable[..., tuple[batchjobs.Step, ...]],
) -> None:
    """Else it only says that there is no retry, and not that one was asked for."""
    events = stored(recorded_job(story(more={"option_problems": (SLIP,)})))
    found = explain(Dossier(events=events, evidence=reader_of({}), origin="a test"))
    texts = [one.text for one in found.sentences]
    assert f"At 2026-11-21T12:00:00Z its user was told: {SLIP}." in texts


UNSHOWN = (
    "Its status cannot be written since 2026-11-21T12:00:31Z, as of 2026-11-21T12:01:32Z: "
    "403 Forbidden."
)


def test_a_status_that_cannot_be_written_is_told_until_it_is_written() -> None:
    assert UNSHOWN in told(*stories.working(), unwritten(92, since=31))
    account = explain(dossier_of((*stories.succeeded(), unwritten(92, since=31))))
    assert (account.outcome, account.sentences[1].text) == ("complete", UNSHOWN)
    over = told(*stories.working(), unwritten(92, since=31), written("Running", 95))
    assert UNSHOWN not in over
    twice = told(*stories.working(), unwritten(92, since=31), unwritten(192, since=131))
    assert UNSHOWN in twice, "a process that starts anew finds it as it was"


def test_nor_is_it_told_of_a_job_that_is_only_recorded() -> None:
    story = (*stories.working(), manifest(80, recorded="another controls it"))
    before, after = told(*story), told(*story, unwritten(92, since=31))
    assert before == after


def test_what_was_seen_last_is_told_the_latest_first() -> None:
    seen = [text for text in told(*stories.working()) if text.startswith("Seen last")]
    assert seen[0] == "Seen last at 2026-11-21T12:00:30Z: Ray says RUNNING."
    assert seen[-1].endswith("is ready.")


def test_what_a_raycluster_lacks_is_told() -> None:
    waits: Manifest = {
        "type": "HeadPodReady",
        "status": "False",
        "reason": "ContainersNotReady",
        "message": 'Back-off pulling image "train:lates"',
    }
    status: Manifest = {"conditions": [waits], "desiredWorkerReplicas": 4, "readyWorkerReplicas": 1}
    lacking = cluster("", 10, status=status)
    assert any(
        text.endswith(
            "is starting: the head Pod is not ready (ContainersNotReady: Back-off pulling image "
            '"train:lates"); 1 of 4 workers are ready.'
        )
        for text in told(*stories.seen(), *stories.built(), lacking)
    )


def test_what_keeps_a_raycluster_from_being_ready_has_its_class_and_advice() -> None:
    """While the attempt has not run: of one that runs it is no news, and of the past no sign."""
    waits: Manifest = {
        "type": "HeadPodReady",
        "status": "False",
        "reason": "ImagePullBackOff",
        "message": 'Back-off pulling image "train:lates"',
    }
    lacking = cluster("", 10, status={"conditions": [waits]})
    account = explain(dossier_of((*stories.seen(), *stories.built(), lacking)))
    assert (account.outcome, account.failure_class) == ("going on", "image-pull")
    assert account.advice.startswith("check the image's name")
    assert explain(dossier_of(stories.working())).failure_class == ""


def test_a_suspended_job_says_what_it_waits_for() -> None:
    first = told(*stories.suspended())[0]
    assert first.startswith("RayJob ml/train is Suspended since ")
    assert "; it goes on once spec.suspend is false, and its last event is of " in first


def test_nothing_of_an_attempt_before_is_taken_for_the_last_that_was_seen() -> None:
    texts = told(*stories.failed_attempts(1, backoff_limit=1), *stories.built(2))
    assert not [text for text in texts if text.startswith("Seen last")]


def test_of_what_is_due_it_is_told_what_happens_then() -> None:
    texts = told(*stories.seen(pre_running_deadline_seconds=60), *stories.built())
    due = [
        text for text in texts if "deadline until it runs is due at 2026-11-21T12:01:00Z" in text
    ]
    assert due[0].endswith("; then the attempt fails, and is retried if a retry is left.")


def test_every_kind_of_decision_has_its_consequence() -> None:
    assert set(THEN) == set(DecisionKind)


def test_a_silent_program_is_told_by_what_ray_said_last() -> None:
    texts = told(*stories.running(), poll("PENDING", 20))
    assert "Seen last at 2026-11-21T12:00:20Z: Ray says PENDING." in texts


STANDING_BY = (*stories.working(backoff_limit=1), *stories.failing())
GOING_JOB = (
    *batchjobs.failing(backoff_limit=1),
    batchjobs.deleted(61),
    batchjobs.job(62, deleting=True, end=batchjobs.failed_end(), failed=1),
)
GOING = {
    "RayCluster train-": dossier_of((*STANDING_BY, cluster("ready", 60, deleting=True))),
    "Job etl-": Dossier(
        events=stored(recorded_job(GOING_JOB)), evidence=reader_of({}), origin="a test"
    ),
}


@pytest.mark.parametrize("what", GOING)
def test_what_goes_before_the_next_attempt_begins_is_told(what: str) -> None:
    """Somebody's finalizer may keep it for ever; nothing else says why nothing happens."""
    (told,) = (one.text for one in explain(GOING[what]).sentences if "is gone" in one.text)
    assert told.startswith(f"It waits until {what}")
    assert told.endswith("; what stays so is kept by its metadata.finalizers.")


def test_what_has_gone_is_waited_for_no_more() -> None:
    gone = (*STANDING_BY, cluster("ready", 60, deleting=True), cluster_gone(61))
    assert not [text for text in told(*gone) if text.startswith("It waits until")]


QUOTA = 'rayclusters "train" is forbidden: exceeded quota: gpus'
DENIED = 'admission webhook "policy" denied the request: no'
REFUSED = (*stories.seen(), refused(EffectKind.CREATE_CLUSTER, 1, QUOTA))
LIFTED = (
    *REFUSED,
    due(DecisionKind.EFFECT_RETRY),
    done(EffectKind.CREATE_CLUSTER, 12, uid="cluster-1"),
)
OTHERWISE = (
    *REFUSED,
    due(DecisionKind.EFFECT_RETRY),
    faltered(EffectKind.CREATE_CLUSTER, 12, DENIED),
)


@pytest.mark.parametrize(
    ("story", "told_as"),
    [
        (REFUSED, "quota"),
        (
            (*LIFTED, cluster("ready", 14), refused(EffectKind.CREATE_SUBMITTER, 15, DENIED)),
            "admission",
        ),
        (OTHERWISE, "admission"),
    ],
)
def test_the_advice_is_about_what_refuses_now(story: tuple[Step, ...], told_as: str) -> None:
    assert explain(dossier_of(story)).failure_class == told_as


@pytest.mark.parametrize("reply", [refused, faltered])
def test_what_is_left_undone_of_a_job_that_has_ended_is_told(reply: Callable[..., Step]) -> None:
    """Its RayCluster keeps its nodes meanwhile."""
    ended = (*stories.succeeded(shutdown_after_job_finishes=True), due(DecisionKind.TTL_SHUTDOWN))
    account = explain(dossier_of((*ended, reply(EffectKind.DELETE_CLUSTER, 50, DENIED))))
    assert account.outcome == "complete"
    assert account.sentences[1].text.startswith("It waits")
    assert DENIED in account.sentences[1].text
    assert len(explain(dossier_of(ended)).sentences) == 1
