"""Failures of TrainJobs: what their JobSet, their runtime and their Pods tell."""

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from jobledger.core.catalogue import NAMES, SCHEMA_VERSION, JobEvent
from jobledger.core.forensics.bundles.dossier import Dossier, reader_of
from jobledger.core.jobs.events import EvidenceCaptured
from jobledger.core.log.chain import GENESIS
from jobledger.core.log.recording import NamedEvent, Tail, Writer, record
from jobledger.core.trainjob import events
from jobledger.core.trainjob.observations import JobSetEnd
from jobledger.core.trainjob.policy import TrainPolicy
from jobledger.core.trainjob.spec import TrainJobSpec
from jobledger.core.values.ids import observation_id
from tests.rules.forensics.corpus.cases import NOTHING, Capture, ended, pod, waiting, warning
from tests.support.rayjob_builders import IDENTITY, after
from tests.support.recorded import stored
from tests.support.records import NOON

NAME = "tune"


@dataclass(frozen=True, kw_only=True)
class TrainCase:
    """One failure of a TrainJob: the events that tell it."""

    name: str
    expected: str
    told: Sequence[JobEvent]
    capture: Capture = NOTHING

    def dossier(self) -> Dossier:
        tail = Tail(stream_id=IDENTITY.stream_id, version=0, chain=GENESIS)
        writer = Writer(actor="jobledger-0", epoch=1, now=NOON)
        named = [
            NamedEvent(name=NAMES[type(e)], schema_version=SCHEMA_VERSION, at=e.at, event=e)
            for e in (*BEGINNING, *self.told)
        ]
        cause = observation_id(IDENTITY.stream_id, self.name)
        records, _ = record(tail, writer, cause, named)
        evidence = reader_of(self.capture.contents)
        return Dossier(events=stored(records), evidence=evidence, origin=self.name)


BEGINNING: tuple[JobEvent, ...] = (
    events.TrainJobDiscovered(at=after(0), identity=replace(IDENTITY, name=NAME)),
    events.TrainJobReceived(
        at=after(0), generation=1, digest="d", spec=TrainJobSpec(), policy=TrainPolicy()
    ),
)

FAILED = "jobset failed due to one or more job failures"


def started(attempt: int = 1, at: float = 5) -> JobEvent:
    return events.TrainAttemptStarted(
        at=after(at), attempt=attempt, generation=1, jobset_uid="u", restarts=0, cause="first"
    )


def jobset_failed(reason: str = "FailedJobs", message: str = FAILED) -> tuple[JobEvent, ...]:
    """Return the end that a failed JobSet brings."""
    end = JobSetEnd(completed=False, reason=reason, message=message, ended_at=after(60))
    return (
        events.JobSetObserved(
            at=after(61), name=NAME, uid="u", generation=1, suspend=False, end=end
        ),
        events.TrainAttemptEnded(
            at=after(61), attempt=1, outcome="failed", reason=reason, message=message
        ),
        events.TrainJobFailed(at=after(61), ended_at=after(60), reason=reason, message=message),
    )


def captured(capture: Capture) -> EvidenceCaptured:
    seen = capture.seen(59)
    return EvidenceCaptured(
        at=seen.at,
        attempt=1,
        occasion=seen.occasion,
        pods=seen.pods,
        logs=seen.logs,
        kubernetes_events=seen.kubernetes_events,
    )


def ran(name: str, expected: str, capture: Capture) -> TrainCase:
    """Return a case in which evidence tells why a running attempt failed."""
    told = (started(), captured(capture), *jobset_failed())
    return TrainCase(name=name, expected=expected, told=told, capture=capture)


TRAINJOBS: tuple[TrainCase, ...] = (
    ran(
        "a node process over its memory",
        "out-of-memory",
        Capture(pods=(ended("tune-node-0-0", 137, "OOMKilled", role="node"),)),
    ),
    ran(
        "a node that was preempted",
        "preempted",
        Capture(
            pods=(
                pod(
                    "tune-node-0-1",
                    role="node",
                    reason="PreemptionByScheduler",
                    message="preempting to accommodate a higher priority pod",
                ),
            )
        ),
    ),
    ran(
        "a collective that timed out",
        "communication",
        Capture(log="[rank1]: Watchdog caught collective operation timeout: WorkNCCL\n"),
    ),
    ran(
        "a data set that is not there",
        "missing-file",
        Capture(log="FileNotFoundError: [Errno 2] No such file or directory: '/workspace/x'\n"),
    ),
    ran(
        "a gated model",
        "storage-access",
        Capture(log="huggingface_hub.errors: 401 Client Error: Cannot access gated repo\n"),
    ),
    TrainCase(
        name="a program that fails", expected="application", told=(started(), *jobset_failed())
    ),
    TrainCase(
        name="restarts that did not help",
        expected="restarts-used-up",
        told=(
            started(),
            *jobset_failed("ReachedMaxRestarts", "jobset failed due to reaching max restarts"),
        ),
    ),
    TrainCase(
        name="training for longer than its deadline",
        expected="deadline",
        told=(
            started(),
            events.TrainAttemptEnded(
                at=after(99),
                attempt=1,
                outcome="failed",
                reason="DeadlineExceeded",
                message="TrainJob exceeded its active deadline",
            ),
            events.TrainJobFailed(
                at=after(99),
                reason="DeadlineExceeded",
                ended_at=after(99),
                message="TrainJob exceeded its active deadline",
            ),
        ),
    ),
    TrainCase(
        name="a kind of runtime that nobody knows",
        expected="runtime-missing",
        told=(
            events.TrainJobFailed(
                at=after(2),
                reason="TrainingRuntimeNotSupported",
                ended_at=after(2),
                message="unsupported runtime: Runtime.example.com",
            ),
        ),
    ),
    TrainCase(
        name="a JobSet that somebody deleted",
        expected="jobset-deleted",
        told=(
            started(),
            events.JobSetVanished(at=after(50), name=NAME, uid="u", asked=False),
            *jobset_failed("Lost", "the JobSet is gone"),
        ),
    ),
    TrainCase(
        name="a trainer image that is not there",
        expected="image-pull",
        told=(
            captured(  # its Pods were made, and none of them started
                Capture(
                    pods=(waiting("tune-node-0-0", "ErrImagePull", "manifest unknown"),),
                    kubernetes_events=(warning("Failed", "Failed to pull image: not found"),),
                )
            ),
            events.TrainJobFailed(
                at=after(99), reason="DeadlineExceeded", ended_at=after(99), message="too late"
            ),
        ),
    ),
)
