"""What happened in a case, as observations that the deciders are shown; and its dossier."""

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from typing import Any

from msgspec.structs import replace

from jobledger.core.forensics.bundles.dossier import Dossier, reader_of
from jobledger.core.jobs.evidence.evidence import RayEvidence
from jobledger.core.jobs.observations import EvidenceSeen
from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.pending.effects import EffectKind, Outcome
from jobledger.core.log.chain import GENESIS
from jobledger.core.log.envelope import EventRecord
from jobledger.core.log.recording import Tail, Writer
from jobledger.core.rayjob.observations.observations import HeadPodGone, HeadPodSeen
from jobledger.core.turns import record_turn
from tests.failure_corpus import evidence
from tests.failure_corpus.cases import Failure
from tests.support import batchjobs as batch
from tests.support import rayjob_builders as ray
from tests.support import rayjob_stories as stories
from tests.support import trainjobs as train
from tests.support.batch_lives import recorded_job
from tests.support.recorded import recorded, stored

Made = Callable[[Failure], Iterable[Any]]
"""Makes the observations of a case; they are of its own kind of job."""

_TAIL_LINES = 10
"""Lines of the driver's log that Ray puts into its message."""


def dossier_of(case: Failure) -> Dossier:
    """Return everything that the log would know of a case.

    Raises:
        KeyError: its kind of job has no such story.
        ValueError: a sentence of its evidence is of another form.
    """
    story = STORIES[case.kind][case.story](case)
    records = RECORDERS[case.kind](story)
    return Dossier(
        events=stored(records), evidence=reader_of(evidence.contents(case)), origin=case.title
    )


def _recorded_training(story: Iterable[Any]) -> list[EventRecord]:
    played = train.Played()
    tail = Tail(stream_id=train.STREAM, version=0, chain=GENESIS)
    records: list[EventRecord] = []
    for step in story:
        observation = step(played.state) if callable(step) else step
        played.take(observation)
        now = observation.at + timedelta(seconds=0.02)
        writer = Writer(actor="jobledger-0", epoch=1, now=now)
        made, tail = record_turn(tail, writer, observation, played.decided)
        records += made
    return records


RECORDERS: Mapping[str, Callable[[Iterable[Any]], list[EventRecord]]] = {
    "RayJob": recorded,
    "TrainJob": _recorded_training,
    "Job": lambda story: recorded_job(tuple(story)),
}
"""Kind of job -> what records a story of it."""


def _seen(case: Failure, at: float, attempt: int = 1) -> EvidenceSeen:
    job = {"RayJob": ray.JOB, "TrainJob": train.JOB, "Job": batch.JOB}[case.kind]
    named = {"RayJob": ray.named, "TrainJob": train.named, "Job": batch.named}[case.kind]
    return named(
        EvidenceSeen(
            id=ray.UNNAMED,
            at=ray.after(at),
            attempt=attempt,
            occasion=f"failure/{attempt}",
            pods=evidence.pods(case, job),
            logs=evidence.kept_logs(case, job),
            kubernetes_events=evidence.kubernetes_events(case),
            missing=evidence.missing(case),
        )
    )


def _ray_message(case: Failure) -> str:
    """Return what Ray says of an entrypoint that failed: its own words, then its log's end."""
    if case.message:
        return case.message.strip()
    tail = "\n".join(case.log.get("driver", "").splitlines()[-_TAIL_LINES:])
    return (
        f"Job entrypoint command failed with exit code {case.code}, "
        f"last available logs (truncated to 20,000 chars):\n{tail}"
    )


def _entrypoint_fails(case: Failure) -> Iterable[Any]:
    said = _ray_message(case)
    told = replace(
        _seen(case, 43),
        ray=RayEvidence(
            job_id=ray.submission_of(), status="FAILED", message=said, exit_code=case.code
        ),
    )
    ended = ray.poll("FAILED", 40, message=said, started_at=25, ended_at=39, exit_code=case.code)
    return *stories.working(), ended, ray.submitter("Complete", 42), ray.named(told)


def _submitter_fails(case: Failure) -> Iterable[Any]:
    reason = case.reason or "BackoffLimitExceeded"
    message = case.message or "Job has reached the specified backoff limit"
    ended = ray.submitter("Failed", 60, reason=reason, message=message)
    return *stories.running(), ended, ray.not_found(61), _seen(case, 62)


def _never_ready(case: Failure) -> Iterable[Any]:
    begun = stories.initializing(pre_running_deadline_seconds=600)
    return *begun, ray.due(DecisionKind.PRE_RUNNING_DEADLINE), _seen(case, 601)


def _cluster_refused(case: Failure) -> Iterable[Any]:
    return (
        *stories.seen(pre_running_deadline_seconds=8),
        ray.refused(EffectKind.CREATE_CLUSTER, 1, case.trouble.strip()),
        ray.due(DecisionKind.PRE_RUNNING_DEADLINE),
    )


def _submitter_refused(case: Failure) -> Iterable[Any]:
    begun = stories.initializing(pre_running_deadline_seconds=60)
    refusal = ray.refused(EffectKind.CREATE_SUBMITTER, 11, case.trouble.strip())
    return *begun, ray.cluster("ready", 10), refusal, ray.due(DecisionKind.PRE_RUNNING_DEADLINE)


def _submission_refused(case: Failure) -> Iterable[Any]:
    begun = stories.initializing(submission_mode=ray.HTTP)
    refusal = ray.refused(EffectKind.SUBMIT_ENTRYPOINT, 12, case.trouble.strip())
    return *begun, ray.cluster("ready", 10), refusal


def _head_pod(at: float = 5, **more: object) -> HeadPodSeen:
    seen = HeadPodSeen(
        id=ray.UNNAMED,
        at=ray.after(at),
        cluster=ray.cluster_of(),
        cluster_uid="cluster-1",
        name="train-head",
        uid="uid-of-head",
        deleting=False,
    )
    return ray.named(replace(seen, **more))


def _with_head(case: Failure) -> Iterable[Any]:
    del case
    begun = (*stories.initializing(submission_mode=ray.SIDECAR), _head_pod())
    at_work = (*stories.readied(1, ray.SIDECAR), ray.poll("RUNNING", 30, started_at=25))
    return *begun, *at_work


def _head_goes(case: Failure) -> Iterable[Any]:
    gone = HeadPodGone(id=ray.UNNAMED, at=ray.after(60), name="train-head", uid="uid-of-head")
    return *_with_head(case), ray.named(gone), _seen(case, 61)


def _head_taken(case: Failure) -> Iterable[Any]:
    taken = _head_pod(60, taken=case.message, over=True)
    return *_with_head(case), taken, _seen(case, 61)


def _head_restarts(case: Failure) -> Iterable[Any]:
    again = stories.working(submission_mode=ray.HTTP)
    return *again, ray.not_found(60), _seen(case, 61)


def _head_silent(case: Failure) -> Iterable[Any]:
    trouble = case.trouble or "connect to train-head-svc.ml.svc.cluster.local:8265: refused"
    quiet = ray.silence(60, trouble=trouble)
    return *stories.working(), quiet, ray.due(DecisionKind.STATUS_CHECK), _seen(case, 1000)


def _cluster_goes(case: Failure) -> Iterable[Any]:
    return *stories.working(), ray.cluster_gone(60), _seen(case, 61)


def _ray_deadline(case: Failure) -> Iterable[Any]:
    begun = stories.working(active_deadline_seconds=300)
    return *begun, ray.due(DecisionKind.ACTIVE_DEADLINE), _seen(case, 301)


def _stopped(case: Failure) -> Iterable[Any]:
    ended = ray.poll("STOPPED", 40, message=case.message, started_at=25, ended_at=39)
    return *stories.working(), ended, ray.submitter("Complete", 42), _seen(case, 43)


def _not_valid(case: Failure) -> Iterable[Any]:
    return (ray.manifest(problem=case.message),)


JOBSET_FAILED = "jobset failed due to one or more job failures (first failed job: train-node-0)"


def _nodes_fail(case: Failure) -> Iterable[Any]:
    end = replace(
        train.failed_end(60, reason=case.reason or "FailedJobs"),
        message=case.message or JOBSET_FAILED,
    )
    failed = train.jobset(60, train.counts(failed=1), end=end)
    return *train.running(), failed, _seen(case, 61)


def _train_never_ready(case: Failure) -> Iterable[Any]:
    begun = train.created(active_deadline_seconds=600)
    waits = train.jobset(10, train.counts(active=1))
    return *begun, waits, train.due(DecisionKind.ACTIVE_DEADLINE), _seen(case, 611)


def _train_deadline(case: Failure) -> Iterable[Any]:
    begun = train.running(active_deadline_seconds=300)
    return *begun, train.due(DecisionKind.ACTIVE_DEADLINE), _seen(case, 301)


def _objects_refused(case: Failure) -> Iterable[Any]:
    return *train.seen(), train.not_created(1, case.trouble.strip())


def _not_built(case: Failure) -> Iterable[Any]:
    return *train.seen(), train.not_built(1, case.trouble.strip())


def _no_runtime(case: Failure) -> Iterable[Any]:
    absent = train.not_built(1, case.trouble.strip(), runtime_digest="", may_pass=True)
    return train.manifest(), absent


def _jobset_goes(case: Failure) -> Iterable[Any]:
    del case
    late = (train.faltered(51), train.due(DecisionKind.ACTIVE_DEADLINE))
    return *train.running(active_deadline_seconds=100), train.jobset_gone(50), *late


def _batch_end(case: Failure) -> Any:  # noqa: ANN401 # of batch.JobEnd
    reason = case.reason or "BackoffLimitExceeded"
    return replace(batch.failed_end(60, reason), message=case.message or batch.BACKOFF)


def _pods_fail(case: Failure) -> Iterable[Any]:
    ended = batch.job(60, end=_batch_end(case), failed=1)
    return *batch.running(), ended, _seen(case, 61)


def _batch_never_ready(case: Failure) -> Iterable[Any]:
    begun = (batch.manifest(deadline=600), batch.created(), batch.job(10, active=1))
    late = (batch.due(DecisionKind.JOB_DEADLINE), _seen(case, 601))
    return *begun, *late, batch.deleted(602), batch.job_gone(603)


def _batch_deadline(case: Failure) -> Iterable[Any]:
    late = (batch.due(DecisionKind.JOB_DEADLINE), _seen(case, 301))
    return *batch.running(deadline=300), *late, batch.deleted(302), batch.job_gone(303)


def _job_goes(case: Failure) -> Iterable[Any]:
    return *batch.running(), batch.job_gone(50), _seen(case, 51)


def _job_refused(case: Failure) -> Iterable[Any]:
    refusal = batch.outcome(batch.CREATE, 1, Outcome.FAILED, trouble=case.trouble.strip())
    return batch.manifest(), refusal


STORIES: Mapping[str, Mapping[str, Made]] = {
    "RayJob": {
        "the entrypoint fails": _entrypoint_fails,
        "the submitter fails": _submitter_fails,
        "it never gets ready": _never_ready,
        "its cluster is refused": _cluster_refused,
        "its submitter is refused": _submitter_refused,
        "its submission is refused": _submission_refused,
        "its head goes": _head_goes,
        "its head is taken": _head_taken,
        "its head forgets it": _head_restarts,
        "its head is silent": _head_silent,
        "its cluster goes": _cluster_goes,
        "its deadline passes": _ray_deadline,
        "somebody stops it": _stopped,
        "it is not valid": _not_valid,
    },
    "TrainJob": {
        "the nodes fail": _nodes_fail,
        "it never gets ready": _train_never_ready,
        "its deadline passes": _train_deadline,
        "its objects are refused": _objects_refused,
        "its objects cannot be built": _not_built,
        "its runtime is missing": _no_runtime,
        "its JobSet goes": _jobset_goes,
    },
    "Job": {
        "the Pods fail": _pods_fail,
        "it never gets ready": _batch_never_ready,
        "its deadline passes": _batch_deadline,
        "its Job goes": _job_goes,
        "its Job is refused": _job_refused,
    },
}
"""Kind of job -> what may have happened, in words -> how it is told to the decider."""
