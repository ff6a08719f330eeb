"""Which series Prometheus has of a service: the catalogue of metrics as it is scraped."""

from collections.abc import Iterator, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from jobledger.adapters.kinds.rayjob.kuberay_metrics import LABELS
from jobledger.adapters.telemetry.metrics import Metrics, NotificationMetrics

OF_THE_SCRAPE = frozenset({"job", "instance", "namespace", "pod", "service", "cluster"})
"""Labels that Prometheus adds to each series."""

OF_KUBERAY: Mapping[str, frozenset[str]] = {
    "kuberay_job_info": frozenset(LABELS),
    "kuberay_job_deployment_status": frozenset({*LABELS, "deployment_status"}),
    "kuberay_job_execution_duration_seconds": frozenset(
        {*LABELS, "job_deployment_status", "retry_count"}
    ),
}
"""What stands there under KubeRay's names, by the collector of its own; with their labels."""

OF_THE_PROCESS: Mapping[str, frozenset[str]] = {
    name: frozenset()
    for name in ("process_cpu_seconds_total", "process_resident_memory_bytes", "process_open_fds")
}
"""What prometheus_client tells of any process on Linux, as far as it is used."""


def series() -> dict[str, frozenset[str]]:
    """Return name -> labels of all series, those of the scrape left out."""
    registry = CollectorRegistry()
    catalogues = Metrics(registry), NotificationMetrics(registry)
    declared = [one for catalogue in catalogues for one in vars(catalogue).values()]
    ours = [one for one in declared if isinstance(one, Counter | Gauge | Histogram)]
    return {**dict(_of(ours)), **OF_KUBERAY, **OF_THE_PROCESS}


def _of(metrics: list[Counter | Gauge | Histogram]) -> Iterator[tuple[str, frozenset[str]]]:
    for metric in metrics:
        name = next(iter(metric.describe())).name
        labels = frozenset(metric._labelnames)  # noqa: SLF001 no public name
        if isinstance(metric, Counter):
            yield f"{name}_total", labels
        elif isinstance(metric, Histogram):
            yield f"{name}_bucket", labels | {"le"}
            yield f"{name}_sum", labels
            yield f"{name}_count", labels
        else:
            yield name, labels
