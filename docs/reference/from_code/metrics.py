"""The page of all metrics: name, kind, labels, meaning."""  # noqa: INP001 see generate.py

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from docs.reference.from_code.attributes import cell
from jobledger.adapters.telemetry.metrics import Metrics, NotificationMetrics

HEAD = """\
# Metrics

Served at `/metrics` in the text format of Prometheus, beside `/healthz` (200, or 500 if the process
should be restarted) and `/readyz` (200, or 503 with the list of what is missing). Those of the
Python process (`process_*`, `python_*`) come with them. Those of notifications are served by
`jobledger notify run`, all others by `jobledger run`.
"""


def metrics_page() -> str:
    """Return the page."""
    return "\n".join((HEAD, *_rows()))


def _rows() -> Iterator[str]:
    yield "| metric | kind | labels | meaning |"
    yield "|---|---|---|---|"
    registry = CollectorRegistry()
    catalogues = Metrics(registry), NotificationMetrics(registry)
    for metric in (one for catalogue in catalogues for one in vars(catalogue).values()):
        if isinstance(metric, Counter | Gauge | Histogram):
            described = next(iter(metric.describe()))
            suffix = "_total" if isinstance(metric, Counter) else ""
            labels = ", ".join(f"`{label}`" for label in metric._labelnames)  # noqa: SLF001 no public name
            words = cell(described.documentation)
            yield f"| `{described.name}{suffix}` | {described.type} | {labels} | {words} |"
