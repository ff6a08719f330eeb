"""KubeRay's metrics of RayJobs, under its names."""

from datetime import timedelta

from msgspec.structs import replace
from prometheus_client import CollectorRegistry, generate_latest

from jobledger.adapters.kinds.rayjob.kuberay_metrics import KubeRayMetrics
from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.policy import Policy
from jobledger.core.jobs.retries.failures import FailureClass
from jobledger.core.jobs.retries.options import Answer, RetryOptions, RetryRule
from jobledger.core.kinds import NOTHING
from jobledger.core.rayjob.decide.decide import RAYJOB
from jobledger.core.rayjob.events.lifecycle import AttemptStarted, JobCompleted, JobFailed
from jobledger.core.rayjob.phases import JobStatus
from jobledger.core.rayjob.state import Attempt, RayJobState
from jobledger.core.values.documents import Json
from jobledger.core.values.instants import Instant
from tests.adapters.service.parts import Bench
from tests.rules.rayjob.jobs import rayjob
from tests.support.rayjob_builders import IDENTITY, due, manifest_gone, pods
from tests.support.rayjob_stories import failed_attempts, failing, succeeded, working
from tests.support.records import NOON
from tests.support.rows import play

LABELS = 'name="train",namespace="ml",uid="uid-of-train"'


def lines(registry: CollectorRegistry) -> list[str]:
    told = generate_latest(registry).decode().splitlines()
    return [line for line in told if not line.startswith("#")]


def durations(registry: CollectorRegistry) -> list[str]:
    return [line for line in lines(registry) if "duration" in line]


def announced(bench: Bench, *story: object) -> CollectorRegistry:
    """Let the watch tell of the RayJob, and announce what happened to it."""
    registry = CollectorRegistry()
    bench.see(rayjob())
    metrics = KubeRayMetrics(registry, bench.live)
    metrics.announce(IDENTITY, play(RAYJOB, story).history, NOTHING)  # type: ignore[arg-type]  # steps
    return registry


def told_of(*story: object) -> list[str]:
    return durations(announced(Bench(), *story))


def duration(phase: str, retries: int, seconds: float) -> str:
    labels = f'job_deployment_status="{phase}",{LABELS[:-1]}"'
    known = dict(part.split("=") for part in labels.split(","))
    known["retry_count"] = f'"{retries}"'
    shown = ",".join(f"{key}={known[key]}" for key in sorted(known))
    return f"kuberay_job_execution_duration_seconds{{{shown}}} {seconds}"


def test_an_end_is_timed_from_the_start_of_the_attempt() -> None:
    assert told_of(*succeeded()) == [duration("Complete", 0, 42.0)]


def test_each_attempt_is_timed_by_itself() -> None:
    told = told_of(*failed_attempts(1, backoff_limit=1))
    assert told == [duration("Retrying", 0, 42.0)]


def test_a_failure_counts_the_retries_before_it() -> None:
    assert told_of(*working(), *failing()) == [duration("Failed", 0, 42.0)]


def test_a_failure_that_does_not_count_is_no_retry_before_the_next() -> None:
    rule = RetryRule(failure=FailureClass.APPLICATION, answer=Answer.UNCOUNTED)
    story = (*working(options=RetryOptions(rules=(rule,))), *failing(), pods(43))
    assert told_of(*story) == [duration("Retrying", 0, 43.0)]


def test_a_job_that_fails_in_the_pause_after_an_attempt_is_not_told_as_a_second_end_of_it() -> None:
    deadline, pause = RetryOptions(job_deadline_seconds=150), Policy(retry_delay_seconds=600)
    story = (*working(options=deadline, backoff_limit=5, policy=pause), *failing())
    bench, registry = Bench(), CollectorRegistry()
    bench.see({**rayjob(), "status": {"startTime": "2026-11-21T11:59:00Z"}})
    ended = play(RAYJOB, (*story, due(DecisionKind.JOB_DEADLINE))).history
    assert any(isinstance(one, JobFailed) for one in ended)
    KubeRayMetrics(registry, bench.live).announce(IDENTITY, ended, NOTHING)
    assert durations(registry) == [duration("Retrying", 0, 42.0)]


FORGED: Json = {"failed": 99, "startTime": "2019-11-21T11:59:00Z"}
"""A status of which nothing is true: old, or its author's."""


def third(started_at: Instant, failed: int) -> RayJobState:
    """Return the state in a third attempt that began under another process."""
    attempt = Attempt(number=3, cluster_name="x", job_id="y", generation=1, started_at=started_at)
    return RayJobState(attempt=attempt, failed=failed)


def test_what_another_process_saw_is_taken_from_the_log_and_not_from_the_status() -> None:
    bench, registry = Bench(), CollectorRegistry()
    metrics = KubeRayMetrics(registry, bench.live)
    bench.see({**rayjob(), "status": FORGED})
    ended = JobCompleted(at=NOON, attempt=3, job_status=JobStatus.SUCCEEDED)
    metrics.announce(IDENTITY, (ended,), third(NOON - timedelta(seconds=60), failed=2))
    assert durations(registry) == [duration("Complete", 2, 60.0)]


def test_an_attempt_of_which_the_log_knows_no_start_is_not_timed() -> None:
    bench, registry = Bench(), CollectorRegistry()
    metrics = KubeRayMetrics(registry, bench.live)
    bench.see({**rayjob(), "status": FORGED})
    ended = JobCompleted(at=NOON, attempt=4, job_status=JobStatus.SUCCEEDED)
    metrics.announce(IDENTITY, (ended,), third(NOON, failed=2))
    assert durations(registry) == []


def test_what_this_process_knows_of_an_earlier_attempt_is_not_taken_for_the_present_one() -> None:
    """Another replica worked on the job in between."""
    bench, registry = Bench(), CollectorRegistry()
    metrics = KubeRayMetrics(registry, bench.live)
    story = play(RAYJOB, failed_attempts(1, backoff_limit=9)).history
    bench.see({**rayjob(), "status": FORGED})
    begun = AttemptStarted(at=NOON, attempt=2, cluster_name="x", job_id="y", generation=1)
    metrics.announce(IDENTITY, [*story, begun], NOTHING)
    ended = JobCompleted(at=NOON, attempt=3, job_status=JobStatus.SUCCEEDED)
    metrics.announce(IDENTITY, [ended], third(NOON - timedelta(seconds=60), failed=2))
    assert durations(registry)[-1] == duration("Complete", 2, 60.0)


def test_of_a_job_that_is_gone_nothing_is_told() -> None:
    assert told_of(*succeeded(), manifest_gone()) == []


def test_of_a_job_that_went_under_another_replica_nothing_is_told() -> None:
    bench = Bench()
    registry = announced(bench, *succeeded())
    assert durations(registry) != []
    bench.jobs.gone(rayjob(), NOON)
    assert lines(registry) == []


def test_how_long_attempts_took_is_not_told_of_a_job_that_another_controller_drives() -> None:
    bench = Bench()
    registry = announced(bench, *succeeded())
    job = bench.live.job(IDENTITY.uid)
    assert job is not None
    bench.live.put_job(replace(job, recorded="another controller has written"))
    assert durations(registry) == []
    assert len(lines(registry)) == 2, "it is there all the same"


def test_every_rayjob_that_is_there_is_told_with_its_phase() -> None:
    bench, registry = Bench(), CollectorRegistry()
    KubeRayMetrics(registry, bench.live)
    job = bench.job()
    uid = job.identity.uid
    assert lines(registry) == [
        f'kuberay_job_info{{name="train",namespace="ml",uid="{uid}"}} 1.0',
        f'kuberay_job_deployment_status{{deployment_status="",name="train",namespace="ml",uid="{uid}"}} 1.0',  # noqa: E501 a line of the exposition
    ]
