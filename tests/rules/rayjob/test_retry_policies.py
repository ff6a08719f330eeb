"""A failure of a job with a retry policy: its Pods are looked at, then the retry rule judges."""

from msgspec.structs import replace

from jobledger.core.jobs.events import AnnotationsRejected
from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.jobs.policy import Policy
from jobledger.core.jobs.retries.failures import FailureClass
from jobledger.core.jobs.retries.options import Answer, RetryOptions, RetryRule
from jobledger.core.rayjob.decide.decide import RAYJOB
from jobledger.core.rayjob.events.lifecycle import (
    AttemptFailed,
    FailureNoticed,
    HeadPodVanished,
    JobDiscovered,
    JobFailed,
    PodsObserved,
    RetryGranted,
    RetryRefused,
)
from jobledger.core.rayjob.observations.pods import PodLook
from jobledger.core.rayjob.phases import JobStatus, Phase
from jobledger.core.rayjob.rules.failure_class import by_evidence
from jobledger.core.rayjob.rules.pod_looks import desired_look
from jobledger.core.values.instants import Instant
from tests.support.rayjob_builders import (
    HTTP,
    IDENTITY,
    after,
    cluster_gone,
    cluster_of,
    due,
    manifest,
    manifest_gone,
    pod,
    pods,
    poll,
    submitter,
)
from tests.support.rayjob_events import (
    asked,
    cancelled,
    fired,
    ray_says,
    received,
    scheduled,
    started,
)
from tests.support.rayjob_stories import Story, initializing, working
from tests.support.rows import WHEN, Outlook, Row, check, check_outlook, play, table

EVIDENCE = DecisionKind.EVIDENCE
POLICY = RetryOptions(
    rules=(
        RetryRule(failure=FailureClass.PREEMPTION, answer=Answer.UNCOUNTED),
        RetryRule(failure=FailureClass.IMAGE_PULL, answer=Answer.NEVER),
        RetryRule(failure=FailureClass.APPLICATION, answer=Answer.NEVER, exit_code=3),
    ),
    uncounted_max=2,
)
WAITS = "AppFailed: the retry policy waits for a look at the Pods"
EVICTED = pod(
    "worker",
    "Failed",
    reason="Evicted",
    message="The node was low on resource: memory.",
    disrupted=True,
)
TAKEN = "worker Pod train-worker is Failed: Evicted"
BOOM = poll("FAILED", 40, started_at=25, ended_at=39, message="boom", exit_code=1)


def asking(**spec: object) -> Story:
    """Return a job in HTTPMode with the policy, whose entrypoint runs."""
    return working(submission_mode=HTTP, options=POLICY, **spec)


SLIP = "annotation jobledger.dev/retry-policy cannot be understood"
UNCLEAR = "not retried: the retry policy cannot be understood, so nothing is retried"
UNCLEAR_DEADLINE = "the deadline over all attempts cannot be understood, so nothing is retried"


def unclear(**spec: object) -> Story:
    """Return a job in HTTPMode whose policy cannot be understood, and whose entrypoint runs."""
    options = RetryOptions(unclear=True)
    return working(submission_mode=HTTP, options=options, option_problems=(SLIP,), **spec)


def observed(look: object) -> PodsObserved:
    """Return what is written of a look."""
    assert hasattr(look, "pods")
    return PodsObserved(
        at=WHEN,
        attempt=1,
        purpose=PodLook.EVIDENCE,
        total=len(look.pods),
        pods=look.pods,
        trouble=look.trouble,  # type: ignore[attr-defined] # a look has it
    )


NOTICED = FailureNoticed(
    at=WHEN,
    attempt=1,
    reason="AppFailed",
    message="boom",
    job_status=JobStatus.FAILED,
    failure=FailureClass.APPLICATION,
)
FAILED = AttemptFailed(
    at=WHEN, attempt=1, reason="AppFailed", message="boom", failed=1, job_status=JobStatus.FAILED
)
REFUSED = RetryRefused(
    at=WHEN,
    attempt=1,
    backoff_limit=0,
    failed=1,
    reason="AppFailed",
    rule="backoffLimit is 0",
    failure=FailureClass.APPLICATION,
    exit_code=1,
    uncounted_max=2,
)
ENDED = JobFailed(at=WHEN, attempt=1, reason="AppFailed", message="boom")


def granted(due_at: Instant) -> RetryGranted:
    """Return an uncounted retry after an eviction."""
    return RetryGranted(
        at=WHEN,
        attempt=1,
        backoff_limit=0,
        failed=0,
        reason="AppFailed",
        rule=(
            "the retry policy does not count failure class preemption: "
            "uncounted retry 1 of at most 2"
        ),
        due_at=due_at,
        counted=False,
        failure=FailureClass.PREEMPTION,
        exit_code=1,
        evidence=TAKEN,
        uncounted=1,
        uncounted_max=2,
    )


LOOK = pods(41, EVICTED)
NOTHING_SEEN = pods(41, pod())
UNSEEN = pods(41, trouble="pods is forbidden")


@table(
    Row(
        rule="a failure waits for a look at the Pods, and not for long",
        given=asking(),
        when=BOOM,
        then=(
            ray_says("FAILED", started_at=25, ended_at=39, message="boom", exit_code=1),
            NOTICED,
            scheduled(EVIDENCE, 50, WAITS),
        ),
    ),
    Row(
        rule="a Pod that was taken away makes it a preemption, which this policy does not count",
        given=(*asking(), BOOM),
        when=LOOK,
        then=(
            observed(LOOK),
            replace(FAILED, failed=0),
            granted(after(41)),
            *play(RAYJOB, (*asking(), BOOM, LOOK)).news[3:],
        ),
    ),
    Row(
        rule="Pods that say nothing leave the failure to the application",
        given=(*asking(), BOOM),
        when=NOTHING_SEEN,
        then=(
            observed(NOTHING_SEEN),
            FAILED,
            REFUSED,
            ENDED,
            cancelled(EVIDENCE, "attempt 1 has ended"),
        ),
    ),
    Row(
        rule="Pods that cannot be looked at are told once, and go on being asked for",
        given=(*asking(), BOOM),
        when=UNSEEN,
        then=(observed(UNSEEN),),
    ),
    Row(
        rule="the same trouble again is no news",
        given=(*asking(), BOOM, UNSEEN),
        when=pods(42, trouble="pods is forbidden"),
    ),
    Row(
        rule="after a while the failure is judged without evidence, and says why there is none",
        given=(*asking(), BOOM, UNSEEN),
        when=due(EVIDENCE),
        then=(
            fired(EVIDENCE, 50),
            FAILED,
            replace(REFUSED, evidence="pods is forbidden"),
            ENDED,
        ),
    ),
    Row(
        rule="a look that nobody asked for is no news",
        given=asking(),
        when=pods(41, EVICTED),
    ),
    Row(
        rule="a look at the Pods of another attempt is no news",
        given=(*asking(), BOOM),
        when=pods(41, EVICTED, attempt=2),
    ),
    Row(
        rule="while the verdict is awaited, no other end begins and nothing is suspended",
        given=(*asking(shutdown_after_job_finishes=True), BOOM),
        when=manifest(
            42,
            generation=2,
            finalizer=True,
            submission_mode=HTTP,
            options=POLICY,
            suspend=True,
            shutdown_after_job_finishes=True,
        ),
        then=(
            received(
                manifest(
                    42,
                    generation=2,
                    finalizer=True,
                    submission_mode=HTTP,
                    options=POLICY,
                    suspend=True,
                    shutdown_after_job_finishes=True,
                )
            ),
        ),
    ),
    Row(
        rule="annotations that are left out are told, and the job goes on",
        when=manifest(option_problems=("annotation x is left out",)),
        then=(
            JobDiscovered(at=WHEN, identity=IDENTITY),
            received(manifest(option_problems=("annotation x is left out",))),
            AnnotationsRejected(at=WHEN, problems=("annotation x is left out",)),
            started(),
            asked(EffectKind.ADD_FINALIZER),
            asked(EffectKind.CREATE_CLUSTER, cluster_of()),
        ),
    ),
    Row(
        rule="annotations that are left out are told once",
        given=initializing(option_problems=("annotation x is left out",)),
        when=manifest(
            5, generation=2, finalizer=True, option_problems=("annotation x is left out",)
        ),
        then=(
            received(
                manifest(
                    5, generation=2, finalizer=True, option_problems=("annotation x is left out",)
                )
            ),
        ),
    ),
)
def test_policies(row: Row) -> None:
    check(RAYJOB, row)


PULLING = pod(
    "worker", "Pending", reason="ImagePullBackOff", image_trouble=True, name="train-worker"
)


@table(
    Outlook(
        rule="an exit code that the policy never retries ends the job",
        story=(*asking(backoff_limit=5), poll("FAILED", 40, exit_code=3), pods(41, pod())),
        status={"jobDeploymentStatus": "Failed", "failed": 1, "reason": "AppFailed"},
    ),
    Outlook(
        rule="an exit code that the policy names is its last word, whatever was evicted",
        story=(*asking(backoff_limit=5), poll("FAILED", 40, exit_code=3), pods(41, EVICTED)),
        status={"jobDeploymentStatus": "Failed", "failed": 1, "reason": "AppFailed"},
        facts={"uncounted": 0},
    ),
    Outlook(
        rule="a policy that cannot be understood might forbid any retry, and says so",
        story=(*unclear(backoff_limit=5), BOOM),
        status={"jobDeploymentStatus": "Failed", "failed": 1, "message": f"boom ({UNCLEAR})"},
    ),
    Outlook(
        rule="beside a deadline that cannot be understood not even a preemption is retried",
        story=(
            *working(
                submission_mode=HTTP,
                options=replace(POLICY, deadline_unclear=True),
                backoff_limit=5,
            ),
            BOOM,
            pods(41, EVICTED),
        ),
        status={
            "jobDeploymentStatus": "Failed",
            "failed": 1,
            "message": f"boom (not retried: {UNCLEAR_DEADLINE})",
        },
        facts={"uncounted": 0},
    ),
    Outlook(
        rule="while nothing else is to be said, the message names the annotation",
        story=unclear(backoff_limit=5),
        status={"jobDeploymentStatus": "Running", "message": SLIP},
    ),
    Outlook(
        rule="what Ray says comes first",
        story=(*unclear(), poll("RUNNING", 40, started_at=25, message="half way")),
        status={"jobDeploymentStatus": "Running", "message": "half way"},
    ),
    Outlook(
        rule="a job that has ended has nothing more to be said of it",
        story=(*unclear(), poll("SUCCEEDED", 40, started_at=25, ended_at=39)),
        status={"jobDeploymentStatus": "Complete", "message": None},
    ),
    Outlook(
        rule="a retry that waits says until when, where kubectl shows it",
        story=(
            *working(submission_mode=HTTP, backoff_limit=1, options=RetryOptions(delay_seconds=30)),
            BOOM,
        ),
        status={
            "jobDeploymentStatus": "Retrying",
            "message": "boom (retrying not before 2026-11-21T12:01:10Z)",
        },
    ),
    Outlook(
        rule="also where the installation asks for the pause",
        story=(
            *working(submission_mode=HTTP, backoff_limit=1, policy=Policy(retry_delay_seconds=10)),
            BOOM,
        ),
        status={
            "jobDeploymentStatus": "Retrying",
            "message": "boom (retrying not before 2026-11-21T12:00:50Z)",
        },
    ),
    Outlook(
        rule="also where the failure has no words of its own",
        story=(
            *working(submission_mode=HTTP, backoff_limit=1, options=RetryOptions(delay_seconds=30)),
            poll("FAILED", 40, exit_code=1),
        ),
        status={
            "jobDeploymentStatus": "Retrying",
            "message": "retrying not before 2026-11-21T12:01:10Z",
        },
    ),
    Outlook(
        rule="to the end of the pause, though the annotation that asked for it is taken out",
        story=(
            *working(submission_mode=HTTP, backoff_limit=1, options=RetryOptions(delay_seconds=30)),
            BOOM,
            manifest(45, generation=2, finalizer=True, submission_mode=HTTP, backoff_limit=1),
        ),
        status={
            "jobDeploymentStatus": "Retrying",
            "message": "boom (retrying not before 2026-11-21T12:01:10Z)",
        },
    ),
    Outlook(
        rule="a pause that is asked for after the retry was granted is not that of this one",
        story=(
            *working(submission_mode=HTTP, backoff_limit=1),
            BOOM,
            manifest(
                45,
                generation=2,
                finalizer=True,
                submission_mode=HTTP,
                backoff_limit=1,
                options=RetryOptions(delay_seconds=30),
            ),
        ),
        status={"jobDeploymentStatus": "Retrying", "message": "boom"},
    ),
    Outlook(
        rule="one that does not wait has upstream's message",
        story=(*working(submission_mode=HTTP, backoff_limit=1), BOOM),
        status={"jobDeploymentStatus": "Retrying", "message": "boom"},
    ),
    Outlook(
        rule="another exit code is retried within the limit",
        story=(*asking(backoff_limit=5), poll("FAILED", 40, exit_code=4), pods(41, pod())),
        status={"jobDeploymentStatus": "Retrying", "failed": 1},
        facts={"uncounted": 0, "retries": 1},
    ),
    Outlook(
        rule="an uncounted failure does not show in status.failed",
        story=(*asking(backoff_limit=5), BOOM, LOOK),
        status={"jobDeploymentStatus": "Retrying", "failed": 0, "reason": "AppFailed"},
        facts={"uncounted": 1, "retries": 1},
    ),
    Outlook(
        rule="an image that is not to be had until the pre-running deadline ends the job",
        story=(
            *initializing(pre_running_deadline_seconds=20, backoff_limit=3, options=POLICY),
            due(DecisionKind.PRE_RUNNING_DEADLINE, looked=False),
            pods(21, PULLING),
        ),
        status={
            "jobDeploymentStatus": "Failed",
            "reason": "PreRunningDeadlineExceeded",
            "failed": 1,
        },
    ),
    Outlook(
        rule="a RayCluster that gets ready while the verdict is awaited comes too late",
        story=(
            *initializing(pre_running_deadline_seconds=20, backoff_limit=3, options=POLICY),
            due(DecisionKind.PRE_RUNNING_DEADLINE, looked=False),
        ),
        status={"jobDeploymentStatus": "Initializing"},
        pending={"evidence": 30},
    ),
    Outlook(
        rule="the active deadline is final at once, under every policy",
        story=(
            *asking(active_deadline_seconds=60, backoff_limit=3),
            due(DecisionKind.ACTIVE_DEADLINE),
        ),
        status={"jobDeploymentStatus": "Failed", "reason": "DeadlineExceeded", "failed": 1},
        pending={},
    ),
    Outlook(
        rule="a RayCluster that was deleted is a lost head, which this policy leaves to the limit",
        story=(*asking(backoff_limit=1), cluster_gone(40), pods(41)),
        status={"jobDeploymentStatus": "Retrying", "failed": 1, "reason": "AppFailed"},
    ),
    Outlook(
        rule="a job without a policy is judged at once, its Pods are not looked at",
        story=(*working(submission_mode=HTTP, backoff_limit=1), BOOM),
        status={"jobDeploymentStatus": "Retrying"},
    ),
    Outlook(
        rule="a policy that is taken away while the verdict is awaited does not undo the wait",
        story=(
            *asking(),
            BOOM,
            manifest(42, finalizer=True, submission_mode=HTTP),
            pods(43, pod()),
        ),
        status={"jobDeploymentStatus": "Failed", "failed": 1},
    ),
    Outlook(
        rule="a job that goes while the verdict is awaited is gone",
        story=(*asking(), BOOM, manifest_gone(45)),
        pending={},
        under_way=[],
    ),
    Outlook(
        rule="an invalid edit while the verdict is awaited does not keep it from being spoken",
        story=(
            *asking(),
            BOOM,
            manifest(
                42,
                generation=2,
                finalizer=True,
                problem="no",
                submission_mode=HTTP,
                options=POLICY,
            ),
            LOOK,
        ),
        facts={"phase": Phase.VALIDATION_FAILED, "paused": Phase.RETRYING, "uncounted": 1},
    ),
)
def test_what_policies_lead_to(row: Outlook) -> None:
    check_outlook(RAYJOB, row)


def test_uncounted_retries_run_out() -> None:
    """Whatever the policy says: `uncounted_max` of them, then backoffLimit."""
    state = play(RAYJOB, (*asking(), BOOM)).state
    for used, phase, failed in (
        (0, Phase.RETRYING, 0),
        (1, Phase.RETRYING, 0),
        (2, Phase.FAILED, 1),
    ):
        played = replace(state, uncounted=used)
        for event in RAYJOB.news(played, LOOK):
            played = RAYJOB.evolve(played, event)
        assert (played.phase, played.failed) == (phase, failed)


def test_a_look_is_wanted_only_while_a_verdict_waits_for_it() -> None:
    assert desired_look(play(RAYJOB, asking()).state) is None
    assert desired_look(play(RAYJOB, (*asking(), BOOM)).state) is PodLook.EVIDENCE
    assert desired_look(play(RAYJOB, (*asking(), BOOM, UNSEEN)).state) is PodLook.EVIDENCE
    assert desired_look(play(RAYJOB, (*asking(), BOOM, LOOK)).state) is None
    assert desired_look(play(RAYJOB, (*asking(), BOOM, due(EVIDENCE))).state) is None


def test_a_submitter_on_a_lost_node_is_a_preemption() -> None:
    """Nothing but its Pod says so: the batch Job says `BackoffLimitExceeded`."""
    lost = pod("submitter", "Failed", reason="NodeLost", disrupted=True)
    story = (
        *working(options=POLICY),
        submitter("Failed", 40),
        poll("RUNNING", 41, started_at=25),
        pods(42, lost),
    )
    (verdict,) = [event for event in play(RAYJOB, story).news if isinstance(event, RetryGranted)]
    assert verdict.reason == "SubmissionFailed"
    assert verdict.failure is FailureClass.PREEMPTION
    assert verdict.evidence == "submitter Pod train-submitter is Failed: NodeLost"


def test_a_head_that_was_seen_evicted_is_a_preemption_after_it_has_gone() -> None:
    gone = HeadPodVanished(at=after(40), name="train-head", uid="head-1", taken="Evicted: memory")
    state = play(RAYJOB, (*asking(), gone)).state
    assert state.attempt is not None
    assert state.attempt.head_taken == "Evicted: memory"
    noticed = RAYJOB.news(state, manifest(41, generation=2, finalizer=True, options=POLICY))
    for event in noticed:
        state = RAYJOB.evolve(state, event)
    news = RAYJOB.news(state, pods(42))
    (verdict,) = [event for event in news if isinstance(event, RetryGranted)]
    assert verdict.failure is FailureClass.PREEMPTION
    assert verdict.evidence == "the head's Pod was taken away: Evicted: memory"


def test_an_exit_code_that_a_policy_names_goes_before_a_head_that_was_taken_away() -> None:
    failure, words = by_evidence(FailureClass.APPLICATION, 3, (), "Evicted", is_named=True)
    assert (failure, words) == (
        FailureClass.APPLICATION,
        "the application ended with exit code 3",
    )
    assert by_evidence(FailureClass.APPLICATION, 4, (), "Evicted")[0] is FailureClass.PREEMPTION
