"""KubeRay's metrics of RayJobs, under its names."""

from prometheus_client import CollectorRegistry, generate_latest

from adapters.service.kuberay_metrics import KubeRayMetrics
from core.rayjob.decider import RAYJOB
from tests.adapters.service.parts import Bench
from tests.support.rayjob_builders import IDENTITY, manifest_gone
from tests.support.rayjob_stories import failed_attempts, failing, succeeded, working
from tests.support.rows import play

LABELS = 'name="train",namespace="ml",uid="uid-of-train"'


def lines(registry: CollectorRegistry) -> list[str]:
    told = generate_latest(registry).decode().splitlines()
    return [line for line in told if not line.startswith("#")]


def told_of(*story: object) -> list[str]:
    bench, registry = Bench(), CollectorRegistry()
    metrics = KubeRayMetrics(registry, bench.live)
    metrics.announce(IDENTITY, play(RAYJOB, story).history)  # type: ignore[arg-type]  # steps
    return lines(registry)


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


def test_of_a_job_that_is_gone_nothing_is_told() -> None:
    assert told_of(*succeeded(), manifest_gone()) == []


def test_every_rayjob_that_is_there_is_told_with_its_phase() -> None:
    bench, registry = Bench(), CollectorRegistry()
    KubeRayMetrics(registry, bench.live)
    job = bench.job()
    uid = job.identity.uid
    assert lines(registry) == [
        f'kuberay_job_info{{name="train",namespace="ml",uid="{uid}"}} 1.0',
        f'kuberay_job_deployment_status{{deployment_status="",name="train",namespace="ml",uid="{uid}"}} 1.0',  # noqa: E501 a line of the exposition
    ]
