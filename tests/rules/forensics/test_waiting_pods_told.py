"""A job whose Pods wait says why while it goes on, until they are ready."""

import pytest
from msgspec.structs import replace

from jobledger.core.forensics.bundles.dossier import Dossier, reader_of
from jobledger.core.forensics.story.account import Account
from jobledger.core.forensics.story.explain import explain
from jobledger.core.forensics.story.timeline import in_words
from jobledger.core.jobs.events import EvidenceCaptured
from jobledger.core.jobs.evidence.evidence import Missing
from jobledger.core.jobs.evidence.untouched import UNTOUCHED, missing_pods_of
from jobledger.core.jobs.observations import EvidenceSeen
from jobledger.core.values.documents import Manifest
from jobledger.core.values.instants import rfc3339
from tests.rules.forensics.corpus.cases import Capture, ended, pod, waiting, warning
from tests.support import rayjob_stories as stories
from tests.support.batch_lives import recorded_job
from tests.support.batchjobs import Step, after, created, failed_end, job, manifest, manifest_gone
from tests.support.rayjob_builders import cluster, poll
from tests.support.rayjob_builders import named as ray_named
from tests.support.recorded import dossier_of, stored
from tests.support.rows import Step as RayStep

PULLING = Capture(pods=(waiting("etl-x", "ImagePullBackOff", 'image "x:lates": not found'),))
UNPLACED = Capture(
    pods=(pod("etl-x", phase="Pending", reason="Unschedulable", message="Insufficient cpu"),)
)


def kept(capture: Capture) -> Step:
    return replace(capture.seen(40), occasion="waiting/1")


def told(*steps: Step) -> Account:
    story = (manifest(), created(), job(5, active=1), *steps)
    events = stored(recorded_job(story))
    return explain(Dossier(events=events, evidence=reader_of({}), origin="a test"))


@pytest.mark.parametrize(
    ("capture", "cause", "says"),
    [
        (PULLING, "image-pull", "ImagePullBackOff"),
        (UNPLACED, "unschedulable", "Insufficient cpu"),
    ],
)
def test_what_pods_wait_for_is_told_while_they_do(capture: Capture, cause: str, says: str) -> None:
    account = told(kept(capture))
    assert (account.outcome, account.failure_class) == ("going on", cause)
    assert any(says in sentence.text for sentence in account.sentences)
    assert account.advice


SINCE = after(3)
PULLS = (
    f"It waits for container ray of Pod etl-x since {rfc3339(SINCE)}: "
    'ImagePullBackOff: image "x:lates": not found.'
)
NO_CPU = "Unschedulable: Insufficient cpu."
WAITS = replace(PULLING.pods[0], waits_since=SINCE)


@pytest.mark.parametrize(
    ("capture", "sentence"),
    [
        (
            Capture(pods=(WAITS,)),
            PULLS,
        ),
        (
            Capture(pods=(replace(UNPLACED.pods[0], waits_since=SINCE),)),
            f"It waits for Pod etl-x since {rfc3339(SINCE)}: {NO_CPU}",
        ),
        (
            UNPLACED,
            f"It waits for Pod etl-x, as seen at {rfc3339(after(40))}: {NO_CPU}",
        ),
        (
            Capture(pods=(WAITS, replace(WAITS, name="etl-y"), replace(WAITS, name="etl-z"))),
            f"{PULLS} So do 2 more.",
        ),
        (
            Capture(
                pods=(WAITS, ended("etl-y", 3)),
                kubernetes_events=(warning("Failed", "manifest unknown", "Pod/etl-x"),),
            ),
            PULLS,
        ),
    ],
)
def test_which_pod_is_waited_for_and_since_when_is_the_second_sentence(
    capture: Capture, sentence: str
) -> None:
    account = told(kept(capture))
    assert account.sentences[1].text == sentence
    assert not any("The first sign" in one.text for one in account.sentences)


SEEN = f"as seen at {rfc3339(after(40))}"
QUOTA = 'pods "etl-x" is forbidden: exceeded quota: all'
NO_WGET = "Readiness probe failed: wget: command not found"
NO_CONFIG = 'MountVolume.SetUp failed for volume "c": configmap "c" not found'


@pytest.mark.parametrize(
    ("capture", "cause", "sentence"),
    [
        (
            Capture(kubernetes_events=(warning("FailedCreate", QUOTA, "Job/etl"),)),
            "quota",
            f"It waits for Pods that are not created, {SEEN}: FailedCreate: {QUOTA}.",
        ),
        (
            Capture(missing=(missing_pods_of("Job", "etl"),)),
            "not-taken-up",
            f"It waits for Pods that are not created, {SEEN}: {UNTOUCHED}: Job etl has no status.",
        ),
        (
            Capture(
                pods=(pod("etl-x", phase="Pending"),),
                kubernetes_events=(warning("FailedMount", NO_CONFIG, "Pod/etl-x"),),
            ),
            "container-config",
            f"It waits for Pod etl-x, which does not begin, {SEEN}: FailedMount: {NO_CONFIG}.",
        ),
        (
            Capture(
                pods=(pod("etl-x", phase="Running"),),
                kubernetes_events=(warning("Unhealthy", NO_WGET, "Pod/etl-x"),),
            ),
            "not-ready",
            f"It waits for Pod etl-x, which is not ready, {SEEN}: Unhealthy: {NO_WGET}.",
        ),
    ],
)
def test_what_kubernetes_events_alone_say_of_absent_pods_is_told(
    capture: Capture, cause: str, sentence: str
) -> None:
    account = told(kept(capture))
    assert account.sentences[1].text == sentence
    assert account.failure_class == cause


def test_what_a_job_waited_for_that_is_deleted_is_told() -> None:
    capture = Capture(pods=(WAITS, replace(WAITS, name="etl-y")))
    account = told(kept(capture), manifest_gone())
    assert account.outcome == "deleted"
    assert account.sentences[1].text == f"{PULLS.replace('waits', 'waited')} So did 1 more."


def test_a_pod_that_fails_and_is_put_in_place_again_is_not_waited_for() -> None:
    texts = [one.text for one in told(kept(Capture(pods=(ended("etl-x", 3),)))).sentences]
    assert not any(one.startswith("It waits") for one in texts)


def test_pods_that_are_ready_wait_for_nothing() -> None:
    account = told(kept(PULLING), job(50, active=1, ready=1))
    assert (account.outcome, account.failure_class) == ("going on", "")


def told_of_a_rayjob(*steps: RayStep) -> Account:
    return explain(dossier_of(steps))


def of_the_submitter(capture: Capture) -> RayStep:
    return ray_named(replace(capture.seen(40), occasion="waiting/1/Job"))


@pytest.mark.parametrize(
    ("capture", "cause", "says"),
    [
        (PULLING, "image-pull", "ImagePullBackOff"),
        (UNPLACED, "unschedulable", "Insufficient cpu"),
    ],
)
def test_what_a_submitter_waits_for_is_told(capture: Capture, cause: str, says: str) -> None:
    """Its RayJob is Running by then, and a RayCluster that is ready says nothing of it."""
    ready = cluster("ready", 50, status={"readyWorkerReplicas": 1})
    account = told_of_a_rayjob(*stories.running(), of_the_submitter(capture), ready)
    assert (account.outcome, account.failure_class) == ("going on", cause)
    assert any(says in sentence.text for sentence in account.sentences)


def test_a_submitter_that_has_handed_in_waits_for_nothing() -> None:
    account = told_of_a_rayjob(*stories.running(), of_the_submitter(PULLING), poll("PENDING", 60))
    assert (account.outcome, account.failure_class) == ("going on", "")


def test_a_head_that_no_node_takes_is_told_until_its_raycluster_is_ready() -> None:
    """Of such a Pod its RayCluster says no more than that it is not ready."""
    lacking: Manifest = {
        "type": "HeadPodReady",
        "status": "False",
        "reason": "Unknown",
        "message": "",
    }
    status: Manifest = {"conditions": [lacking]}
    steps = (*stories.initializing(), cluster("", 10, status=status))
    looked = ray_named(replace(UNPLACED.seen(30), occasion="waiting/1"))
    account = told_of_a_rayjob(*steps, looked)
    assert (account.outcome, account.failure_class) == ("going on", "unschedulable")
    assert told_of_a_rayjob(*steps, looked, cluster("ready", 40)).failure_class == ""


@pytest.mark.parametrize(
    ("capture", "words"),
    [
        (PULLING, 'Pod etl-x: ImagePullBackOff: image "x:lates": not found'),
        (UNPLACED, "Pod etl-x: Unschedulable: Insufficient cpu"),
        (Capture(pods=(ended("etl-x", 3),)), "Pod etl-x: Error, exit code 3"),
    ],
)
def test_the_history_says_what_they_wait_for(capture: Capture, words: str) -> None:
    event = EvidenceCaptured(at=after(40), attempt=1, occasion="waiting/1", pods=capture.pods)
    assert in_words(event) == f"Pods of attempt 1 are in trouble: {words}"


GONE = "Its Pods were gone when its failure was told, so no log is kept."


def failed(*captures: EvidenceSeen) -> list[str]:
    """Return the sentences about a Job that has failed, whose Pods were looked at."""
    begun: tuple[Step, ...] = (manifest(), created(), job(5, active=1), *captures[:-1])
    story: tuple[Step, ...] = (*begun, job(60, end=failed_end()), *captures[-1:])
    events = stored(recorded_job(story))
    account = explain(Dossier(events=events, evidence=reader_of({}), origin="a test"))
    assert account.outcome == "failed"
    return [sentence.text for sentence in account.sentences if sentence.text.startswith(GONE)]


def looked(capture: Capture, occasion: str = "failure/1") -> EvidenceSeen:
    return replace(capture.seen(40), occasion=occasion)


def test_where_no_pod_was_left_to_be_looked_at_that_is_said_with_what_keeps_them() -> None:
    (told,) = failed(looked(Capture()))
    assert "restartPolicy: Never" in told


def test_of_pods_that_were_seen_before_or_could_not_be_asked_for_it_is_not_said() -> None:
    seen = Capture(pods=(ended("etl-x", 3),))
    assert failed(looked(seen)) == []
    assert failed(looked(seen, "waiting/1"), looked(Capture())) == []
    assert failed(looked(Capture(missing=(Missing(what="Pods", why="no answer"),)))) == []


FAILED_ONCE = Capture(pods=(ended("etl-x", 1),), log="epoch 3\nKeyError: 'loss'\n")


def test_a_pod_that_failed_is_told_of_a_job_that_goes_on() -> None:
    """Its container is started again in place, so nothing else has ended."""
    seen = replace(FAILED_ONCE.seen(40), occasion="pod/1/01234567/1")
    story = (manifest(), created(), job(5, active=1, ready=1), seen)
    events = stored(recorded_job(story))
    read = reader_of(FAILED_ONCE.contents)
    account = explain(Dossier(events=events, evidence=read, origin="a test"))
    texts = [sentence.text for sentence in account.sentences]
    assert (account.outcome, account.failure_class) == ("going on", "")
    assert any(
        "a Pod of attempt 1 has failed: Pod etl-x: Error, exit code 1" in one for one in texts
    )
    assert any("KeyError: 'loss'" in one for one in texts)
