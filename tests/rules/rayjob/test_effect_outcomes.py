"""What the outcome of an effect brings: faltered, refused, superseded, done, found done."""

from jobledger.core.jobs.events import (
    EffectFailed,
    EffectFaltered,
    EffectSucceeded,
    EffectSuperseded,
)
from jobledger.core.jobs.observations import EffectEnded
from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.pending.effects import EffectKind, Outcome
from jobledger.core.jobs.policy import Policy
from jobledger.core.rayjob.decide.decide import RAYJOB
from jobledger.core.values.ids import effect_id_of
from tests.support.rayjob_builders import (
    JOB,
    REFUSAL,
    after,
    cluster,
    cluster_gone,
    cluster_of,
    done,
    due,
    faltered,
    manifest,
    named,
    outdated,
    poll,
    refused,
    submitter,
    submitter_gone,
)
from tests.support.rayjob_events import asked, cancelled, fired, received, scheduled
from tests.support.rayjob_stories import failing, initializing, running, seen, working
from tests.support.rows import THIS_EFFECT, WHEN, Outlook, Row, check, check_outlook, table

CREATE = EffectKind.CREATE_CLUSTER
RETRY = DecisionKind.EFFECT_RETRY
SUBJECT = f"create_cluster/{cluster_of()}"
WHY = f"create_cluster was refused: {REFUSAL}"
STRANGER = named(
    EffectEnded(
        id=manifest().id,
        at=after(5),
        effect_id=effect_id_of(manifest().id, "create_cluster", "another"),
        outcome=Outcome.SUCCEEDED,
    )
)


def trouble(text: str) -> EffectFaltered:
    """Return that the creation of the RayCluster met trouble."""
    return EffectFaltered(
        at=WHEN, effect_id=THIS_EFFECT, kind=CREATE, name=cluster_of(), trouble=text
    )


REFUSED = EffectFailed(
    at=WHEN, effect_id=THIS_EFFECT, kind=CREATE, name=cluster_of(), trouble=REFUSAL
)
EDITED = manifest(5, generation=2, backoff_limit=1, finalizer=True)


@table(
    Row(
        rule="the first trouble of an effect is written down; it goes on being tried",
        given=seen(),
        when=faltered(CREATE, 1),
        then=(trouble("503 try later"),),
    ),
    Row(
        rule="the same trouble again is no news",
        given=(*seen(), faltered(CREATE, 1)),
        when=faltered(CREATE, 2),
    ),
    Row(
        rule="another kind of trouble is news",
        given=(*seen(), faltered(CREATE, 1)),
        when=faltered(CREATE, 2, "connection reset"),
        then=(trouble("connection reset"),),
    ),
    Row(
        rule="a refusal is followed by a decision to try again after a pause",
        given=seen(),
        when=refused(CREATE, 2),
        then=(REFUSED, scheduled(RETRY, 12, WHY, subject=SUBJECT)),
    ),
    Row(
        rule="when the pause is over the same thing is asked for again",
        given=(*seen(), refused(CREATE, 2)),
        when=due(RETRY),
        then=(fired(RETRY, 12, subject=SUBJECT), asked(CREATE, cluster_of())),
    ),
    Row(
        rule="the pause doubles with every refusal in a row",
        given=(*seen(), refused(CREATE, 2), due(RETRY)),
        when=refused(CREATE, 13),
        then=(REFUSED, scheduled(RETRY, 33, WHY, subject=SUBJECT)),
    ),
    Row(
        rule="a new specification is tried at once, whatever was refused before",
        given=(*seen(), refused(CREATE, 2)),
        when=EDITED,
        then=(
            received(EDITED),
            asked(CREATE, cluster_of(), generation=2),
            cancelled(RETRY, "the job is Initializing, Ray says nothing"),
        ),
    ),
    Row(
        rule="what was decided on an older specification is asked for again on the newer",
        given=(*seen(), EDITED),
        when=outdated(CREATE, 6),
        then=(
            EffectSuperseded(
                at=WHEN,
                effect_id=THIS_EFFECT,
                kind=CREATE,
                name=cluster_of(),
                cause="the specification has changed since",
                sent=False,
            ),
            asked(CREATE, cluster_of(), generation=2),
        ),
    ),
    Row(
        rule="the outcome of an effect that is not open is no news",
        given=seen(),
        when=STRANGER,
    ),
)
def test_effect_outcomes(row: Row) -> None:
    check(RAYJOB, row)


@table(
    Outlook(
        rule="users see why a RayCluster is refused",
        story=(*seen(), refused(CREATE, 2)),
        status={"jobDeploymentStatus": "Initializing", "message": REFUSAL},
        under_way=[],
        pending={"effect_retry": 12},
    ),
    Outlook(
        rule="and see it no more once it was made",
        story=(
            *seen(),
            refused(CREATE, 2),
            due(RETRY),
            done(CREATE, 13, uid="cluster-1"),
        ),
        status={"message": None},
        facts={"refused": ()},
        pending={},
    ),
    Outlook(
        rule="the pause never exceeds five minutes",
        story=(
            *seen(),
            *(step for _ in range(12) for step in (refused(CREATE, 2), due(RETRY))),
            refused(CREATE, 2),
        ),
        pending={"effect_retry": 302},
    ),
    Outlook(
        rule="a submitter that is refused is tried again like a RayCluster",
        story=(
            *initializing(),
            cluster("ready"),
            refused(EffectKind.CREATE_SUBMITTER, 11),
            due(RETRY),
        ),
        under_way=[f"create_submitter {JOB}"],
    ),
    Outlook(
        rule="a deletion that is refused keeps the job in Retrying, its failure on show",
        story=(
            *working(backoff_limit=1),
            *failing(),
            refused(EffectKind.DELETE_CLUSTER, 43),
        ),
        status={"jobDeploymentStatus": "Retrying", "message": "ValueError: 42"},
        pending={"retry": 42, "effect_retry": 53},
    ),
    Outlook(
        rule="a refused deletion is tried again",
        story=(
            *working(backoff_limit=1),
            *failing(),
            refused(EffectKind.DELETE_CLUSTER, 43),
            due(RETRY),
        ),
        under_way=[f"delete_submitter {JOB}", f"delete_cluster {cluster_of()}"],
    ),
    Outlook(
        rule="a creation that is open while the cluster was seen stays open until it is told",
        story=(*seen(), cluster("")),
        under_way=[f"create_cluster {cluster_of()}"],
    ),
    Outlook(
        rule="a deletion that the watch told of first stays open until it is told",
        story=(*working(backoff_limit=1), *failing(), cluster("ready", 43, deleting=True)),
        under_way=[f"delete_cluster {cluster_of()}", f"delete_submitter {JOB}"],
    ),
    Outlook(
        rule="so does one whose object the watch shows to be gone; the next attempt waits for none",
        story=(
            *working(backoff_limit=1),
            *failing(),
            cluster_gone(43),
            submitter_gone(43),
            due(DecisionKind.RETRY),
        ),
        status={"jobDeploymentStatus": "Initializing"},
        under_way=[
            f"delete_cluster {cluster_of()}",
            f"delete_submitter {JOB}",
            f"create_cluster {cluster_of(2)}",
        ],
    ),
    Outlook(
        rule="so that whose deletion it was is told, though the watch was quicker",
        story=(
            *working(backoff_limit=1),
            *failing(),
            cluster_gone(43),
            done(EffectKind.DELETE_CLUSTER, 44, uid="cluster-1"),
        ),
        under_way=[f"delete_submitter {JOB}"],
        said=[EffectSucceeded],
    ),
    Outlook(
        rule="a submitter that was made meanwhile is not gone with the one that was to be deleted",
        story=(
            *working(backoff_limit=1),
            *failing(),
            submitter("Failed", 43, uid="submitter-again"),
            done(EffectKind.DELETE_SUBMITTER, 44, uid="submitter-1", gone=True),
            done(EffectKind.DELETE_CLUSTER, 45, uid="cluster-1", gone=True),
            due(DecisionKind.RETRY),
        ),
        under_way=[f"delete_submitter {JOB}"],
        status={"jobDeploymentStatus": "Retrying"},
    ),
    Outlook(
        rule="nor is it being deleted because the one before it is",
        story=(
            *working(backoff_limit=1),
            *failing(),
            submitter("Failed", 43, uid="submitter-again"),
            done(EffectKind.DELETE_SUBMITTER, 44, uid="submitter-1"),
            done(EffectKind.DELETE_CLUSTER, 45, uid="cluster-1", gone=True),
            due(DecisionKind.RETRY),
        ),
        under_way=[f"delete_submitter {JOB}"],
        status={"jobDeploymentStatus": "Retrying"},
    ),
    Outlook(
        rule="a finalizer that the watch told of first is not dropped",
        story=(manifest(), manifest(1, finalizer=True)),
        under_way=["add_finalizer rayjob", f"create_cluster {cluster_of()}"],
    ),
    Outlook(
        rule="Ray's message takes the place of an older refusal",
        story=(
            manifest(),
            done(CREATE, 1, uid="cluster-1"),
            refused(EffectKind.ADD_FINALIZER, 2, "webhook says no"),
            cluster("ready"),
            done(EffectKind.CREATE_SUBMITTER, 11, uid="submitter-1"),
            poll("RUNNING", message="half way"),
        ),
        status={"message": "half way", "jobDeploymentStatus": "Running"},
    ),
    Outlook(
        rule="a refusal while running does not take the place of Ray's message",
        story=(
            manifest(),
            done(CREATE, 1, uid="cluster-1"),
            cluster("ready"),
            done(EffectKind.CREATE_SUBMITTER, 11, uid="submitter-1"),
            poll("RUNNING", message="half way"),
            refused(EffectKind.ADD_FINALIZER, 40, "webhook says no"),
        ),
        status={"message": "half way"},
        pending={"effect_retry": 50},
    ),
    Outlook(
        rule="an edit that changes nothing of the specification tries nothing again",
        story=(*running(), manifest(60, finalizer=True, policy=Policy(effect_retry_seconds=20))),
        said=[type(received())],
        under_way=[],
    ),
)
def test_after_outcomes(row: Outlook) -> None:
    check_outlook(RAYJOB, row)
